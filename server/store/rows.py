"""How updates lie in a row of the log: one row per document and group, its entries framed, a checksum over all.

Owns the frame's layout. Must never interpret an update's bytes, nor hand out any that do not match their checksum.

A frame is ``actor:u32 at:f64 length:u32`` little-endian, then the update. The checksum is CRC-32 over
``doc:u64 seq:u64 n:u32`` and the frames as they are stored, so that a row moved to another place does not pass either.
What is stored is sealed by the task's key (``vault``), if the folder has keys; the checksum is over what is stored.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple
from zlib import crc32

from server.store.vault import Opener, plain

BODY: Final = b"body"
STATE: Final = b"state"
SPLICE: Final = b"splice"
"""The parts of a snapshot."""
_FRAME: Final = struct.Struct("<IdI")
_PLACE: Final = struct.Struct("<QQI")
frame: Final = _FRAME.pack
"""What stands before an update in a row, of (actor, at, length)."""
_pack_place = _PLACE.pack


class Row(NamedTuple):
    """A row as it is stored: ``n`` updates of one document from ``seq`` on."""

    id: int
    doc: int
    seq: int
    n: int
    crc: int
    kid: int | None
    data: bytes

    @property
    def end(self) -> int:
        """The seq of its last update."""
        return self.seq + self.n - 1


class Framed(NamedTuple):
    """One update in a row, with its actor still as the log's small integer."""

    actor: int
    at: float
    update: bytes


def pack(entries: Iterable[tuple[int, float, bytes]]) -> bytes:
    """Frame entries of (actor, at, update)."""
    return b"".join([part for actor, at, update in entries for part in (frame(actor, at, len(update)), update)])


def place(doc: int, seq: int, n: int, part: bytes = b"") -> bytes:
    """Where something is stored: what its seal is bound to."""
    return _pack_place(doc, seq, n) + part if part else _pack_place(doc, seq, n)


def checksum(doc: int, seq: int, n: int, data: bytes) -> int:
    """The CRC-32 that belongs to a row at this place."""
    return crc32(data, crc32(_pack_place(doc, seq, n)))


def unpack(row: Row, opened: Opener = plain) -> list[Framed]:
    """The row's entries. Raises ValueError with what is wrong, if anything is."""
    _, doc, seq, n, crc, kid, stored = row
    try:
        where = _pack_place(doc, seq, n)
        whole = crc32(stored, crc32(where)) == crc
    except (struct.error, TypeError):  # SQLite keeps any type in any column; damage makes use of that
        whole = False
    if not whole:
        raise ValueError("does not match its checksum")
    data = opened(kid, where, stored)
    found, at, size = [], 0, len(data)
    while at < size:
        if at + _FRAME.size > size:
            raise ValueError("ends inside a frame")
        actor, when, length = _FRAME.unpack_from(data, at)
        at += _FRAME.size + length
        if at > size:
            raise ValueError("ends inside an update")
        found.append(Framed(actor, when, data[at - length : at]))
    if len(found) != n:
        raise ValueError(f"holds {len(found)} updates where {n} were written")
    return found


def body_checksum(doc: int, seq: int, update: bytes) -> int:
    """The CRC-32 of a snapshot's update, with its place."""
    return crc32(update, crc32(_pack_place(doc, seq, 0)))


def aids_checksum(body: int, state: bytes, index: bytes) -> int:
    """The CRC-32 of what a snapshot has besides, bound to the body that it belongs to."""
    return crc32(index, crc32(state, crc32(struct.pack("<IQ", body, len(state)))))
