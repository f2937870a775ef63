"""What changed since a person last looked, by whom and on which device: from the bytes and the log, never hearsay.

Owns which change is told. Must never read who did it, or when, from the document: what a client writes there about
itself is display. What was added and taken back in between is no change, nor is what the person did on this device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from crdt_docs.ids import DeviceId, TokenId, UserId
from crdt_docs.updates.touched import Path
from server.domain.clock import iso
from server.domain.facts import NEXT_STEP, OVER, Item, step_words
from server.domain.log import Actor

KINDS: Final = {
    "constraints": "constraint", "decisions": "decision", "questions": "question", "outputs": "output",
    "documents": "document", "slots": "dialogue", "calls": "call", "messages": "message", "meta": "goal",
}  # fmt: skip
"""What an entry of each root is called. Other roots, and what ``meta`` shows of SQL's, are not the ledger."""
MOST_LETTERS: Final = 280
"""Characters of a message that a change carries; the message itself is in the working set."""


class Reader(NamedTuple):
    """Who asks, and from where: ``token`` is the bearer of what has no device."""

    user: UserId
    device: DeviceId | None
    token: TokenId | None = None


class Written(NamedTuple):
    """New at a place, by that actor; ``made`` if it is the very entry, or the inner one. ``at`` is Unix seconds."""

    path: Path
    made: bool
    actor: Actor | None
    at: float | None


class Deleted(NamedTuple):
    """Something is gone from a place, or the entry itself; ``seen`` if the person had seen what stood there."""

    path: Path
    seen: bool
    actor: Actor
    at: float


class Change(NamedTuple):
    """One thing that one party did to one entry. ``text`` and ``status`` are the entry's as it is now."""

    id: str
    text: str
    status: str
    kind: str
    what: str
    actor: Actor | None
    at: float | None
    severity: str | None = None
    place: tuple[str, str] = ("", "")


def find_changes(
    ledger: Mapping[str, Any], written: Sequence[Written], deleted: Sequence[Deleted], reader: Reader
) -> list[Change]:
    """The changes in order of time, each once for a party, an entry and a deed."""
    entries = _entries(ledger)
    made = {(one.path.root, one.path.key): one for one in written if one.made and one.path.field is None}
    found: dict[tuple[Any, ...], Change] = {}
    told = (*_written(written, made, entries), *_superseded(made, ledger), *_deleted(deleted, made, entries))
    for change in told:
        if _is_own(change.actor, reader):
            continue
        key = (change.kind, change.id, change.what, _party(change.actor))
        if key not in found or (found[key].at or 0) < (change.at or 0):
            found[key] = change
    for kind, key, what, party in list(found):
        if what in ("retired", "removed"):
            found.pop((kind, key, "edited", party), None)  # ending something may take an edit
    order = {place: number for number, place in enumerate(entries)}
    return sorted(found.values(), key=lambda change: (change.at or 0, order.get(change.place, len(order))))


def last_edit(ledger: Mapping[str, Any], written: Iterable[Written]) -> Change | None:
    """What a person, not an agent, wrote in last, of what is still there."""
    entries = _entries(ledger)
    own = [one for one in written if one.actor is not None and one.actor.agent is None and one.at is not None]
    for one in sorted(own, key=lambda one: -(one.at or 0)):
        item = entries.get((one.path.root, one.path.key))
        if item is not None and not _is_over(item):
            return _change(one.path.root, item, "edited", one.actor, one.at)
    return None


def word_changes(changes: Iterable[Change], reader: Reader, names: Mapping[str, str]) -> list[Item]:
    """The changes as facts, with names instead of ids; None where one is not known."""
    return [
        {
            "id": change.id,
            "text": change.text,
            "status": change.status,
            "kind": change.kind,
            "what": change.what,
            "by": names.get(change.actor.user) if change.actor else None,
            "device": names.get(change.actor.device) if change.actor and change.actor.device else None,
            "agent": names.get(change.actor.agent, "?") if change.actor and change.actor.agent else None,
            "you": bool(change.actor and change.actor.user == reader.user),
            "at": iso(change.at) if change.at is not None else None,
            "severity": change.severity,
        }
        for change in changes
    ]


