"""What the ledger holds, as the clerk needs it: what stands, what is open, and what came in by this very turn.

Owns the reading of ``Contents`` for one turn. Must never take what an attempt before this one filed for something that
was there already, or a second attempt would say other things than the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from agent.clerk.answers import Asked
from agent.clerk.rules import read_patterns
from agent.clerk.terms import Known, sense_of, terms
from agent.clerk.topics import Decisions, sorts, topic_of, units
from agent.mind import Brief, Kind

Item = dict[str, Any]
_ASKING: Final = terms(
    "when where date day time venue place location budget price cost fee money deadline much"
) - terms("budget price cost fee deadline") | terms("什么时候 哪天 几号 何时 时间 日期 地点 哪里 哪儿 多少 多少钱 几点")
"""What only says which sort of thing is asked for."""
_AMOUNT: Final = re.compile(r"\d[\d.,]*|[一二两三四五六七八九十百千]+(?=[万千百个人页天块元])")
_STANDS: Final = {"current", "conflicting", "active", "open", None}


class Ledger:
    """The entries that stood before the messages of a brief were said."""

    def __init__(self, brief: Brief) -> None:
        self._sources = {message.id for message in brief.asked}
        self._since = min((message.at for message in brief.asked), default=brief.now)
        contents = brief.contents
        steps = [_step(slot) for slot in contents.slots if slot.get("intent") == "next_step"]
        self.decisions = self._before(contents.decisions)
        self._by_id = {item["id"]: item for item in self.decisions}
        self.questions = self._before(contents.questions)
        self._replaced = {old for item in self.decisions for old in item.get("supersedes") or []}
        self._standing: Mapping[Kind, list[Item]] = {
            "constraint": [item for item in self._before(contents.constraints) if item.get("status") in _STANDS],
            "decision": [item for item in self.decisions if self._is_current(item)],
            "question": [item for item in self.questions if self._is_open(item)],
            "next_step": [item for item in self._before(steps) if item.get("status") in _STANDS],
        }
        self.decided = Decisions(self._standing["decision"], [self.before(item) for item in self._standing["decision"]])
        self._known = {kind: _known(items) for kind, items in self._standing.items()}

    def standing(self, kind: Kind) -> list[Item]:
        """The entries of a kind that hold or are open."""
        return self._standing[kind]

    def open_questions(self) -> list[Asked]:
        """The questions that nobody has answered or dropped."""
        return [Asked(item["id"], item["text"]) for item in self._standing["question"]]

    def answered_questions(self) -> list[Asked]:
        """The questions that have one answer, which may be corrected."""
        return [Asked(item["id"], item["text"]) for item in self.questions if self.answer_to(item["id"])]

    def answer_to(self, question: str) -> str | None:
        """The id of the one answer that a question has, or None."""
        item = next((item for item in self.questions if item["id"] == question), {})
        given = self._before(item.get("answers") or [])
        gone = {old for answer in given for old in answer.get("supersedes") or []}
        standing = [str(answer["id"]) for answer in given if answer["id"] not in gone]
        return standing[0] if item.get("status") == "answered" and len(standing) == 1 else None

    def holds(self, kind: Kind, text: str) -> bool:
        """Whether an entry of a kind stands that says the same."""
        return kind in self._known and self._known[kind].find(text) is not None

    def holds_answer(self, question: str, text: str) -> bool:
        """Whether a question has this answer already."""
        given = next((item.get("answers") or [] for item in self.questions if item["id"] == question), [])
        return any(sense_of(answer["text"]) == sense_of(text) for answer in self._before(given))

    def before(self, decision: Item) -> str:
        """The words of all that a decision took the place of, one after another."""
        olds = list(decision.get("supersedes") or [])
        seen: dict[str, str] = {}
        while olds:
            if (key := olds.pop()) not in seen and (item := self._by_id.get(key)):
                seen[key] = str(item["text"])
                olds.extend(item.get("supersedes") or [])
        return " ".join(seen.values())

    def limit_on(self, quote: str) -> str | None:
        """The words of a constraint that stands and allows another amount of what a statement is about, or None."""
        topic, named = topic_of(quote)
        about, amounts = terms(topic), _amounts(quote)
        if not amounts:
            return None
        if read_patterns("topics")["another"].search(quote):
            of = units(quote)
            texts = [str(item["text"]) for item in self._standing["constraint"]]
            alike = [text for text in texts if units(text) & of and not _amounts(text) & amounts]
            return alike[0] if len(alike) == 1 else None
        if not named or not about:
            return None
        for item in self._standing["constraint"]:
            theirs = _amounts(text := str(item["text"]))
            if theirs and not theirs & amounts and terms(topic_of(text)[0]) == about:
                return text
        return None

    def telling(self, question: str, task: str) -> list[Item]:
        """The entries that stand and tell what a question asks for, where one does that beyond doubt."""
        if not read_patterns("topics")["asks"].search(question):
            return []
        asked, sort = terms(question) - _ASKING, sorts(question)
        told = self._told
        if sort:
            told = [entry for entry in told if entry[2] & sort]
            asked = asked if any(asked & about for _, about, _ in told) else asked - terms(task)
        found = [item for item, about, _ in told if asked <= (about if sort else terms(str(item.get("topic") or "")))]
        return found if asked or len(found) == 1 and sort else []

    @cached_property
    def _told(self) -> list[tuple[Item, frozenset[str], frozenset[str]]]:
        """What stands, each with its terms and the sorts of things it names."""
        standing = [*self._standing["decision"], *self._standing["constraint"]]
        words = [f"{item.get('topic') or ''} {item['text']}" for item in standing]
        return [(item, terms(text), sorts(text)) for item, text in zip(standing, words, strict=True)]

    def text_of(self, key: str) -> str:
        """The words of a decision, a question or an answer, on one line; nothing if there is none of that id."""
        answers = (answer for item in self.questions for answer in item.get("answers") or [])
        found = (item["text"] for item in (*self.decisions, *self.questions, *answers) if item["id"] == key)
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


def _amounts(text: str) -> frozenset[str]:
    return frozenset(found[0].rstrip(".,") for found in _AMOUNT.finditer(text))


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
