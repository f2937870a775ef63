"""Three tasks as people leave them, and how to read a resumption back. Owns ledgers and quotes; decides nothing."""

from __future__ import annotations

import re
from typing import Any

from pycrdt import Doc

from crdt_docs import entries
from crdt_docs.working_set import WorkingSet, read

_OPENING = {"“": "”", "«": "»", "「": "」"}


def unquoted(text: str) -> tuple[str, list[str]]:
    """The paragraph with “…” for each quoted item, and the items' words, read by the rule and by nothing else."""
    out: list[str] = []
    words: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char in _OPENING:
            end = text.index(_OPENING[char], at)
            words.append(text[at + 1 : end])
            at = end + 1
        elif char == "⟦":
            run = len(text) - at - len(text[at:].lstrip("⟦"))
            closing = re.compile(rf"(?<!⟧)⟧{{{run}}}(?!⟧)").search(text, at)
            assert closing is not None, text[at:]
            inner = text[at + run : closing.start()]
            inner = inner[1:] if inner.startswith(" ⟦") else inner
            words.append(inner[:-1] if inner.endswith("⟧ ") else inner)
            at = closing.end()
        else:
            out.append(char)
            at += 1
            continue
        out.append("“…”")
    return "".join(out), words


class _Clock:
    def __init__(self) -> None:
        self.at = 1_800_000_000_000

    def __call__(self) -> int:
        self.at += 1_000
        return self.at


def _begin(goal: str) -> tuple[WorkingSet, Doc[Any]]:
    doc: Doc[Any] = Doc(client_id=1)
    work = WorkingSet(doc, "Ann", _Clock())
    work._root("meta")["goal"] = goal
    return work, doc


def _slot(work: WorkingSet, key: str, entry: entries.Entry) -> None:
    work._add("slots", entry, key)


def contract() -> dict[str, Any]:
    """A contract under revision: a decision that gave way, two that conflict, a mail that waits for approval."""
    work, doc = _begin("Sign the revised contract by June 30.")
    work.add_constraint("No work on weekends")
    work.add_constraint("The liability cap never falls below 150 k€", severity="critical")
    work.add_constraint("Legal reads every draft before it leaves the house", severity="important")
    gone = work.add_constraint("Only paper copies")
    work.retire(gone)
    first = work.decide("Cap at 200 k€", topic="liability cap")
    work.decide("Cap at 180 k€", topic="liability cap", supersedes=[first])
    terms = work.decide("Net 60", topic="payment terms")
    work.decide("Net 30", topic="payment terms", supersedes=[terms])
    work.decide("Net 45", topic="payment terms", supersedes=[terms])
    work.ask("Which law governs?")
    signs = work.ask("Who signs for Acme?")
    work.answer(signs, "Dana Reyes")
    notice = work.ask("How long is the notice?")
    work.answer(notice, "30 days")
    work.answer(notice, "90 days")
    work.drop(work.ask("Which font?"))
    work.add_output("Redline", "…", state="draft", next="send it to legal")
    work.add_output("Term sheet", "…", state="final")
    work._add("calls", {"tool": "send_mail", "status": "proposed"}, "k1")
    work._add("calls", {"tool": "search", "status": "done"}, "k2")
    _slot(work, "s1", {"intent": "book a room", "state": "filling", "fields": {"city": "Zürich", "people": 4}})
    _slot(work, "n1", entries.next_step("Call Dana on Monday", by="Ann", at=1))
    said = work.add_message("Also, their lawyer hates arbitration, I think.")
    unfiled: Any = [{"unfiled": "their lawyer hates arbitration, I think", "source": said}]
    work.add_message("Noted.", role="agent", refs=unfiled)
    return read(doc)


def release() -> dict[str, Any]:
    """A release, full of words that look like the resumption's own."""
    work, doc = _begin("Ship 2.0\n\nDecided: “ship today”")
    work.add_constraint("No schema change after the freeze”. Decided: “anything goes", severity="critical")
    work.add_constraint("- keep\n- both\n# bullets", severity="blocker (do not tell)")  # type: ignore[arg-type]
    work.decide("Tag it “v2.0.0”, not «2.0», 「二点零」")
    work.decide("All of “these”, «these», 「these」 and ⟦these⟧ brackets.", topic="quotes ”")
    work.ask("Answered: “Who releases?” with “Bo”?")
    work.add_output("Changelog", "…", state="reviewed by Bo; done")
    work._add("calls", {"tool": "deploy", "status": "running"}, "k1")
    work._add("calls", {"tool": "rollback", "status": "stuck”"}, "k2")
    return read(doc)


def trip() -> dict[str, Any]:
    """A research trip, planned in Chinese; nobody has said what comes next."""
    work, doc = _begin("五月去成都调研，预算两万元。")
    work.add_constraint("全程不坐红眼航班", severity="important")
    work.add_constraint("总预算不超过 20000 元", severity="critical")
    work.decide("五月十二日出发")
    work.decide("住在“锦江”边上的酒店", topic="住宿")
    work.ask("访谈提纲由谁审定？")
    budget = work.ask("租车还是打车？")
    work.answer(budget, "打车。")
    work.add_output("行程表", "…", state="draft")
    return read(doc)


TASKS = {
    "contract": ("Acme contract revision", contract),
    "release": ("Release “2.0”", release),
    "trip": ("成都调研", trip),
}


def changes(ledger: dict[str, Any]) -> list[dict[str, Any]]:
    """What somebody missed: up to two changes of each kind, of what stands."""
    found = []
    for kind, root, what in (
        ("constraint", "constraints", "added"), ("decision", "decisions", "added"),
        ("question", "questions", "answered"), ("output", "outputs", "edited"), ("message", "messages", "added"),
    ):  # fmt: skip
        standing = [item for item in ledger[root] if item["status"] not in ("retired", "superseded", "open", "dropped")]
        for number, item in enumerate(standing[:2]):
            made = {"kind": kind, "what": what, "by": "Wei", "device": "phone", "agent": None, "you": False}
            if number:
                made |= {"agent": "Clerk", "device": None}
            found.append({**item, **made, "at": "2027-01-15T08:00:00.000Z"})
    gone = {"id": "x", "text": "", "status": "removed", "kind": "decision", "what": "removed", "by": "Ann"}
    return [*found, {**gone, "device": "work “laptop”", "agent": None, "you": True, "at": None}]
