"""What was really committed, kept beside the log, and the invariants that can be checked as it happens.

``Ledger`` stands between rooms and a ``MemoryLog``. It reads updates with the parser, but decides nothing by the code
that it checks: closure, gaps and ownership are counted here anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from crdt_docs.errors import Malformed
from crdt_docs.ids import DocName
from crdt_docs.messages import SyncStep2, Update
from crdt_docs.messages.ywebsocket import ServerMessage
from crdt_docs.updates.parse import GC, SKIP, Id, Parsed, parse
from server.domain.access import PrincipalKey
from server.domain.log import Append, Author, Cut, DocKey, LogFailed, Logged, Opened, Snapshot, Span
from server.store.memory_log import MemoryLog


class Broken(AssertionError):
    """An invariant does not hold."""


class Committed:
    """One document, as its committed updates say."""

    def __init__(self) -> None:
        self.updates: list[bytes] = []
        self.known: set[bytes] = set()
        self.vector: dict[int, int] = {}
        self.owners: dict[int, PrincipalKey] = {}

    def add(self, update: bytes, principal: PrincipalKey, via: str) -> None:
        """Take a committed update; raises Broken by I1 or I4."""
        parsed = parse(update)
        before = dict(self.vector)
        for client, clock, structs, end in parsed.sections:
            if clock != before.get(client, 0):
                raise Broken(f"I1: client {client} is at {before.get(client, 0)}, and {clock} is logged")
            if any(struct.ref == SKIP for struct in structs):
                raise Broken("I1: a Skip is logged")
            self.vector[client] = end
            self._check_owner(client, principal, via)
        for dependency in dependencies(parsed):
            if dependency[1] >= self.vector.get(dependency[0], 0):
                raise Broken(f"I1: {dependency} is not there yet")
        check_order(parsed, before)
        for client, ranges in parsed.deletes:
            if any(clock + length > self.vector.get(client, 0) for clock, length in ranges):
                raise Broken("I1: something unknown is deleted")
        self.updates.append(update)
        self.known.add(update)

    def _check_owner(self, client: int, principal: PrincipalKey, via: str) -> None:
        owner = self.owners.get(client)
        if owner is not None and owner != principal:
            raise Broken(f"I4: {principal} wrote as client {client}, who is {owner}")
        if via != "sync":
            self.owners[client] = principal

    def holds(self, update: bytes) -> bool:
        """Whether all structs of an update are committed."""
        return update in self.known or all(s.end <= self.vector.get(s.client, 0) for s in parse(update).sections)


class Entry(NamedTuple):
    """One committed update: the document, its seq, who and when (virtual seconds)."""

    doc: DocKey
    seq: int
    principal: PrincipalKey
    at: float


class Ledger:
    """``UpdateLog`` over a MemoryLog. Goes on when a server crashes; ``Handle`` is what one server holds of it."""

    def __init__(self, log: MemoryLog, now: Callable[[], float]) -> None:
        self.log = log
        self.now = now
        self.documents: dict[DocKey, Committed] = {}
        self.broken: list[Broken] = []
        self.entries: list[Entry] = []

    def append(self, batch: Sequence[Append]) -> list[int | None]:
        """Commit and keep account; notes in ``broken`` what I1, I2 or I4 forbid."""
        heads = self.log.append(batch)
        for append, head in zip(batch, heads, strict=True):
            if head is not None:
                try:
                    self._keep(append, head)
                except Broken as error:
                    self.broken.append(error)
        return heads

    def _keep(self, append: Append, head: int) -> None:
        document = self.document(append.doc)
        if head != append.after + len(append.entries) or append.after != len(document.updates):
            raise Broken(f"I2: {append.after} + {len(append.entries)} is {head}")
        for entry in append.entries:
            document.add(entry.update, entry.actor.principal, entry.actor.via)
            self.entries.append(Entry(append.doc, len(document.updates), entry.actor.principal, self.now()))

    def document(self, doc: DocKey) -> Committed:
        """What is committed of a document."""
        return self.documents.setdefault(doc, Committed())

    def check_sent(self, doc: DocKey, message: ServerMessage) -> None:
        """I2: nothing leaves the server that is not committed."""
        if isinstance(message, Update | SyncStep2) and not self.document(doc).holds(message.update):
            self.broken.append(Broken(f"I2: sent before it was committed: {message.update.hex()}"))


class Handle:
    """One server's hold on the ledger: dead once the server has crashed."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.dead = False

    def _alive(self) -> MemoryLog:
        if self.dead:
            raise LogFailed("this server has crashed")
        return self._ledger.log

    def open(self, name: DocName) -> Opened:
        return self._alive().open(name)

    def exists(self, name: DocName) -> bool:
        return self._alive().exists(name)

    def append(self, batch: Sequence[Append]) -> list[int | None]:
        self._alive()
        return self._ledger.append(batch)

    def tail(self, doc: DocKey, after: int) -> list[Logged]:
        return self._alive().tail(doc, after)

    def replace(self, doc: DocKey, snapshot: Snapshot) -> bool:
        return self._alive().replace(doc, snapshot)

    def stage(self, doc: DocKey, snapshot: Snapshot) -> Sequence[Callable[[], None]]:
        return self._alive().stage(doc, snapshot)

    def drop_covered(self, doc: DocKey) -> bool:
        return self._alive().drop_covered(doc)

    def fork(self, name: DocName, snapshot: Snapshot, reason: str) -> Opened:
        return self._alive().fork(name, snapshot, reason)

    def quarantine(self, doc: DocKey, reason: str | None) -> None:
        self._alive().quarantine(doc, reason)

    def delete(self, name: DocName, *more: DocName) -> None:
        self._alive().delete(name, *more)

    def authors(self, doc: DocKey, spans: Sequence[Span]) -> list[list[Author]]:
        return self._alive().authors(doc, spans)

    def cuts(self, doc: DocKey, after: int) -> list[Cut]:
        return self._alive().cuts(doc, after)

    def names(self) -> list[tuple[DocName, DocKey, int]]:
        return self._alive().names()

    def watch(self, heard: Callable[[DocKey, int], None]) -> Callable[[], None]:
        return self._ledger.log.watch(lambda doc, head: None if self.dead else heard(doc, head))


