"""A log's documents as they lie in the file, damage and all: for `clew verify` and `clew repair`.

Owns reading past what is broken. Must never write, and opens the file read-only, also beside a living server.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from crdt_docs.ids import DocName, TaskId
from server.domain.log import CorruptLog, DocKey, Snapshot
from server.store.lines import spans
from server.store.log_file import FILE_ERRORS, open_for_reading
from server.store.log_reading import read_snapshot
from server.store.rows import Row, unpack

_DOCUMENTS: Final = "SELECT id, task, part, generation, quarantined FROM documents WHERE current = 1 ORDER BY id"
_ASIDES: Final = "SELECT count(*) FROM documents WHERE task = ? AND part = ? AND current = 0"
_AIDS: Final = "SELECT 1 FROM snapshots WHERE doc = ? AND length(state) > 0"
_ROWS: Final = "SELECT id, doc, seq, n, crc, kid, CAST(data AS BLOB) FROM updates WHERE id BETWEEN ? AND ?"


@dataclass
class Examined:
    """One document. ``updates`` are (seq, bytes) of all rows that can be read, ``damage`` is what cannot, in words."""

    name: DocName
    generation: int
    quarantined: str | None
    asides: int
    head: int = 0
    snapshot: Snapshot | None = None
    updates: list[tuple[int, bytes]] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)


def examine(path: Path, only: DocName | None = None) -> Iterator[Examined]:
    """Every document's current generation, or one document, as of one moment. Raises CorruptLog if no table is left."""
    try:
        with closing(open_for_reading(path)) as connection:
            connection.execute("BEGIN")
            rows: dict[int, list[int]] = {}
            for row, doc in connection.execute("SELECT id, doc FROM updates ORDER BY id"):
                rows.setdefault(doc, []).append(row)
            for key, task, part, generation, quarantined in connection.execute(_DOCUMENTS).fetchall():
                name = DocName(TaskId(task), part)
                ids = rows.get(key, [])
                if only in (None, name):
                    (asides,) = connection.execute(_ASIDES, name).fetchone()
                    found = Examined(name, generation, quarantined, asides)
                    _read(connection, DocKey(key), ids, found)
                    yield found
    except FILE_ERRORS as error:
        raise CorruptLog(f"{path.name} cannot be read ({error}).") from error


def check_file(path: Path, limit: int = 5) -> list[str]:
    """What SQLite itself finds wrong with a database file; nothing if it is sound."""
    try:
        with closing(open_for_reading(path)) as connection:
            said = [row[0] for row in connection.execute(f"PRAGMA integrity_check({limit})")]
    except FILE_ERRORS as error:
        return [str(error)]
    return [line for line in said if line != "ok"]


def _read(connection: sqlite3.Connection, doc: DocKey, ids: list[int], into: Examined) -> None:
    try:
        into.snapshot = read_snapshot(connection, into.name, doc)
    except (CorruptLog, *FILE_ERRORS) as error:
        into.damage.append(f"the snapshot cannot be used ({_words(error)})")
    into.head = into.snapshot.seq if into.snapshot else 0
    if into.snapshot and not into.snapshot.state and connection.execute(_AIDS, (doc,)).fetchone():
        into.damage.append(
            "the snapshot's state or index does not match its checksum; the next compaction makes it new"
        )
    end: int | None = None
    for span in spans(ids):
        try:
            found = [Row._make(row) for row in connection.execute(_ROWS, span)]
        except FILE_ERRORS as error:
            into.damage.append(f"rows {span[0]} to {span[1]} cannot be read ({error})")
            continue
        for row in found:
            end = _take(row, end, into)


def _take(row: Row, end: int | None, into: Examined) -> int | None:
    """Add a row; the seq of the last update so far."""
    try:
        entries = unpack(row)
    except ValueError as error:
        into.damage.append(f"row {row.id}, with updates from {row.seq} on, {error}")
        return end
    reached = end if end is not None else into.head
    if row.seq > reached + 1:
        into.damage.append(f"updates {reached + 1} to {row.seq - 1} are missing")
    elif end is not None and row.seq <= end:
        into.damage.append(f"update {row.seq} is there twice")
    into.updates += [(row.seq + at, entry.update) for at, entry in enumerate(entries)]
    into.head = max(into.head, row.end)
    return row.end


def _words(error: BaseException) -> str:
    return str(error).partition(": ")[2].rstrip(".") or str(error)