def excerpt(text: str) -> str:
    """The beginning of a message."""
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _entries(ledger: Mapping[str, Any]) -> dict[tuple[str, str], Item]:
    found = {(root, item["id"]): item for root in KINDS if root != "meta" for item in ledger.get(root, [])}
    goal = ledger.get("meta", {}).get("goal") or ""
    found |= {("documents", item["id"]): item for item in ledger.get("retired_documents", [])}
    found["meta", "goal"] = {"id": "goal", "text": goal, "status": "current"}
    return found


def _written(
    written: Sequence[Written], made: Mapping[tuple[str, str], Written], entries: Mapping[tuple[str, str], Item]
) -> Iterable[Change]:
    answers = {one.path: _party(one.actor) for one in written if one.made and one.path.inner is not None}
    for one in written:
        item = entries.get((one.path.root, one.path.key))
        if item is None:
            continue
        entry = made.get((one.path.root, one.path.key))
        if entry is not None and _is_over(item):
            continue  # it came and went
        what = _deed(one, item)
        if what == "edited" and _party(one.actor) in (_party(entry.actor) if entry else None, answers.get(one.path)):
            continue  # part of adding it
        yield _change(one.path.root, item, what, one.actor, one.at)


def _deed(one: Written, item: Item) -> str:
    if one.path.field is None:
        return "added" if one.made else "edited"
    ended = one.path.field in ("retired", "dropped", "state") and item.get("status") in ("retired", "dropped", *OVER)
    if ended and one.path.root != "outputs":
        return "removed" if one.path.root == "documents" else "retired"
    return "answered" if one.made and one.path.field == "answers" else "edited"


def _superseded(made: Mapping[tuple[str, str], Written], ledger: Mapping[str, Any]) -> Iterable[Change]:
    """The decisions of before that a new one takes the place of."""
    decisions = {item["id"]: item for item in ledger.get("decisions", [])}
    for (root, key), one in ((place, one) for place, one in made.items() if place[0] == "decisions"):
        for old in decisions.get(key, {}).get("supersedes", ()):
            if old in decisions and (root, old) not in made:
                yield _change(root, decisions[old], "superseded", one.actor, one.at)


def _deleted(
    deleted: Sequence[Deleted], made: Mapping[tuple[str, str], Written], entries: Mapping[tuple[str, str], Item]
) -> Iterable[Change]:
    for one in deleted:
        root, key = one.path.root, one.path.key
        item, entry = entries.get((root, key)), made.get((root, key))
        if root not in KINDS or (root == "meta" and key != "goal"):
            continue
        if item is None and one.path.field is None and one.seen:
            gone = {"id": key, "text": "", "status": "removed"}
            yield _change(root, gone, "removed", one.actor, one.at)
        elif item is not None and (entry is None or (_party(entry.actor) != _party(one.actor) and not _is_over(item))):
            yield _change(root, item, "edited", one.actor, one.at)


def _change(root: str, item: Item, what: str, actor: Actor | None, at: float | None) -> Change:
    kind, text = KINDS[root], item["text"] if "text" in item else item.get("title", "")
    if root == "slots" and item.get("intent") == NEXT_STEP:
        kind, text = NEXT_STEP, step_words(item)
    if kind == "message":
        text = excerpt(text)
    return Change(
        item["id"], text, item.get("status", "current"), kind, what, actor, at, item.get("severity"), (root, item["id"])
    )


def _is_over(item: Item) -> bool:
    """Whether an entry that is new is gone again: what was done and undone in between is not told."""
    return item.get("status") in ("superseded", "retired", "dropped")


def _party(actor: Actor | None) -> tuple[str | None, ...]:
    return (actor.user, actor.device, actor.agent) if actor is not None else ()


def _is_own(actor: Actor | None, reader: Reader) -> bool:
    if actor is None or actor.agent is not None or (actor.user, actor.device) != (reader.user, reader.device):
        return False
    return actor.device is not None or actor.token == reader.token
