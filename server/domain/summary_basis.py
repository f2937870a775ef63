"""What a summary is held against: the ledger as rows for the scorer, and the words that it may draw on besides.

Owns the mapping from the ledger to ``crdt_docs.fidelity``. Must never leave out what was taken back: that is how a
summary is caught telling it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from crdt_docs.fidelity import LedgerItem
from crdt_docs.fidelity.ledger import Severity, Status
from server.domain.facts import NEXT_STEP, OVER, is_finished, severity, standing_answers, step_words
from server.domain.quoting import one_line

LETTERS: Final = 200_000
"""Characters of the conversation and of documents that are read, the latest of each."""


def ledger_items(ledger: Mapping[str, Any]) -> list[LedgerItem]:
    """Every entry with words, standing or not."""
    return [item for item in _items(ledger) if one_line(item.text)]


def _items(ledger: Mapping[str, Any]) -> Iterator[LedgerItem]:
    for item in ledger.get("constraints", []):
        status: Status = "retired" if item["status"] == "retired" else "active"
        yield LedgerItem(item["id"], "constraint", item["text"], status, _severity(item))
    after = {old: item["id"] for item in ledger.get("decisions", []) for old in item.get("supersedes", [])}
    for item in ledger.get("decisions", []):
        yield _decision(item, after)
    for item in ledger.get("questions", []):
        yield from _question(item)
    for item in ledger.get("outputs", []):
        yield LedgerItem(item["id"], "output", item["text"], "active" if is_finished(item) else "open")
    for slot in ledger.get("slots", []):
        if slot.get("intent") == NEXT_STEP:
            yield LedgerItem(slot["id"], "next_step", step_words(slot), "retired" if slot["status"] in OVER else "open")


def _severity(item: Mapping[str, Any]) -> Severity:
    """A word that is nobody's convention may mean the worst."""
    match severity(item):
        case "critical" | "normal" as known:
            return known
        case _:
            return "important"


def _decision(item: Mapping[str, Any], after: Mapping[str, str]) -> LedgerItem:
    """A decision that stands against another is as open as a question: neither may be told as settled."""
    topic = one_line(item.get("topic") or "")
    match item["status"]:
        case "superseded":
            successor = after.get(item["id"], "")
            return LedgerItem(item["id"], "decision", item["text"], "superseded", "normal", topic, successor)
        case "conflicting":
            return LedgerItem(item["id"], "question", item["text"], "open", "normal", topic)
        case _:
            return LedgerItem(item["id"], "decision", item["text"], "active", "normal", topic)


def _question(item: Mapping[str, Any]) -> Iterator[LedgerItem]:
    match item["status"]:
        case "dropped":
            yield LedgerItem(item["id"], "question", item["text"], "retired")
        case "answered":
            yield LedgerItem(item["id"], "question", item["text"], "answered")
            standing = {answer["id"] for answer in standing_answers(item)}
            for answer in item["answers"]:
                status: Status = "active" if answer["id"] in standing else "superseded"
                yield LedgerItem(answer["id"], "fact", answer["text"], status, "normal", one_line(item["text"]))
        case _:
            yield LedgerItem(item["id"], "question", item["text"], "open")


def summary_source(name: str, ledger: Mapping[str, Any]) -> str:
    """The words that a summary may draw on besides: the task's name and goal, what was said, documents and results."""
    parts = [name, ledger.get("meta", {}).get("goal") or ""]
    parts += _latest([message["text"] for message in ledger.get("messages", [])])
    documents = [f"{one['title']}\n{one['markdown']}" for one in ledger.get("documents", [])]
    outputs = [output.get("markdown") or "" for output in ledger.get("outputs", [])]
    return "\n".join(part for part in [*parts, *_latest([*documents, *outputs])] if part)


def _latest(texts: list[str]) -> list[str]:
    """As many of the last texts as fit."""
    room = LETTERS
    kept: list[str] = []
    for text in reversed(texts):
        room -= len(text)
        if room < 0:
            break
        kept.append(text)
    return kept[::-1]
