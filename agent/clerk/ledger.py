"""What the ledger holds, as the clerk needs it: what stands, what is open, and what came in by this very turn.

Owns the reading of ``Contents`` for one turn. Must never take what an attempt before this one filed for something that
was there already, or a second attempt would say other things than the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from agent.clerk.answers import Asked
from agent.clerk.terms import Known, sense_of
from agent.clerk.topics import Decisions
from agent.mind import Brief, Kind

Item = dict[str, Any]
_STANDS: Final = {"current", "conflicting", "active", "open", None}


class Ledger:
    """The entries that stood before the messages of a brief were said."""

    def __init__(self, brief: Brief) -> None:
        self._sources = {message.id for message in brief.asked}
        self._since = min((message.at for message in brief.asked), default=brief.now)
        contents = brief.contents
        steps = [_step(slot) for slot in contents.slots if slot.get("intent") == "next_step"]
        self.decisions = self._before(contents.decisions)
        self.questions = self._before(contents.questions)
        self._replaced = {old for item in self.decisions for old in item.get("supersedes") or []}
        self._standing: Mapping[Kind, list[Item]] = {
            "constraint": [item for item in self._before(contents.constraints) if item.get("status") in _STANDS],
            "decision": [item for item in self.decisions if self._is_current(item)],
            "question": [item for item in self.questions if self._is_open(item)],
            "next_step": [item for item in self._before(steps) if item.get("status") in _STANDS],
        }
        self.decided = Decisions(self._standing["decision"])
        self._known = {kind: _known(items) for kind, items in self._standing.items()}

    def standing(self, kind: Kind) -> list[Item]:
        """The entries of a kind that hold or are open."""
        return self._standing[kind]

    def open_questions(self) -> list[Asked]:
        """The questions that nobody has answered or dropped."""
        return [Asked(item["id"], item["text"]) for item in self._standing["question"]]

    def holds(self, kind: Kind, text: str) -> bool:
        """Whether an entry of a kind stands that says the same."""
        return kind in self._known and self._known[kind].find(text) is not None

    def holds_answer(self, question: str, text: str) -> bool:
        """Whether a question has this answer already."""
        given = next((item.get("answers") or [] for item in self.questions if item["id"] == question), [])
        return any(sense_of(answer["text"]) == sense_of(text) for answer in self._before(given))

    def text_of(self, key: str) -> str:
        """The words of a decision or a question, on one line; nothing if there is none of that id."""
        found = (item["text"] for item in (*self.decisions, *self.questions) if item["id"] == key)
        return " ".join(str(next(found, "")).split())

    def _before(self, items: Iterable[Item]) -> list[Item]:
        return [item for item in items if item.get("source") not in self._sources and not self._is_new(item)]

    def _is_new(self, item: Item) -> bool:
        """Questions and answers have no source: what is younger than the messages was made of them, or meanwhile."""
        at = _millis(item.get("at"))
        return at is not None and at >= self._since and item.get("source") is None

    def _is_open(self, item: Item) -> bool:
        if item.get("status") in {"answered", "conflicting"}:
            answers = item.get("answers") or []
            return bool(answers) and not self._before(answers)
        return item.get("status") in _STANDS

    def _is_current(self, item: Item) -> bool:
        """Also what only an attempt before this one superseded."""
        return item.get("status") in _STANDS or item["id"] not in self._replaced


def _known(items: Iterable[Item]) -> Known:
    known = Known()
    for item in items:
        known.add(str(item["text"]), str(item["id"]))
    return known


def _step(slot: Item) -> Item:
    fields = slot.get("fields") or {}
    trace = {name: fields.get(name) for name in ("by", "at", "source")}
    return {"id": slot["id"], "status": slot.get("status"), "text": str(fields.get("text") or ""), **trace}


def _millis(at: Any) -> float | None:
    if isinstance(at, int | float) and not isinstance(at, bool):
        return float(at)
    if isinstance(at, str):
        try:
            return datetime.fromisoformat(at).timestamp() * 1000
        except (ValueError, OverflowError, OSError):
            return None
    return None
