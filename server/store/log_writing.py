"""What is written to ``log.db``, statement by statement, within the caller's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from crdt_docs.ids import DocName
from server.domain.log import Claim, DocKey, Snapshot
from server.store import authorship, pieces
from server.store.lines import Line, spans
from server.store.rows import BODY, SPLICE, STATE, aids_checksum, body_checksum, place
from server.store.several import Several
from server.store.vault import Vault

ROWS_AT_ONCE: Final = 64
DROPPED: Final = 512 * 1024
"""Bytes of covered updates that are removed at a time; what is removed is overwritten too."""
Planned = tuple[int, DocKey, int, int, int, int | None, bytes]
"""A row to be: id, doc, seq, n, crc, kid, data."""

_ROWS: Final = Several("INSERT INTO updates (id, doc, seq, n, crc, kid, data) {}", columns=7, most=ROWS_AT_ONCE)
_CLAIMS: Final = Several("INSERT OR REPLACE INTO claims (doc, client, principal, provisional, composed) {}", columns=5)


def insert_rows(connection: sqlite3.Connection, planned: Sequence[Planned]) -> None:
    """Write rows of updates, up to 64 with one statement, which then is a transaction of its own."""
    _ROWS.write(connection, planned)


def some_rows(connection: sqlite3.Connection, ids: Sequence[int]) -> Sequence[int]:
    """The first of these rows, so many as make up ``DROPPED`` bytes; one at least."""
    size = 0
    for number, row in enumerate(ids[:ROWS_AT_ONCE]):
        found = connection.execute("SELECT length(data) FROM updates WHERE id = ?", (row,)).fetchone()
        size += found[0] or 0 if found else 0
        if size > DROPPED:
            return ids[: number + 1]
    return ids[:ROWS_AT_ONCE]


def delete_rows(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Remove rows of updates."""
    for span in spans(ids):
        connection.execute("DELETE FROM updates WHERE id BETWEEN ? AND ?", span)


def insert_document(connection: sqlite3.Connection, line: Line) -> None:
    """Write a document's own row, as the current generation."""
    connection.execute(
        "INSERT INTO documents (id, task, part, generation, current) VALUES (?, ?, ?, ?, 1)",
        (line.key, line.name.task, line.name.part, line.generation),
    )


def set_aside(connection: sqlite3.Connection, doc: DocKey, heir: DocKey, reason: str) -> None:
    """End a generation: its rows stay, its claims and authors go over to the heir.

    The server writes under new ids from here on: a clock that somebody has seen must not come again with other words.
    """
    connection.execute("UPDATE documents SET current = 0, aside = ? WHERE id = ?", (reason, doc))
    connection.execute(
        "INSERT INTO claims SELECT ?, client, principal, provisional, 0 FROM claims WHERE doc = ?", (heir, doc)
    )
    authorship.hand_on(connection, doc, heir)


def insert_claims(connection: sqlite3.Connection, claims: Mapping[tuple[DocKey, int], Claim]) -> None:
    """Write who owns which client id, over what was there."""
    _CLAIMS.write(connection, [(doc, *claim) for (doc, _), claim in claims.items()])


def insert_snapshot(connection: sqlite3.Connection, line: Line, snapshot: Snapshot, vault: Vault) -> None:
    """Write a document's snapshot, sealed, over what was there; its pieces, if it has any, are there already."""
    doc, seq, kid = line.key, snapshot.seq, None
    stored = []
    body = pieces.stands_for(snapshot.pieces) if snapshot.pieces else snapshot.update
    for part, text in ((BODY, body), (STATE, snapshot.state), (SPLICE, snapshot.index)):
        kid, sealed = vault.seal(line.name.task, place(doc, seq, 0, part), text) if text else (kid, b"")
        stored.append(sealed)
    crc = body_checksum(doc, seq, stored[0])
    connection.execute(
        "INSERT OR REPLACE INTO snapshots (doc, seq, crc, aids, kid, body, state, splice)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (doc, seq, crc, aids_checksum(crc, stored[1], stored[2]), kid, *stored),
    )


def find_generations(connection: sqlite3.Connection, name: DocName) -> list[int]:
    """The keys of all generations of a document."""
    found = connection.execute("SELECT id FROM documents WHERE task = ? AND part = ?", name)
    return [key for (key,) in found]


def delete_document(connection: sqlite3.Connection, doc: int) -> None:
    """Remove one generation of a document with all that hangs on it."""
    connection.execute("DELETE FROM updates WHERE doc = ?", (doc,))
    connection.execute("DELETE FROM snapshots WHERE doc = ?", (doc,))
    connection.execute("DELETE FROM pieces WHERE doc = ?", (doc,))
    connection.execute("DELETE FROM claims WHERE doc = ?", (doc,))
    authorship.delete(connection, doc)
    connection.execute("DELETE FROM documents WHERE id = ?", (doc,))
