"""The log in memory: ``server.domain.log.UpdateLog`` for simulations and tests, with faults on demand.

Must behave as ``SqliteLog`` does, to the letter: both pass one contract suite. It keeps nothing when the process ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import RLock

from crdt_docs.ids import DocName
from server.domain.log import (
    Actor,
    Append,
    Author,
    Claim,
    CorruptLog,
    Cut,
    DocKey,
    Entry,
    Logged,
    Opened,
    Snapshot,
    Span,
    begins,
)
from server.store.claims import settle


@dataclass
class Kept:
    """One document of one generation. ``rows`` hold what each append brought."""

    key: DocKey
    name: DocName
    generation: int = 1
    head: int = 0
    snapshot: Snapshot | None = None
    rows: list[list[Logged]] = field(default_factory=list)
    claims: dict[int, Claim] = field(default_factory=dict)
    authors: dict[int, list[Author]] = field(default_factory=dict)
    cuts: dict[tuple[int, int, Actor], Cut] = field(default_factory=dict)
    quarantined: str | None = None
    damage: str | None = None
    aside: str | None = None


class MemoryLog:
    """Implements ``UpdateLog``.

    ``fail_next`` makes writes fail, ``spoil`` damages what is stored, ``asides`` shows the generations that are over.
    """

    def __init__(self) -> None:
        self.asides: list[Kept] = []
        self.commits = 0
        self._documents: dict[DocKey, Kept] = {}
        self._current: dict[DocName, Kept] = {}
        self._next = 1
        self._faults: list[BaseException] = []
        self._watchers: tuple[Callable[[DocKey, int], None], ...] = ()
        self._lock = RLock()

    def fail_next(self, error: BaseException, times: int = 1) -> None:
        """Let that many of the coming writes raise this instead; nothing of them is kept."""
        self._faults += [error] * times

    def spoil(self, doc: DocKey, what: str = "spoilt by a test") -> None:
        """Let every further reading of the document raise CorruptLog."""
        self._documents[doc].damage = what

    def open(self, name: DocName) -> Opened:
        """Read a document, making it if need be; raises CorruptLog."""
        with self._lock:
            kept = self._current.get(name)
            if kept is None:
                kept = self._make(name, 1)
            self._check(kept)
            covered = kept.snapshot.seq if kept.snapshot else 0
            tail = tuple(entry for row in kept.rows for entry in row if entry.seq > covered)
            claims = tuple(sorted(kept.claims.values()))
            return Opened(kept.key, kept.generation, kept.head, kept.quarantined, kept.snapshot, tail, claims)

    def exists(self, name: DocName) -> bool:
        """Whether anything was ever logged, or a document made, under that name."""
        return name in self._current

    def append(self, batch: Sequence[Append]) -> list[int | None]:
        """Commit the batch, and answer each append's new head, or None where it was refused."""
        with self._lock:
            self._fail()
            moved: dict[DocKey, int] = {}
            answers: list[int | None] = []
            for append in batch:
                head = self._append(append)
                answers.append(head)
                if head is not None:
                    moved[append.doc] = head
            self.commits += 1
        for watcher in self._watchers:
            for doc, head in moved.items():
                watcher(doc, head)
        return answers

    def tail(self, doc: DocKey, after: int) -> list[Logged]:
        """What was logged after that seq, in order. Empty if nothing was, or if the next one is only in a snapshot."""
        with self._lock:
            kept = self._documents.get(doc)
            if kept is None:
                return []
            self._check(kept)
            found = [entry for row in kept.rows for entry in row if entry.seq > after]
            return found if found and found[0].seq == after + 1 else []

    def replace(self, doc: DocKey, snapshot: Snapshot) -> bool:
        """Store the snapshot and drop the rows that it covers. False if it is older, or the generation is over."""
        with self._lock:
            self._fail()
            kept = self._documents.get(doc)
            if kept is None or (kept.snapshot is not None and snapshot.seq < kept.snapshot.seq):
                return False
            if snapshot.seq > kept.head:
                raise ValueError(f"a snapshot up to {snapshot.seq} of a document whose head is {kept.head}")
            kept.snapshot = snapshot
            kept.rows = [row for row in kept.rows if row[-1].seq > snapshot.seq]
            return True

    def stage(self, doc: DocKey, snapshot: Snapshot) -> list[Callable[[], None]]:
        """Nothing is to be done before ``replace``."""
        return []

    def drop_covered(self, doc: DocKey) -> bool:
        """``replace`` leaves nothing."""
        return False

    def fork(self, name: DocName, snapshot: Snapshot, reason: str) -> Opened:
        """Begin the next generation from a snapshot, at a seq of its own; the old one is kept in ``asides``."""
        with self._lock:
            self._fail()
            old = self._current.get(name)
            heir = self._make(name, old.generation + 1 if old else 1)
            if old is not None:
                heir.claims = {client: claim._replace(composed=False) for client, claim in old.claims.items()}
                heir.authors = {client: list(rows) for client, rows in old.authors.items()}
                heir.cuts = dict(old.cuts)
                old.aside = reason
                self.asides.append(old)
                del self._documents[old.key]
            heir.head = max(old.head + 1 if old else 1, snapshot.seq)
            heir.snapshot = replace(snapshot, seq=heir.head)
            return self.open(name)

    def quarantine(self, doc: DocKey, reason: str | None) -> None:
        """Mark or clear that projections of this document fail."""
        with self._lock:
            self._fail()
            if doc in self._documents:
                self._documents[doc].quarantined = reason

    def delete(self, name: DocName, *more: DocName) -> None:
        """Remove all generations of the documents."""
        with self._lock:
            self._fail()
            for gone in (name, *more):
                kept = self._current.pop(gone, None)
                if kept is not None:
                    del self._documents[kept.key]
            self.asides = [aside for aside in self.asides if aside.name not in (name, *more)]

    def authors(self, doc: DocKey, spans: Sequence[Span]) -> list[list[Author]]:
        """For each span its authors in order of their clocks; the first may have begun before it. None are unknown."""
        with self._lock:
            kept = self._documents.get(doc)
            return [_within(kept.authors.get(span[0], []) if kept else [], *span[1:]) for span in spans]

    def cuts(self, doc: DocKey, after: int) -> list[Cut]:
        """What was deleted from after that seq, in order; of each actor and place the last time."""
        with self._lock:
            kept = self._documents.get(doc)
            found = [cut for cut in kept.cuts.values() if cut.seq > after] if kept else []
            return sorted(found, key=lambda cut: (cut.seq, cut.client, cut.clock))

    def names(self) -> list[tuple[DocName, DocKey, int]]:
        """Every document with its key and generation."""
        with self._lock:
            return [(kept.name, kept.key, kept.generation) for kept in self._current.values()]

    def watch(self, heard: Callable[[DocKey, int], None]) -> Callable[[], None]:
        """Be told, on the appending thread, of each append's document and new head; returns how to stop."""
        self._watchers = (*self._watchers, heard)

        def stop() -> None:
            self._watchers = tuple(watcher for watcher in self._watchers if watcher is not heard)

        return stop

    def _make(self, name: DocName, generation: int) -> Kept:
        kept = Kept(DocKey(self._next), name, generation)
        self._next += 1
        self._documents[kept.key] = self._current[name] = kept
        return kept

    def _append(self, append: Append) -> int | None:
        kept = self._documents.get(append.doc)
        if kept is None or kept.head != append.after:
            return None
        claims = dict(kept.claims)
        for claim in append.claims:
            stands = settle(claims.get(claim.client), claim)
            if stands is None:
                return None
            claims[claim.client] = stands
        kept.claims = claims
        if append.entries:
            first = kept.head + 1
            kept.rows.append(
                [Logged(seq, entry.update, entry.actor, entry.at) for seq, entry in enumerate(append.entries, first)]
            )
            for seq, entry in enumerate(append.entries, first):
                _attribute(kept, seq, entry)
            kept.head += len(append.entries)
        return kept.head

    def _check(self, kept: Kept) -> None:
        if kept.damage:
            raise CorruptLog(f"Document {kept.name}: {kept.damage}.")

    def _fail(self) -> None:
        if self._faults:
            raise self._faults.pop(0)


def _attribute(kept: Kept, seq: int, entry: Entry) -> None:
    for client, clock in entry.begun:
        authors = kept.authors.get(client, [])
        if begins(authors[-1] if authors else None, clock, entry.actor, entry.at):
            earlier = [author for author in authors if author.clock < clock]
            kept.authors[client] = [*earlier, Author(clock, entry.actor, entry.at)]
    for client, clock in entry.cut:
        kept.cuts[client, clock, entry.actor] = Cut(client, clock, seq, entry.actor, entry.at)


def _within(authors: Sequence[Author], first: int, after: int) -> list[Author]:
    start = max((author.clock for author in authors if author.clock <= first), default=0)
    return [author for author in authors if start <= author.clock < after]
