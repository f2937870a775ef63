"""What is read of one document from ``log.db``, checked row by row.

Must never answer with bytes that do not match their checksum: it raises CorruptLog, which names the document.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from sys import intern
from typing import Final

from crdt_docs.ids import DocName
from server.domain.access import PrincipalKey
from server.domain.log import Actor, Claim, CorruptLog, DocKey, Logged, Snapshot
from server.store import actors, pieces
from server.store.lines import spans
from server.store.log_file import is_passing
from server.store.rows import BODY, SPLICE, STATE, Framed, Row, aids_checksum, body_checksum, place, unpack
from server.store.vault import Opener, plain

_COLUMNS = "SELECT id, doc, seq, n, crc, kid, CAST(data AS BLOB) FROM updates"
_ROWS = f"{_COLUMNS} WHERE id BETWEEN ? AND ?"
_ROWS_APART = f"{_COLUMNS} WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
APART: Final = 64
"""Ranges of rows that are read by one statement; the rows of so many are held in memory at once."""

_SNAPSHOT = (
    "SELECT seq, crc, aids, kid, CAST(body AS BLOB), CAST(state AS BLOB), CAST(splice AS BLOB)"
    " FROM snapshots WHERE doc = ?"
)


class Gone(Exception):
    """What the heads name is not in the file: a commit that they have not heard of yet, or damage."""


def read_logged(
    connection: sqlite3.Connection, name: DocName, doc: DocKey, ids: Sequence[int], after: int, opened: Opener = plain
) -> list[Logged]:
    """The updates after that seq in those rows, which follow on one another. Raises Gone if a row is not there."""
    found: list[Logged] = []
    known: dict[int, Actor] = {}
    count = end = 0
    for row in _rows(connection, ids):
        framed = _checked(name, row, opened)
        if row.doc != doc or (count and row.seq != end + 1):
            raise CorruptLog(f"Document {name}: another row stands where update {end + 1} should be.")
        count, end = count + 1, row.end
        for seq, (number, at, update) in enumerate(framed, row.seq):
            if seq > after:
                actor = known.get(number)
                if actor is None:
                    actor = known[number] = _read_actor(connection, name, number)
                found.append(Logged(seq, update, actor, at))
    if count != len(ids):
        raise Gone(f"{len(ids) - count} of its rows are missing")
    if found and found[0].seq != after + 1:
        raise CorruptLog(f"Document {name}: its log begins with update {found[0].seq} instead of {after + 1}.")
    return found


def _rows(connection: sqlite3.Connection, ids: Sequence[int]) -> Iterator[Row]:
    ranges = list(spans(ids))
    if 1 < len(ranges) <= APART:
        yield from map(Row._make, connection.execute(_ROWS_APART, (json.dumps(ids),)).fetchall())
        return
    for span in ranges:
        yield from map(Row._make, connection.execute(_ROWS, span))


def read_tail(
    connection: sqlite3.Connection,
    name: DocName,
    doc: DocKey,
    ids: Sequence[int],
    covered: int,
    bounds: tuple[int, int],
    opened: Opener = plain,
) -> tuple[Logged, ...]:
    """All updates after the snapshot, in those rows. Raises Gone if any are not there.

    ``bounds`` are the seq that the snapshot reaches to at least, and the head.
    """
    expected, head = bounds
    if not expected <= covered <= head:
        raise Gone(f"its snapshot reaches to {covered}, where {expected} was expected")
    tail = read_logged(connection, name, doc, ids, covered, opened) if covered < head else []
    if covered + len(tail) != head:
        raise Gone(f"the updates {covered + 1} to {head} are not all there")
    return tuple(tail)


def _checked(name: DocName, row: Row, opened: Opener) -> list[Framed]:
    try:
        return unpack(row, opened)
    except ValueError as error:
        raise CorruptLog(f"Document {name}: row {row.id} at update {row.seq} {error}.") from None


def read_snapshot(
    connection: sqlite3.Connection, name: DocName, doc: DocKey, opened: Opener = plain
) -> Snapshot | None:
    """The document's snapshot, if it has one; without state and index if those are damaged, for they can be rebuilt.

    A long one is in pieces.
    """
    row = connection.execute(_SNAPSHOT, (doc,)).fetchone()
    if row is None:
        return None
    seq, crc, aids, kid, body, state, index = row
    if not isinstance(seq, int) or body is None or body_checksum(doc, seq, body) != crc:
        raise CorruptLog(f"Document {name}: its snapshot up to {seq} does not match its checksum.")
    try:
        update = opened(kid, place(doc, seq, 0, BODY), body)
    except ValueError as error:
        raise CorruptLog(f"Document {name}: its snapshot up to {seq} {error}.") from None
    long: tuple[bytes, ...] = ()
    if pieces.counted(update) is not None:
        try:
            update, long = b"", pieces.read(connection, opened, doc, seq, update)
        except ValueError as error:
            raise CorruptLog(f"Document {name}: its snapshot up to {seq} {error}.") from None
    if state is None or index is None or aids_checksum(crc, state, index) != aids:
        return Snapshot(seq, update, pieces=long)
    aids_of = tuple(
        opened(kid, place(doc, seq, 0, part), stored) if stored else b""
        for part, stored in ((STATE, state), (SPLICE, index))
    )
    return Snapshot(seq, update, aids_of[0], aids_of[1], long)


def read_claims(connection: sqlite3.Connection, doc: DocKey) -> tuple[Claim, ...]:
    """Who owns which client id."""
    found = connection.execute(
        "SELECT client, principal, provisional, composed FROM claims WHERE doc = ? ORDER BY client", (doc,)
    )
    return tuple(Claim(row[0], PrincipalKey(intern(row[1])), bool(row[2]), bool(row[3])) for row in found)


def read_clients(connection: sqlite3.Connection, doc: DocKey) -> list[int] | None:
    """The client ids of which something is said, be it whose they are or who wrote under them.

    None where damage stands in the way: a document can be read without knowing who wrote it.
    """
    asked = "SELECT client FROM claims WHERE doc = ?1 UNION SELECT client FROM authors WHERE doc = ?1"
    try:
        clients = [client for (client,) in connection.execute(asked, (doc,))]
    except sqlite3.DatabaseError as error:
        if is_passing(error):
            raise
        return None
    return clients if all(isinstance(client, int) and client >= 0 for client in clients) else None


def read_claim(connection: sqlite3.Connection, doc: DocKey, client: int) -> Claim | None:
    """Who owns that client id."""
    row = connection.execute(
        "SELECT principal, provisional, composed FROM claims WHERE doc = ? AND client = ?", (doc, client)
    ).fetchone()
    return Claim(client, PrincipalKey(row[0]), bool(row[1]), bool(row[2])) if row else None


def _read_actor(connection: sqlite3.Connection, name: DocName, number: int) -> Actor:
    actor = actors.read(connection, number)
    if actor is None:
        raise CorruptLog(f"Document {name}: actor {number} of its updates is unknown.")
    return actor
