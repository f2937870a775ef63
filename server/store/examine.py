"""A log's documents as they lie in the file, damage and all: for `clew verify` and `clew repair`.

Owns reading past what is broken. Must never write; opens the file read-only, also beside a living server, and reads
each document in a transaction of its own, so that neither the log's files nor memory grow with what is examined.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from crdt_docs.ids import DocName, TaskId
from server.domain.log import Actor, Claim, CorruptLog, DocKey, Snapshot
from server.store import actors
from server.store.lines import spans
from server.store.log_file import FILE_ERRORS, open_for_reading
from server.store.log_reading import read_claims, read_snapshot
from server.store.rows import Row, unpack
from server.store.vault import Opener, Vault

_DOCUMENTS: Final = "SELECT id FROM documents WHERE current = 1 ORDER BY id"
_DOCUMENT: Final = "SELECT task, part, generation, quarantined FROM documents WHERE id = ? AND current = 1"
_ASIDES: Final = "SELECT count(*) FROM documents WHERE task = ? AND part = ? AND current = 0"
_AIDS: Final = "SELECT 1 FROM snapshots WHERE doc = ? AND length(state) > 0"
_ROWS: Final = "SELECT id, doc, seq, n, crc, kid, CAST(data AS BLOB) FROM updates WHERE id BETWEEN ? AND ?"
_SET_ASIDE: Final = (
    "SELECT task, part, quarantined FROM documents WHERE current = 1 AND quarantined IS NOT NULL ORDER BY id"
)
_TWICE: Final = "SELECT task, part FROM documents WHERE current = 1 GROUP BY task, part HAVING count(*) > 1"
_STRAYS: Final = (
    "SELECT doc, count(*) FROM {table} WHERE doc NOT IN (SELECT id FROM documents) GROUP BY doc ORDER BY doc"
)
_WITH_WORDS: Final = (
    "SELECT task FROM documents WHERE current = 1 AND part = 'main'"
    " AND id IN (SELECT doc FROM updates UNION SELECT doc FROM snapshots)"
)
_HANGING: Final = ("updates", "snapshots", "pieces", "claims", "authors", "cuts")


class Stored(NamedTuple):
    """One update of a document; ``actor`` is None if the log does not know who made it."""

    seq: int
    update: bytes
    actor: Actor | None


@dataclass
class Examined:
    """One document. ``updates`` are those of all rows that can be read, ``damage`` is what cannot, in words."""

    name: DocName
    generation: int
    quarantined: str | None
    asides: int
    head: int = 0
    snapshot: Snapshot | None = None
    updates: list[Stored] = field(default_factory=list)
    claims: tuple[Claim, ...] = ()
    damage: list[str] = field(default_factory=list)


def examine(path: Path, only: DocName | None = None, vault: Vault | None = None) -> Iterator[Examined]:
    """Every document's current generation, or one document's. Raises CorruptLog if no table is left.

    What is written meanwhile is left out: each document is read as far as it was at the beginning, or further. The
    ``vault`` is by the keys that lie beside it, unless one is given.
    """
    with _reading(path) as connection, closing(vault or Vault.beside(path.parent, readonly=True)) as opener:
        places = _places(connection)
        for (key,) in connection.execute(_DOCUMENTS).fetchall():
            connection.execute("BEGIN")
            found = _begin(connection, DocKey(key))
            if found is not None and only in (None, found.name):
                _read(connection, DocKey(key), places.get(key, ()), found, opener.open)
            connection.execute("COMMIT")
            if found is not None and only in (None, found.name):
                yield found


def strays(path: Path) -> list[str]:
    """Rows of documents that are not there, and documents that are there twice, in words. Raises CorruptLog."""
    with _reading(path) as connection:
        connection.execute("BEGIN")
        found = [
            f"{count} rows of {table} are of document {doc}, which is not there"
            for table in _HANGING
            for doc, count in connection.execute(_STRAYS.format(table=table))
        ]
        return found + [f"{DocName(*name)} has several current generations" for name in connection.execute(_TWICE)]


def quarantined(path: Path) -> list[tuple[DocName, str]]:
    """The documents that the engine failed on, and why. Raises CorruptLog."""
    with _reading(path) as connection:
        return [(DocName(TaskId(task), part), why) for task, part, why in connection.execute(_SET_ASIDE)]


def check_file(path: Path, limit: int = 5) -> list[str]:
    """What SQLite itself finds wrong with a database file; nothing if it is sound."""
    try:
        with closing(open_for_reading(path)) as connection:
            said = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({limit})")]
            for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check").fetchmany(limit):
                said.append(f"row {row} of {table} points to a row of {parent} that is not there")
    except FILE_ERRORS as error:
        return [str(error)]
    return [line for line in said if line != "ok"]


def known_tasks(path: Path) -> frozenset[str] | None:
    """The ids of the tasks that the database has; None if it cannot say."""
    try:
        with closing(open_for_reading(path)) as connection:
            return frozenset(row[0] for row in connection.execute("SELECT id FROM tasks"))
    except FILE_ERRORS:
        return None


def tasks_with_words(path: Path) -> frozenset[str]:
    """The ids of the tasks whose main document has anything in it. Raises CorruptLog."""
    with _reading(path) as connection:
        return frozenset(row[0] for row in connection.execute(_WITH_WORDS))


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(open_for_reading(path)) as connection:
            yield connection
    except FILE_ERRORS as error:
        raise CorruptLog(f"{path.name} cannot be read ({error}).") from error


def _places(connection: sqlite3.Connection) -> dict[int, array[int]]:
    """Each document's rows by their ids."""
    places: dict[int, array[int]] = {}
    for row, doc in connection.execute("SELECT id, doc FROM updates ORDER BY id"):
        if doc not in places:
            places[doc] = array("q")
        places[doc].append(row)
    return places


