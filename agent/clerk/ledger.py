"""What the ledger holds, as the clerk needs it: what stands, what is open, and what came in by this very turn.

Owns the reading of ``Contents`` for one turn. Must never take what an attempt before this one filed for something that
was there already, or a second attempt would say other things than the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from agent.clerk.answers import Asked
from agent.clerk.terms import same_words
from agent.mind import Brief, Kind

Item = dict[str, Any]
_STANDING: Final = {"current", "conflicting", "active", "open", None}


class Ledger:
    """The entries that stood before the messages of a brief were said."""

    def __init__(self, brief: Brief) -> None:
        self._sources = {message.id for message in brief.asked}
        self._since = min((message.at for message in brief.asked), default=brief.now)
        contents = brief.contents
        self.constraints = self._old(contents.constraints)
        self.decisions = self._old(contents.decisions)
        self.questions = self._old(contents.questions)
        self.steps = [_step(slot) for slot in contents.slots if slot.get("intent") == "next_step"]
        self.steps = self._old(self.steps)

    def open_questions(self) -> list[Asked]:
        """The questions that nobody has answered or dropped."""
        return [Asked(item["id"], item["text"]) for item in self.questions if self._was_open(item)]

    def standing(self, kind: Kind) -> list[Item]:
        """The entries of a kind that still hold or are open."""
        if kind == "question":
            return [item for item in self.questions if self._was_open(item)]
        items = {"constraint": self.constraints, "decision": self.decisions, "next_step": self.steps}.get(kind, [])
        return [item for item in items if item.get("status") in _STANDING or self._was_current(item)]

    def holds(self, kind: Kind, text: str) -> str | None:
        """The id of an entry that stands and says the same, or None."""
        return next((item["id"] for item in self.standing(kind) if same_words(item["text"], text)), None)

    def holds_answer(self, question: str, text: str) -> bool:
        """Whether a question has this answer already."""
        return any(
            same_words(answer["text"], text)
            for item in self.questions
            if item["id"] == question
            for answer in self._before(item.get("answers") or [])
        )

    def _old(self, items: Iterable[Item]) -> list[Item]:
        return self._before(items)

    def _before(self, items: Iterable[Item]) -> list[Item]:
        return [item for item in items if item.get("source") not in self._sources and not self._is_new(item)]

    def _is_new(self, item: Item) -> bool:
        at = _millis(item.get("at"))
        return at is not None and at >= self._since and item.get("source") is None

    def _was_open(self, item: Item) -> bool:
        if item.get("status") in {"open", None}:
            return True
        answers = item.get("answers") or []
        return item.get("status") in {"answered", "conflicting"} and bool(answers) and not self._before(answers)

    def _was_current(self, item: Item) -> bool:
        """Superseded by nothing but what an attempt before this one filed."""
        if item.get("status") != "superseded":
            return False
        return not any(item["id"] in (other.get("supersedes") or []) for other in self.decisions)


def _step(slot: Item) -> Item:
    fields = slot.get("fields") or {}
    return {
        "id": slot["id"],
        "status": slot.get("status"),
        **{key: fields.get(key) for key in ("by", "at", "source")},
        "text": str(fields.get("text") or ""),
    }


def _millis(at: Any) -> float | None:
    if isinstance(at, int | float) and not isinstance(at, bool):
        return float(at)
    if isinstance(at, str):
        try:
            return datetime.fromisoformat(at).timestamp() * 1000
        except (ValueError, OverflowError):
            return None
    return None