def dependencies(parsed: Parsed) -> list[Id]:
    """All ids that an update's structs refer to."""
    found = []
    for section in parsed.sections:
        for struct in section.structs:
            found += [one for one in (struct.origin, struct.right_origin, struct.parent) if isinstance(one, tuple)]
    return found


def check_order(parsed: Parsed, before: dict[int, int]) -> None:
    """Raise Broken unless the structs can be integrated one after the other."""
    have = dict(before)
    waiting = {section.client: list(section.structs) for section in parsed.sections}
    moved = True
    while moved and any(waiting.values()):
        moved = False
        for client, structs in waiting.items():
            while structs and all(
                one[1] < have.get(one[0], 0)
                for one in (structs[0].origin, structs[0].right_origin, structs[0].parent)
                if isinstance(one, tuple)
            ):
                have[client] = structs[0].clock + structs[0].length
                structs.pop(0)
                moved = True
    if any(waiting.values()):
        raise Broken("I1: an update's structs wait for each other")


def can_integrate(update: bytes, vector: dict[int, int]) -> bool:
    """Whether a client at this state vector integrates the whole update now, as yjs decides it."""
    try:
        parsed = parse(update)
    except Malformed as error:
        raise Broken(f"a client was sent what cannot be read: {error}") from error
    have = dict(vector)
    for client, clock, structs, end in parsed.sections:
        if clock > have.get(client, 0) or any(struct.ref == SKIP for struct in structs):
            return False
        have[client] = max(end, have.get(client, 0))
    if any(clock >= have.get(client, 0) for client, clock in dependencies(parsed)):
        return False
    return all(clock + length <= have.get(client, 0) for client, ranges in parsed.deletes for clock, length in ranges)


def deleted_clocks(update: bytes) -> dict[int, list[tuple[int, int]]]:
    """What a document's own encoding says to be deleted, as merged (start, end): its delete set and its GC structs."""
    ranges: dict[int, list[tuple[int, int]]] = {}
    parsed = parse(update)
    for client, deletes in parsed.deletes:
        ranges.setdefault(client, []).extend((clock, clock + length) for clock, length in deletes)
    for section in parsed.sections:
        for struct in section.structs:
            if struct.ref == GC:
                ranges.setdefault(section.client, []).append((struct.clock, struct.clock + struct.length))
    merged: dict[int, list[tuple[int, int]]] = {}
    for client, found in ranges.items():
        out: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if out and start <= out[-1][1]:
                out[-1] = (out[-1][0], max(end, out[-1][1]))
            else:
                out.append((start, end))
        merged[client] = out
    return merged
