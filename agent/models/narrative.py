"""The paragraph about where a task stands, and whether it may be shown.

Owns what it is held against. Pure. Must never pass what ``crdt_docs.fidelity`` blocks: the ledger's own words are
always there instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.mind import Brief, Proposal
from crdt_docs.contents import Contents
from crdt_docs.fidelity.ledger import LedgerItem, Severity, Status


def faithful(text: str, brief: Brief, filed: Sequence[Proposal]) -> bool:
    """Whether the paragraph tells all that is critical, and nothing that does not stand."""
    try:
        from crdt_docs.fidelity import Passed, score
    except ImportError:
        return False
    said = [message.text for message in (*brief.before, *brief.asked) if message.role == "user"]
    return isinstance(score(text, [*_items(brief.contents), *_added(filed)], "\n".join(said)).verdict, Passed)


def _items(contents: Contents) -> Iterator[LedgerItem]:
    for item in contents.constraints:
        status: Status = "active" if item["status"] == "active" else "retired"
        yield LedgerItem(item["id"], "constraint", item["text"], status, _severity(item["severity"]))
    for item in contents.decisions:
        by = next((d["id"] for d in contents.decisions if item["id"] in d["supersedes"]), "")
        stands: Status = "superseded" if item["status"] == "superseded" else "active"
        yield LedgerItem(item["id"], "decision", item["text"], stands, topic=item["topic"] or "", superseded_by=by)
    for item in contents.questions:
        open_or: Status = "answered" if item["status"] in ("answered", "dropped") else "open"
        yield LedgerItem(item["id"], "question", item["text"], open_or)
    for item in contents.slots:
        text = str(item["fields"].get("text") or "")
        if item["intent"] == "next_step" and text:
            yield LedgerItem(item["id"], "next_step", text, "open" if item["status"] == "open" else "retired")
    for item in contents.outputs:
        yield LedgerItem(item["id"], "output", item["title"], "open")


def _severity(severity: str | None) -> Severity:
    return severity if severity in ("critical", "important") else "normal"  # type: ignore[return-value]


def _added(filed: Sequence[Proposal]) -> Iterator[LedgerItem]:
    """What this turn filed, for the contents were read before it."""
    for place, proposal in enumerate(filed):
        if proposal.kind != "answer":
            status: Status = "open" if proposal.kind in ("question", "next_step") else "active"
            severity, topic = proposal.severity, proposal.topic or ""
            yield LedgerItem(f"filed-{place}", proposal.kind, proposal.text, status, severity, topic)
