"""What a returning user is told, rendered from the ledger. Owns the template; must never leave out a standing item.

The words are the ledger's own, each item on one line, so that no model can forget, soften or invent one. What does not
stand any more (retired constraints, superseded decisions and answers, dropped questions) is not told, and what is open
or in conflict is told as such. ``checked`` is earned: the text is searched for every item that must be in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Item = dict[str, Any]
"""An entry of the working set as the engine reads it: at least ``id``, ``text`` and ``status``."""

FINISHED: Final = frozenset({"done", "final", "finished", "accepted", "delivered", "succeeded", "cancelled"})
"""States of an output after which nothing is left to do on it."""
SETTLED: Final = frozenset({"done", "succeeded", "failed", "cancelled", "declined", "denied", "rejected", "executed"})
"""Statuses of a tool call after which nobody waits for it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What stands, as data. ``pending`` are tool calls and dialogues that wait for somebody."""

    constraints: list[Item]
    decisions: list[Item]
    questions: list[Item]
    outputs: list[Item]
    pending: list[Item]
    next_step: Item | None
    changes: list[Item]


@dataclass(frozen=True, slots=True)
class Resumption:
    """The text and the facts under it; ``checked`` if every fact's words were found in the text."""

    text: str
    facts: Facts
    checked: bool


def resume(name: str, ledger: Mapping[str, Any]) -> Resumption:
    """Render the resumption of a task from its working set."""
    facts = gather(ledger)
    text = render(name, one_line(ledger.get("meta", {}).get("goal") or ""), facts)
    return Resumption(text, facts, not missing(text, facts))


def gather(ledger: Mapping[str, Any]) -> Facts:
    """What stands in the working set: nothing without words, nothing that was taken back."""

    def standing(kind: str, *statuses: str) -> list[Item]:
        return [item for item in ledger.get(kind, []) if item["status"] in statuses and one_line(item["text"])]

    questions = standing("questions", "open", "conflicting", "answered")
    outputs = [item for item in ledger.get("outputs", []) if one_line(item["text"])]
    waiting = [item for item in ledger.get("calls", []) if item["status"] not in SETTLED and one_line(item["text"])]
    return Facts(
        constraints=standing("constraints", "active"),
        decisions=standing("decisions", "current", "conflicting"),
        questions=questions,
        outputs=[{key: item[key] for key in item if key != "markdown"} for item in outputs],
        pending=[*waiting, *standing("slots", "open", "filling")],
        next_step=next_step(questions, outputs),
        changes=[],
    )


def next_step(questions: Sequence[Item], outputs: Sequence[Item]) -> Item | None:
    """The first question that is not settled; else what an unfinished output says comes next, or to finish it."""
    for item in questions:
        if item["status"] in ("open", "conflicting"):
            return {"id": item["id"], "text": item["text"], "status": item["status"], "kind": "question"}
    for item in outputs:
        if item["status"] not in FINISHED:
            text = item.get("next") or f"Finish “{one_line(item['text'])}”"
            return {"id": item["id"], "text": text, "status": item["status"], "kind": "output"}
    return None


def render(name: str, goal: str, facts: Facts) -> str:
    """The template: a sentence, then one heading for each kind of fact that there is."""
    opening = f"You were working on “{one_line(name)}”. Continue?"
    parts = [f"{opening}\nGoal: {goal}" if goal else opening]
    parts += _section("Must hold", map(_constraint, facts.constraints))
    parts += _section("Decided", (one_line(d["text"]) for d in facts.decisions if d["status"] == "current"))
    parts += _section("Decided differently, and not settled", _texts(facts.decisions, "conflicting"))
    parts += _section("Still open", _texts(facts.questions, "open"))
    parts += _section("Answered differently, and not settled", map(_answered, _of(facts.questions, "conflicting")))
    parts += _section("Answered", map(_answered, _of(facts.questions, "answered")))
    parts += _section("Results", (f"{one_line(o['text'])} ({one_line(o['status'])})" for o in facts.outputs))
    parts += _section("Waiting for someone", _texts(facts.pending))
    if facts.next_step is not None:
        parts.append(f"Next step: {one_line(facts.next_step['text'])}")
    return "\n\n".join(parts)


def missing(text: str, facts: Facts) -> list[str]:
    """The ids of the facts whose words are not in the text."""
    whole = one_line(text)
    told = [*facts.constraints, *facts.decisions, *facts.questions, *facts.outputs, *facts.pending]
    if facts.next_step is not None:
        told.append(facts.next_step)
    answers = [answer for question in facts.questions for answer in standing_answers(question)]
    return [item["id"] for item in [*told, *answers] if one_line(item["text"]) not in whole]


def standing_answers(question: Item) -> list[Item]:
    """The answers that have words and that no other answer took the place of."""
    given = [answer for answer in question.get("answers", []) if one_line(answer["text"])]
    replaced = {old for answer in given for old in answer.get("supersedes", []) if old != answer["id"]}
    return [answer for answer in given if answer["id"] not in replaced]


def one_line(text: str) -> str:
    """The words with every run of blanks and breaks as one space, so that no item can pass for a heading."""
    return " ".join(text.split())


def _section(heading: str, lines: Iterable[str]) -> list[str]:
    listed = [f"- {line}" for line in lines]
    return ["\n".join([f"{heading}:", *listed])] if listed else []


def _of(items: Sequence[Item], status: str) -> list[Item]:
    return [item for item in items if item["status"] == status]


def _texts(items: Sequence[Item], status: str | None = None) -> list[str]:
    return [one_line(item["text"]) for item in items if status is None or item["status"] == status]


def _constraint(item: Item) -> str:
    severity = one_line(item.get("severity") or "")
    return f"{one_line(item['text'])} ({severity})" if severity else one_line(item["text"])


def _answered(item: Item) -> str:
    return f"{one_line(item['text'])} — {' / '.join(_texts(standing_answers(item)))}"
