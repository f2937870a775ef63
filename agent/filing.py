"""From what a mind proposes to entries of the ledger.

Owns what may be filed: nothing without words that a person said in this task, nothing twice, nothing that points at
what is not there. Must never raise for what a mind proposed, overwrite what people wrote, or retire, supersede or
close anything that a proposal does not name.

F1  an entry's id follows from the message, the kind and the quote, so that a second attempt files nothing new
F2  every quote stands verbatim in a message of a person's, or is not shown as one
F3  who said it is who the server says wrote the turn's messages; what others said is not filed in their names
F4  what can't be filed is quoted in the answer's ``refs``, never dropped where there is something to quote
"""

from __future__ import annotations

import unicodedata
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, get_args

from pycrdt import Doc, Map

from agent.context import milliseconds
from agent.mind import Kind, Proposal, Unfiled
from agent.prose import heal
from agent.turn import Ref
from crdt_docs import entries
from crdt_docs.contents import Contents, Item
from crdt_docs.entries import Entry, Severity
from crdt_docs.working_set import put_entry

MAX_TEXT: Final = 2000
MAX_TOPIC: Final = 200
MAX_QUOTE: Final = 300
"""Characters that are quoted of what could not be filed."""
MAX_PROPOSALS: Final = 100
"""How many one answer may have."""

ROOTS: Final[dict[Kind, str]] = {
    "constraint": "constraints",
    "decision": "decisions",
    "question": "questions",
    "answer": "questions",
    "next_step": "slots",
}
_SPACE: Final = uuid.UUID("5f0c7a3e-93a5-4f0e-9a53-2f1c6a2d8b11")
"""A namespace of this module's own (RFC 9562, section 5.5)."""


@dataclass(frozen=True, slots=True)
class Add:
    """An entry for a root; with ``under``, one for the answers of that question."""

    root: str
    key: str
    entry: Entry
    under: str | None = None


@dataclass(frozen=True, slots=True)
class Close:
    """A next step that is done."""

    key: str


Change: TypeAlias = Add | Close


@dataclass(frozen=True, slots=True)
class _Filed:
    changes: tuple[Change, ...]
    id: str


@dataclass(frozen=True, slots=True)
class _Not:
    quote: str | None
    """What to show instead; None if there is nothing that a person said."""


def entry_id(kind: Kind, source: str, quote: str) -> str:
    """The id of what is filed from a quote (F1): a UUIDv5. Spacing and case of the quote don't matter."""
    return str(uuid.uuid5(_SPACE, "\n".join((kind, source, _folded(quote)))))


def file(
    proposals: Sequence[Proposal], contents: Contents, now: int, *, by: str, asked: Collection[str]
) -> tuple[list[Change], list[Ref]]:
    """What is to be changed, and what the answer says of it: ``{"filed": kind, "id", "source"}`` for each entry that
    stands now, ``{"unfiled": quote, "source"}`` for what does not.

    ``by`` is who said what is ``asked``, as the server knows. ``now`` in milliseconds: no entry is dated later.
    """
    ledger = _Ledger(contents, now, by, asked)
    changes: list[Change] = []
    refs: list[Ref] = []
    for place, proposal in enumerate(map(_healed, proposals)):
        verdict = (
            ledger.judge(proposal) if place < MAX_PROPOSALS else _Not(ledger.quotable(proposal.source, proposal.quote))
        )
        ref: Ref | None = None
        match verdict:
            case _Filed(more, key):
                changes += [change for change in more if change not in changes]
                ref = {"filed": proposal.kind, "id": key, "source": proposal.source}
            case _Not(str(quote)):
                ref = {"unfiled": quote[:MAX_QUOTE], "source": proposal.source}
        if ref is not None and ref not in refs:
            refs.append(ref)
    return changes, refs


def quote(unfiled: Unfiled, contents: Contents) -> list[Ref]:
    """What the answer says of words that a mind could not file: nothing if nobody said anything there (F2)."""
    ledger = _Ledger(contents, 0, "", ())
    found = ledger.quotable(unfiled.source, unfiled.quote)
    return [] if found is None else [{"unfiled": found[:MAX_QUOTE], "source": unfiled.source}]


