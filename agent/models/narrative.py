"""The paragraph about where a task stands, and whether it may be shown.

Owns what it is held against. Pure. Must never pass what ``crdt_docs.fidelity`` blocks: the ledger's own words are
always there instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from agent.mind import Brief, Proposal
from crdt_docs.contents import Contents
from crdt_docs.fidelity import LedgerItem, Passed, score
from crdt_docs.fidelity.ledger import Severity, Status

_SEVERITIES: Final[dict[str | None, Severity]] = {"critical": "critical", "important": "important"}


def faithful(text: str, brief: Brief, filed: Sequence[Proposal]) -> bool:
    """Whether the paragraph tells what must be told, and nothing that does not stand or that nobody said."""
    said = [message.text for message in (*brief.before, *brief.asked) if message.role == "user"]
    source = "\n".join([brief.task_name, str(brief.contents.meta.get("goal") or ""), *said])
    ledger = [*_items(brief.contents, filed), *_added(filed)]
    return isinstance(score(text, ledger, source).verdict, Passed)


def _items(contents: Contents, filed: Sequence[Proposal]) -> Iterator[LedgerItem]:
    """The ledger as it stands once what this turn filed is in it."""
    successors = {old: item["id"] for item in contents.decisions for old in item["supersedes"]}
    successors |= {old: _id(place) for place, new in enumerate(filed) for old in new.supersedes}
    answered = {new.answers for new in filed}
    for item in contents.constraints:
        status: Status = "active" if item["status"] == "active" else "retired"
        severity = _SEVERITIES.get(item["severity"], "normal")
        yield LedgerItem(item["id"], "constraint", item["text"], status, severity)
    for item in contents.decisions:
        by = successors.get(item["id"], "")
        status = "superseded" if by else "active"
        yield LedgerItem(item["id"], "decision", item["text"], status, "normal", item["topic"] or "", by)
    for item in contents.questions:
        settled = item["status"] in ("answered", "dropped") or item["id"] in answered
        yield LedgerItem(item["id"], "question", item["text"], "answered" if settled else "open")
    for item in contents.slots:
        text = str(item["fields"].get("text") or "")
        if item["intent"] == "next_step" and text:
            yield LedgerItem(item["id"], "next_step", text, "open" if item["status"] == "open" else "retired")
    for item in contents.outputs:
        done = item["status"] in ("done", "final")
        yield LedgerItem(item["id"], "output", item["title"], "active" if done else "open")


def _added(filed: Sequence[Proposal]) -> Iterator[LedgerItem]:
    for place, new in enumerate(filed):
        if new.kind != "answer":
            status: Status = "open" if new.kind in ("question", "next_step") else "active"
            yield LedgerItem(_id(place), new.kind, new.text, status, new.severity, new.topic or "")


def _id(place: int) -> str:
    return f"filed-{place}"
