"""The rows of a working set that a model must know of, with short names by which it can point at them.

Owns which rows those are and in which order they matter. Pure. Must never change the words of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agent.models.material import row
from crdt_docs.contents import Contents, Item

Kind = Literal["constraint", "decision", "question", "next_step", "output"]


@dataclass(frozen=True, slots=True)
class Row:
    """``name`` is short and stays while rows are only added (C1, D2 …); ``line`` is how a model reads it."""

    kind: Kind
    name: str
    id: str
    text: str
    critical: bool
    line: str


def rows(contents: Contents) -> list[Row]:
    """What stands, the most important first: critical constraints, the other constraints, decisions, open questions,
    next steps, unfinished outputs; each kind in the order in which it was made."""
    found = [*_constraints(contents), *_decisions(contents), *_questions(contents), *_steps(contents)]
    found += _outputs(contents)
    return sorted(found, key=lambda entry: not entry.critical)


def _named(items: list[Item], letter: str) -> Iterator[tuple[str, Item]]:
    """Numbered before anything is filtered, so that a row keeps its name when another is retired."""
    return ((f"{letter}{number}", item) for number, item in enumerate(items, 1) if str(item["text"]).strip())


def _constraints(contents: Contents) -> Iterator[Row]:
    for name, item in _named(contents.constraints, "C"):
        if item["status"] == "active":
            severity = item["severity"]
            line = row("constraint", item["text"], id=name, severity=severity)
            yield Row("constraint", name, item["id"], item["text"], severity == "critical", line)


def _decisions(contents: Contents) -> Iterator[Row]:
    for name, item in _named(contents.decisions, "D"):
        if item["status"] != "superseded":
            state = "conflicting" if item["status"] == "conflicting" else None
            line = row("decision", item["text"], id=name, topic=item["topic"], state=state)
            yield Row("decision", name, item["id"], item["text"], False, line)


def _questions(contents: Contents) -> Iterator[Row]:
    for name, item in _named(contents.questions, "Q"):
        if item["status"] in ("open", "conflicting"):
            given = " / ".join(str(answer["text"]) for answer in item["answers"]) or None
            line = row("question", item["text"], id=name, state="open", answers_that_conflict=given)
            yield Row("question", name, item["id"], item["text"], False, line)


def _steps(contents: Contents) -> Iterator[Row]:
    for name, item in _named(contents.slots, "N"):
        text = str(item["fields"].get("text") or "")
        if item["intent"] == "next_step" and item["status"] == "open" and text.strip():
            yield Row("next_step", name, item["id"], text, False, row("next_step", text, id=name))


def _outputs(contents: Contents) -> Iterator[Row]:
    for name, item in _named(contents.outputs, "O"):
        if item["status"] not in ("done", "final"):
            line = row("output", item["title"], id=name, state=item["status"], next=item["next"])
            yield Row("output", name, item["id"], item["title"], False, line)
