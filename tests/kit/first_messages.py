"""The open tasks and first messages of ``tests/fixtures/first_messages``, as the ranking takes them.

Owns how a task of the fixture reads as text. Must never leave anything out that a document of it would have.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from crdt_docs.ids import TaskId, UserId
from server.domain.candidates import Prior, Ranking, rank
from server.domain.language import Language
from server.domain.likeness import profile
from server.domain.reasons import Work
from server.domain.task import Task

FOLDER: Final = Path(__file__).parents[1] / "fixtures" / "first_messages"
NOW: Final = 1_800_000_000.0
Part = Literal["tuned", "held out"]


@dataclass(frozen=True)
class First:
    """A first message; ``task`` is the key of the task that it goes on with, None for something new."""

    text: str
    task: str | None
    part: Part


def tasks() -> list[dict[str, Any]]:
    """The fixture's tasks as they are written."""
    return _read("tasks")


def continuations() -> list[First]:
    """Messages that go on with a task."""
    return [First(one["text"], one["task"], _part(one)) for one in _read("continuations")]


def something_new(file: Literal["something_new", "same_subject"] = "something_new") -> list[First]:
    """Messages that do not."""
    return [First(one["text"], None, _part(one)) for one in _read(file)]


def priors() -> list[Prior]:
    """All tasks of the fixture, each last worked on when it says, on no device in particular."""
    return [prior(one["key"], one["hours"], f"{one['name']}\n{words(one)}", name=one["name"]) for one in tasks()]


def prior(key: str, hours: float, text: str = "", *, name: str = "", here: bool = False) -> Prior:
    """A task that was last worked on that many hours before NOW; without a text it has its name."""
    task = Task(TaskId(key), name or key, "open", UserId("u"), NOW - 1e7, NOW - 1e7)
    return Prior(task, Work(NOW - hours * 3600, here), profile(text or task.name))


def words(task: dict[str, Any]) -> str:
    """What stands in a task, without its name."""
    lines: list[str] = [task["goal"], *task["constraints"], *task["decisions"]]
    for question in task["questions"]:
        lines += [question["text"], *question["answers"]]
    for document in task["documents"]:
        lines += [document["title"], document["markdown"]]
    return "\n".join([*lines, *task["messages"]])


def ask(priors: list[Prior], message: str, language: Language = "en") -> Ranking:
    """Rank them at NOW."""
    return rank(priors, NOW, message, language)


def _read(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def _part(one: dict[str, Any]) -> Part:
    return "held out" if one.get("held_out") else "tuned"
