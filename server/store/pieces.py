"""A long snapshot's update, in pieces, in ``log.db``. Owns the table and how a snapshot's row says that it has pieces.

A snapshot of tens of megabytes that is written, sealed, read or copied in one go makes everybody wait: for the one
writing connection, or for the interpreter. Each piece is sealed for its place and has its checksum, like a row of
updates, and is committed by itself; the row of the snapshot, which comes last, says how many there are. Pieces that no
row speaks of are nobody's, and go before the next are put in. Must never hand out a snapshot with one missing.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from typing import Final

from crdt_docs.ids import TaskId
from server.domain.log import DocKey
from server.store.rows import BODY, checksum, place
from server.store.vault import Opener, Vault

SCHEMA: Final = """
CREATE TABLE pieces (
  id INTEGER PRIMARY KEY,
  doc INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  number INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  kid INTEGER,
  data BLOB NOT NULL,
  UNIQUE (doc, seq, number)
);
"""
MARK: Final = b"clew:pieces"
"""No document begins so: it would have 99 clients, the first of them with a clock other than 0."""
PIECE: Final = b"piece"
DROPPED: Final = 4
"""Pieces that are dropped at a time: about a megabyte, for what is dropped is overwritten too."""
MARKED: Final = 64
"""Bytes of a snapshot's row that has pieces, at most, sealed as it is: nothing longer needs to be opened."""
_COUNT: Final = struct.Struct("<IQ")
_READ: Final = "SELECT number, crc, kid, CAST(data AS BLOB) FROM pieces WHERE doc = ? AND seq = ? ORDER BY number"
_STANDING: Final = (
    "SELECT seq, kid, CASE WHEN length(body) <= ? THEN CAST(body AS BLOB) END FROM snapshots WHERE doc = ?"
)
_DROP_OTHERS: Final = (
    "DELETE FROM pieces WHERE id IN (SELECT id FROM pieces WHERE doc = ? AND NOT (seq = ? AND number < ?) LIMIT ?)"
)


def stands_for(pieces: Sequence[bytes]) -> bytes:
    """What the snapshot's row holds in their stead."""
    return MARK + _COUNT.pack(len(pieces), sum(map(len, pieces)))


def counted(body: bytes) -> tuple[int, int] | None:
    """How many pieces, and bytes, a snapshot's row stands for; None if it holds the update itself."""
    if not body.startswith(MARK):
        return None
    number, size = _COUNT.unpack(body[len(MARK) :])
    return number, size


def insert(
    connection: sqlite3.Connection, vault: Vault, task: TaskId, doc: DocKey, seq: int, number: int, data: bytes
) -> None:
    """Write one piece, over what was there."""
    kid, sealed = vault.seal(task, place(doc, seq, number, PIECE), data)
    connection.execute(
        "INSERT OR REPLACE INTO pieces (doc, seq, number, crc, kid, data) VALUES (?, ?, ?, ?, ?, ?)",
        (doc, seq, number, checksum(doc, seq, number, sealed), kid, sealed),
    )


def present(connection: sqlite3.Connection, doc: DocKey, seq: int) -> int:
    """How many there are of that snapshot."""
    found = connection.execute("SELECT count(*) FROM pieces WHERE doc = ? AND seq = ?", (doc, seq)).fetchone()
    return int(found[0])


def read(connection: sqlite3.Connection, opened: Opener, doc: DocKey, seq: int, body: bytes) -> tuple[bytes, ...]:
    """All pieces that the row stands for, in order. Raises ValueError with what is wrong."""
    number, size = _COUNT.unpack(body[len(MARK) :])
    found: list[bytes] = []
    for at, crc, kid, data in connection.execute(_READ, (doc, seq)):
        if at != len(found) or data is None or checksum(doc, seq, at, data) != crc:
            raise ValueError(f"has a piece, {len(found)}, that does not match its checksum")
        found.append(opened(kid, place(doc, seq, at, PIECE), data))
    if len(found) != number or sum(map(len, found)) != size:
        raise ValueError(f"has {len(found)} of {number} pieces")
    return tuple(found)


def drop_others(connection: sqlite3.Connection, opened: Opener, doc: DocKey) -> bool:
    """Remove some pieces that the document's row does not stand for; whether there were any.

    They are of older snapshots, or of one that was never finished. None go if the row cannot be opened.
    """
    row = connection.execute(_STANDING, (MARKED, doc)).fetchone() or (0, None, b"")
    seq, kid, body = row
    try:
        number, _ = counted(opened(kid, place(doc, seq, 0, BODY), body) if body else b"") or (0, 0)
    except ValueError:
        return False
    done = connection.execute(_DROP_OTHERS, (doc, seq, number, DROPPED))
    return done.rowcount > 0
