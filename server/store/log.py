"""The log over SQLite, in a file of its own: ``server.domain.log.UpdateLog``.

Owns ``log.db``, the heads in memory, and the order: a head moves after the commit, never before. Must never retry a
commit that failed, nor hand out bytes that do not match their checksum.

Threads: ``append``, ``replace``, ``fork``, ``quarantine`` and ``delete`` use the one writing connection; they belong on
one thread, and a second one that calls them waits. ``open``, ``tail``, ``exists`` and ``names`` may come from any
thread, do not wait for a commit, and see a document as of one committed head.

After a failed commit the connection is closed for good (an fsync error is final for what it covered), the heads stay
where they were, and the next write opens a new one. One reader stays open all the while: as long as somebody has the
file open, SQLite shows nobody what a failed commit may have left in the write-ahead log, and overwrites it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar

from crdt_docs.ids import DocName
from server.domain.durability import Durability
from server.domain.log import (
    Append,
    Author,
    CorruptLog,
    Cut,
    DocKey,
    LogFailed,
    Logged,
    Opened,
    Snapshot,
    Span,
)
from server.store import actors, pieces
from server.store import log_writing as write
from server.store.authorship import read_authors, read_cuts
from server.store.lines import Line, scan
from server.store.log_file import (
    FILE_ERRORS,
    Debt,
    Readers,
    is_passing,
    open_for_reading,
    open_for_writing,
)
from server.store.log_planning import Plan
from server.store.log_reading import Gone, read_claims, read_clients, read_logged, read_snapshot, read_tail
from server.store.vault import Vault

Read = TypeVar("Read")


class SqliteLog:
    """Implements ``UpdateLog``. Use as ``with SqliteLog(path, durability) as log``."""

    def __init__(self, path: Path, durability: Durability = "full") -> None:
        self._path = path
        self._durability = durability
        self._writing = Lock()
        self._looking = Lock()
        self._connection: sqlite3.Connection | None = None
        self._anchor: sqlite3.Connection | None = None
        self._readers = Readers(path)
        self._actors = actors.Actors()
        self._lines: dict[DocKey, Line] = {}
        self._current: dict[DocName, Line] = {}
        self._next_row = 1
        self._next_key = 1
        self._debt = Debt()
        self._vault = Vault()
        self._watchers: tuple[Callable[[DocKey, int], None], ...] = ()

    def __enter__(self) -> Self:
        """Open or make the file, and find where everything is. Raises CorruptLog, LogFailed."""
        with self._writing:
            try:
                self._vault = Vault.beside(self._path.parent)
                self._connection = self._connect()
                self._anchor = open_for_reading(self._path)
                self._anchor.execute("SELECT count(*) FROM documents").fetchone()
            except FILE_ERRORS as error:
                self._abandon()
                kind = LogFailed if is_passing(error) else CorruptLog
                raise kind(f"log.db cannot be opened ({error}).") from error
            except OSError as error:
                raise LogFailed(f"log.db cannot be opened ({error.strerror}).") from error
        return self

    def __exit__(self, *_: object) -> None:
        with self._writing:
            self._readers.close()
            self._vault.close()
            if self._anchor is not None:
                self._anchor.close()
                self._anchor = None
            self._abandon()

    # Reading

    def open(self, name: DocName) -> Opened:
        """Read a document, making it if need be. Verifies checksums; raises CorruptLog."""
        return self._read(name, lambda: self._open(name))

    def exists(self, name: DocName) -> bool:
        """Whether anything was ever logged, or a document made, under that name."""
        with self._looking:
            return name in self._current

    def tail(self, doc: DocKey, after: int) -> list[Logged]:
        """What was logged after that seq, in order. Empty if nothing was, or if the next one is only in a snapshot."""
        with self._looking:
            line = self._lines.get(doc)
        return self._read(line.name, lambda: self._tail(doc, after)) if line is not None else []

    def authors(self, doc: DocKey, spans: Sequence[Span]) -> list[list[Author]]:
        """For each span its authors in order of their clocks; the first may have begun before it. None are unknown."""
        return self._look_up(doc, lambda connection: read_authors(connection, doc, spans)) or [[] for _ in spans]

    def cuts(self, doc: DocKey, after: int) -> list[Cut]:
        """What was deleted from after that seq, in order; of each actor and place the last time."""
        return self._look_up(doc, lambda connection: read_cuts(connection, doc, after)) or []

    def _look_up(self, doc: DocKey, what: Callable[[sqlite3.Connection], Read]) -> Read | None:
        with self._looking:
            line = self._lines.get(doc)

        def read() -> Read:
            with self._readers.one() as connection:
                return what(connection)

        return self._read(line.name, read) if line is not None else None

    def names(self) -> list[tuple[DocName, DocKey, int]]:
        """Every document with its key and generation."""
        with self._looking:
            return [(line.name, line.key, line.generation) for line in self._current.values()]

    def watch(self, heard: Callable[[DocKey, int], None]) -> Callable[[], None]:
        """Be told, on the writing thread, of each append's document and new head; returns how to stop."""
        self._watchers = (*self._watchers, heard)

        def stop() -> None:
            self._watchers = tuple(watcher for watcher in self._watchers if watcher is not heard)

        return stop

    # Writing

    def append(self, batch: Sequence[Append]) -> list[int | None]:
        """Commit the batch in one transaction, and answer each append's new head.

        None for an append whose ``after`` was not the head, whose generation is over, or that makes a final claim on
        what is finally another's: it wrote nothing, and the rest of the batch is not affected. Raises LogFailed if the
        commit failed.
        """
        with self._committing() as connection:
            plan = Plan(self._lines, self._actors, self._vault, self._next_row)
            for append in batch:
                plan.take(connection, append)
            plan.write(connection)
            self._publish(plan)
        for watcher in self._watchers:
            for doc, head in plan.heads.items():
                watcher(doc, head)
        return plan.answers

    def replace(self, doc: DocKey, snapshot: Snapshot) -> bool:
        """Store the snapshot and drop the rows that it covers, in one transaction. False if it is an older one.

        One in pieces must be staged, leaves rows to ``drop_covered``, replaces none of its own seq. False as well if
        the generation is over. Raises ValueError if it covers what was never logged.
        """
        with self._committing() as connection:
            line = self._lines.get(doc)
            if line is None or snapshot.seq < (line.snapshot or 0):
                return False
            if snapshot.seq > line.head:
                raise ValueError(f"a snapshot up to {snapshot.seq} of a document whose head is {line.head}")
            count, long = line.covered(snapshot.seq), len(snapshot.pieces)
            if long and (snapshot.seq == line.snapshot or pieces.present(connection, doc, snapshot.seq) != long):
                return False
            connection.execute("BEGIN IMMEDIATE")
            if not line.stored:
                write.insert_document(connection, line)
            write.insert_snapshot(connection, line, snapshot, self._vault)
            write.delete_rows(connection, line.ids[:count] if line.ids and not long else ())
            connection.execute("COMMIT")
            with self._looking:
                line.stored = True
                line.snapshot = snapshot.seq
                line.drop(count, later=bool(long))
            return True

    def stage(self, doc: DocKey, snapshot: Snapshot) -> list[Callable[[], None]]:
        """What to do, one after the other, before ``replace`` by a snapshot in pieces. Each is a short commit."""
        return [partial(self._put, doc, snapshot.seq, number, data) for number, data in enumerate(snapshot.pieces)]

    def _put(self, doc: DocKey, seq: int, number: int, data: bytes) -> None:
        with self._committing() as connection:
            if (line := self._lines.get(doc)) is not None and line.snapshot != seq:  # never over those that stand
                pieces.insert(connection, self._vault, line.name.task, doc, seq, number, data)

    def drop_covered(self, doc: DocKey) -> bool:
        """Remove some of what ``replace``, or one cut short, left: a short commit. Whether there may be more."""
        with self._committing() as connection:
            line = self._lines.get(doc)
            if line is None:
                return False
            some = write.some_rows(connection, line.left)
            if not some:
                return pieces.drop_others(connection, self._vault.open, doc)
            connection.execute("BEGIN IMMEDIATE")
            write.delete_rows(connection, some)
            connection.execute("COMMIT")
            with self._looking:
                del line.left[: len(some)]
            return True

    def fork(self, name: DocName, snapshot: Snapshot, reason: str) -> Opened:
        """Begin the next generation from a snapshot; the old one is kept aside, with the reason.

        The fork takes a seq of its own, one past the old head, so that no seq ever names two states: go by what is
        returned, not by ``snapshot.seq``. Claims go over; a quarantine does not.
        """
        with self._committing() as connection:
            old, line = self._current.get(name), self._next_line(name)
            line.generation = old.generation + 1 if old else 1
            line.head = line.snapshot = max(old.head + 1 if old else 1, snapshot.seq)
            connection.execute("BEGIN IMMEDIATE")
            if old is not None:
                if not old.stored:
                    write.insert_document(connection, old)
                write.set_aside(connection, old.key, line.key, reason)
            write.insert_document(connection, line)
            moved = replace(snapshot.whole(), seq=line.head)
            write.insert_snapshot(connection, line, moved, self._vault)
            connection.execute("COMMIT")
            with self._looking:
                line.stored = True
                if old is not None:
                    del self._lines[old.key]
                self._lines[line.key] = self._current[name] = line
        return self.open(name)

    def quarantine(self, doc: DocKey, reason: str | None) -> None:
        """Mark or clear that projections of this document fail. Never stops its syncing."""
        with self._committing() as connection:
            line = self._lines.get(doc)
            if line is None:
                return
            connection.execute("BEGIN IMMEDIATE")
            if not line.stored:
                write.insert_document(connection, line)
            connection.execute("UPDATE documents SET quarantined = ? WHERE id = ?", (reason, doc))
            connection.execute("COMMIT")
            with self._looking:
                line.stored = True
                line.quarantined = reason

    def delete(self, name: DocName, *more: DocName) -> None:
        """Remove all generations of the documents, and leave no bytes of them in the file or its write-ahead log.

        Rewrites the file, for ``secure_delete`` is not enough: it does not reach the copies that stay behind in a page
        when cells move to another. Takes some seconds per GB, during which nothing else is written: name all at once.
        While somebody reads the whole file (a backup), the last bytes stay in the write-ahead log: see ``tidy``.
        """
        names = (name, *more)
        with self._committing() as connection:
            keys = [key for gone in names for key in write.find_generations(connection, gone)]
            if keys:
                self._debt.owe()
                connection.execute("BEGIN IMMEDIATE")
                for key in keys:
                    write.delete_document(connection, key)
                connection.execute("COMMIT")
            with self._looking:
                for gone in names:
                    line = self._current.pop(gone, None)
                    if line is not None:
                        del self._lines[line.key]
            self._debt.pay(connection)

    def amend(self, change: Callable[[sqlite3.Connection], Read]) -> Read:
        """Change, in one transaction, what is known of who wrote, or what was set aside; no bytes are left."""
        with self._committing() as connection:
            self._debt.owe()
            connection.execute("BEGIN IMMEDIATE")
            answer = change(connection)
            connection.execute("COMMIT")
            self._actors.restart(connection)
            self._debt.pay(connection)
        return answer

    def tidy(self) -> bool:
        """Erase what a deletion had to leave; False if a reader still stands in the way. Call it now and then."""
        if self._debt:
            with self._committing() as connection:
                self._debt.pay(connection)
        return not self._debt

    # How

    def _connect(self) -> sqlite3.Connection:
        """A new writing connection, and memory as the file has it: documents that nothing was written of are kept."""
        connection = open_for_writing(self._path, self._durability)
        try:
            self._actors.restart(connection)
            lines, next_row, next_key = scan(connection)
        except BaseException:
            connection.close()
            raise
        with self._looking:
            empty = {key: line for key, line in self._lines.items() if not line.stored and key not in lines}
            self._lines = {**empty, **lines}
            self._current = {line.name: line for line in self._lines.values()}
            self._next_row, self._next_key = next_row, max(self._next_key, next_key)
        return connection

    @contextmanager
    def _committing(self) -> Iterator[sqlite3.Connection]:
        """The writing connection; given up for good if anything fails on it."""
        with self._writing:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                yield self._connection
            except (*FILE_ERRORS, OSError) as error:
                self._abandon()
                raise LogFailed(f"The server cannot store anything at the moment ({error}).") from error
            except BaseException:
                self._abandon()
                raise

    def _abandon(self) -> None:
        connection, self._connection = self._connection, None
        self._actors.forget()
        if connection is not None:
            with suppress(sqlite3.Error):  # it is given up either way
                connection.close()

    def _next_line(self, name: DocName) -> Line:
        with self._looking:
            key = DocKey(self._next_key)
            self._next_key += 1
        return Line(key, name)

    def _publish(self, plan: Plan) -> None:
        self._actors.commit()
        with self._looking:
            self._next_row += len(plan.rows)
            plan.publish()

    def _read(self, name: DocName, what: Callable[[], Read]) -> Read:
        """Read without waiting; and once more between two commits, should one have come in between."""
        for between in (nullcontext(), self._writing):
            with between:
                try:
                    return what()
                except Gone as error:
                    gone = error
                except FILE_ERRORS as error:
                    if is_passing(error):
                        raise LogFailed(f"The log cannot be read at the moment ({error}).") from error
                    raise CorruptLog(f"Document {name}: log.db cannot be read ({error}).") from error
        raise CorruptLog(f"Document {name}: {gone}.")

    def _open(self, name: DocName) -> Opened:
        with self._looking:
            line = self._current.get(name)
            if line is None:
                line = Line(DocKey(self._next_key), name)
                self._next_key += 1
                self._lines[line.key] = self._current[name] = line
            head, expected, ids = line.head, line.snapshot or 0, line.holding(line.snapshot or 0)
        if line.damage:
            raise Gone(line.damage)
        with self._readers.one() as connection:
            snapshot = read_snapshot(connection, name, line.key, self._vault.open)
            covered = snapshot.seq if snapshot else 0
            tail = read_tail(connection, name, line.key, ids, covered, (expected, head), self._vault.open)
            claims, clients = read_claims(connection, line.key), read_clients(connection, line.key)
        if clients is not None:
            with self._looking:
                line.meet(clients, all_there_are=True)
        return Opened(line.key, line.generation, head, line.quarantined, snapshot, tail, claims)

    def _tail(self, doc: DocKey, after: int) -> list[Logged]:
        with self._looking:
            line = self._lines.get(doc)
            ids = line.holding(after) if line is not None else ()
        if line is None or not ids:
            return []
        with self._readers.one() as connection:
            return read_logged(connection, line.name, doc, ids, after, self._vault.open)