def enter(doc: Doc[Any], changes: Iterable[Change]) -> None:
    """Make the changes in one transaction, each only where it still fits: nothing that is there is written over."""
    with doc.transaction():
        for change in changes:
            match change:
                case Add(root, key, entry, under):
                    parent: Any = doc.get(root, type=Map)
                    if under is not None:
                        parent = _answers(parent.get(under))
                    if isinstance(parent, Map) and key not in parent:
                        put_entry(parent, key, entry)
                case Close(key):
                    slot = doc.get("slots", type=Map).get(key)
                    if isinstance(slot, Map) and slot.get("state") != "done":
                        slot["state"] = "done"


class _Ledger:
    """What stands in the task, as far as proposals can refer to it."""

    def __init__(self, contents: Contents, now: int, by: str, asked: Collection[str]) -> None:
        self._now = now
        self._by = by
        self._asked = frozenset(asked)
        self._said = {item["id"]: item for item in contents.messages if item["role"] != "agent"}
        self._constraints = {item["id"]: item for item in contents.constraints}
        self._decisions = {item["id"]: item for item in contents.decisions}
        self._questions = {item["id"]: item for item in contents.questions}
        self._steps = {item["id"]: item for item in contents.slots if item["intent"] == "next_step"}
        self._made = 0

    def judge(self, proposal: Proposal) -> _Filed | _Not:
        """Whether it can be filed, and as what."""
        quote = self._verbatim(proposal.source, proposal.quote)
        closing = proposal.kind == "next_step" and proposal.supersedes and not proposal.text.strip()
        if quote is None or proposal.source not in self._asked or not (closing or self._sound(proposal)):
            return _Not(self.quotable(proposal.source, proposal.quote))
        match proposal.kind:
            case "answer":
                return self._answer(proposal, quote)
            case "next_step":
                return self._step(proposal, quote)
            case "decision":
                return self._decision(proposal, quote)
            case "question":
                return self._plain(proposal, quote, self._questions, ("open", "answered", "conflicting"))
            case "constraint":
                return self._plain(proposal, quote, self._constraints, ("active",))

    def quotable(self, source: str, quote: str) -> str | None:
        """What to show of what is not filed: its quote, or all of the message if the quote is not in it."""
        message = self._said.get(source)
        if message is None:
            return None
        return self._verbatim(source, quote) or message["text"].strip() or None

    def _verbatim(self, source: str, quote: str) -> str | None:
        """The quote as it stands in the message, found by its letters; None if it does not stand there (F2)."""
        message = self._said.get(source)
        quote = quote.strip()
        if message is None or not quote or len(quote) > MAX_TEXT:
            return None
        if quote in message["text"]:
            return quote
        return _find_folded(message["text"], quote)

    def _sound(self, proposal: Proposal) -> bool:
        topic = proposal.topic
        return (
            proposal.kind in ROOTS
            and bool(proposal.text.strip())
            and len(proposal.text) <= MAX_TEXT
            and (topic is None or len(topic) <= MAX_TOPIC)
            and proposal.severity in get_args(Severity)
            and (proposal.answers is None or proposal.kind == "answer")
            and (not proposal.supersedes or proposal.kind in ("decision", "answer", "next_step"))
        )

    def _decision(self, proposal: Proposal, quote: str) -> _Filed | _Not:
        key = entry_id("decision", proposal.source, quote)
        olds = [old for old in proposal.supersedes if old != key]
        if any(old not in self._decisions for old in olds):
            return _Not(quote)
        if key in self._decisions:
            return _Filed((), key)
        for standing in self._decisions.values():
            same = _folded(standing["text"]) == _folded(proposal.text)
            if same and standing["status"] == "current" and set(olds) <= {*standing["supersedes"], standing["id"]}:
                return _Filed((), standing["id"])
        by, at = self._trace(proposal)
        entry = entries.decision(
            proposal.text.strip(), by=by, at=at, topic=proposal.topic, supersedes=olds, source=proposal.source
        )
        return _Filed((Add("decisions", key, entry),), key)

    def _answer(self, proposal: Proposal, quote: str) -> _Filed | _Not:
        question = self._questions.get(proposal.answers or "")
        if question is None:
            return _Not(quote)
        key = entry_id("answer", proposal.source, f"{question['id']}\n{quote}")
        given = {answer["id"]: answer for answer in question["answers"]}
        olds = [old for old in proposal.supersedes if old != key]
        if any(old not in given for old in olds):
            return _Not(quote)
        if key in given:
            return _Filed((), key)
        for answer in given.values():
            if _folded(answer["text"]) == _folded(proposal.text) and set(olds) <= {*answer["supersedes"], answer["id"]}:
                return _Filed((), answer["id"])
        by, at = self._trace(proposal)
        entry = entries.answer(proposal.text.strip(), by=by, at=at, supersedes=olds)
        return _Filed((Add("questions", key, entry, under=question["id"]),), key)

    def _step(self, proposal: Proposal, quote: str) -> _Filed | _Not:
        key = entry_id("next_step", proposal.source, quote)
        olds = [old for old in proposal.supersedes if old != key]
        if any(old not in self._steps for old in olds):
            return _Not(quote)
        closing = tuple(Close(old) for old in olds if self._steps[old]["status"] == "open")
        if not proposal.text.strip():
            return _Filed(closing, olds[0]) if olds else _Not(quote)
        for step in self._steps.values():
            same = _folded(str(step["fields"].get("text") or "")) == _folded(proposal.text)
            if step["id"] == key or (same and step["status"] == "open" and step["id"] not in olds):
                return _Filed(closing, step["id"])
        by, at = self._trace(proposal)
        entry = entries.next_step(proposal.text.strip(), by=by, at=at, source=proposal.source)
        return _Filed((Add("slots", key, entry), *closing), key)

    def _plain(
        self, proposal: Proposal, quote: str, standing: dict[str, Item], statuses: tuple[str, ...]
    ) -> _Filed | _Not:
        key = entry_id(proposal.kind, proposal.source, quote)
        if key in standing:
            return _Filed((), key)
        for item in standing.values():
            if item["status"] in statuses and _folded(item["text"]) == _folded(proposal.text):
                return _Filed((), item["id"])
        by, at = self._trace(proposal)
        text = proposal.text.strip()
        if proposal.kind == "question":
            return _Filed((Add("questions", key, entries.question(text, by=by, at=at)),), key)
        entry = entries.constraint(text, by=by, at=at, severity=proposal.severity, source=proposal.source)
        return _Filed((Add("constraints", key, entry),), key)

    def _trace(self, proposal: Proposal) -> tuple[str, int]:
        """Who said it and when. Entries of one answer are a millisecond apart, and so keep their order."""
        message = self._said[proposal.source]
        said_at = milliseconds(message["at"])
        self._made += 1
        return self._by, min(self._now if said_at is None else said_at, self._now) + self._made


def _healed(proposal: Proposal) -> Proposal:
    """Without halves of surrogate pairs, which no document can hold."""
    topic = None if proposal.topic is None else heal(proposal.topic)
    return replace(proposal, text=heal(proposal.text), topic=topic)


def _answers(question: Any) -> Any:
    """The map of a question's answers, made where a stock client left it out."""
    if not isinstance(question, Map):
        return None
    answers = question.get("answers")
    if answers is None:
        question["answers"] = answers = Map()
    return answers


def _folded(text: str) -> str:
    """A text without what differs when people or models repeat it: spacing, case, the make of quotation marks."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_MARKS).casefold().split())


_MARKS: Final = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."})


def _find_folded(text: str, quote: str) -> str | None:
    """The shortest part of ``text`` that reads as ``quote`` does, so that it can be quoted as it was said."""
    wanted = _folded(quote)
    folded: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for part in unicodedata.normalize("NFKC", character).translate(_MARKS).casefold():
            if part.isspace() and (not folded or folded[-1] == " "):
                continue
            folded.append(" " if part.isspace() else part)
            places.append(place)
    start = "".join(folded).find(wanted)
    if start < 0 or not wanted:
        return None
    return text[places[start] : places[start + len(wanted) - 1] + 1]