def _begin(connection: sqlite3.Connection, doc: DocKey) -> Examined | None:
    """None for a document that is gone, or forked, by now."""
    row = connection.execute(_DOCUMENT, (doc,)).fetchone()
    if row is None:
        return None
    task, part, generation, quarantined = row
    name = DocName(TaskId(task), part)
    (asides,) = connection.execute(_ASIDES, name).fetchone()
    return Examined(name, generation, quarantined, asides)


def _read(connection: sqlite3.Connection, doc: DocKey, ids: Sequence[int], into: Examined, opened: Opener) -> None:
    try:
        found_snapshot = read_snapshot(connection, into.name, doc, opened)
        into.snapshot = found_snapshot.whole() if found_snapshot is not None else None
    except (CorruptLog, *FILE_ERRORS) as error:
        into.damage.append(f"the snapshot cannot be used ({_words(error)})")
    into.head = into.snapshot.seq if into.snapshot else 0
    if into.snapshot and not into.snapshot.state and connection.execute(_AIDS, (doc,)).fetchone():
        into.damage.append(
            "the snapshot's state or index does not match its checksum; the next compaction makes it new"
        )
    end: int | None = None
    known: dict[int, Actor | None] = {}
    for span in spans(ids):
        try:
            found = [Row._make(row) for row in connection.execute(_ROWS, span)]
        except FILE_ERRORS as error:
            into.damage.append(f"rows {span[0]} to {span[1]} cannot be read ({error})")
            continue
        for row in found:
            end = _take(connection, row, end, into, known, opened)
    try:
        into.claims = read_claims(connection, doc)
    except FILE_ERRORS as error:
        into.damage.append(f"its client ids' owners cannot be read ({error})")


def _take(
    connection: sqlite3.Connection,
    row: Row,
    end: int | None,
    into: Examined,
    known: dict[int, Actor | None],
    opened: Opener,
) -> int | None:
    """Add a row; the seq of the last update so far."""
    try:
        entries = unpack(row, opened)
    except ValueError as error:
        into.damage.append(f"row {row.id}, with updates from {row.seq} on, {error}")
        return end
    reached = end if end is not None else into.head
    if row.seq > reached + 1:
        into.damage.append(f"updates {reached + 1} to {row.seq - 1} are missing")
    elif end is not None and row.seq <= end:
        into.damage.append(f"update {row.seq} is there twice")
    for seq, entry in enumerate(entries, row.seq):
        if entry.actor not in known:
            known[entry.actor] = actors.read(connection, entry.actor)
            if known[entry.actor] is None:
                into.damage.append(f"update {seq} is by actor {entry.actor}, who is unknown")
        into.updates.append(Stored(seq, entry.update, known[entry.actor]))
    into.head = max(into.head, row.end)
    return row.end


def _words(error: BaseException) -> str:
    return str(error).partition(": ")[2].rstrip(".") or str(error)
