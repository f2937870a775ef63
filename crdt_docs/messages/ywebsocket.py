"""The y-websocket wire: one message a frame, binary.

    00 00 varBytes state vector     SyncStep1                   both ways
    00 01 varBytes update           SyncStep2                   both ways
    00 02 varBytes update           Update                      both ways
    01    varBytes awareness        Awareness                   both ways
    02 00 varString reason          Denied                      server to client
    03                              QueryAwareness              both ways
    64    varUint number            Barrier        (type 100)   both ways
    65    varUint code varString    Refused        (type 101)   server to client
    66    varString ticket          Renew          (type 102)   both ways
    67    varString JSON            Notice         (type 103)   server to client

Stock clients (y-websocket 1.5 to 3.1) print an unknown type to the console and go on. ``decode`` reads what a client
may send, ``decode_reply`` what a server may; both raise Malformed for all else, and for a byte too many.
"""

from __future__ import annotations

from typing import Final

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.lib0 import Reader, varbytes, varstring, varuint
from crdt_docs.messages.vocabulary import (
    LONGEST_OTHER,
    MAX_WHY,
    Awareness,
    Barrier,
    Denied,
    Notice,
    QueryAwareness,
    Refused,
    Renew,
    SyncMessage,
    SyncStep1,
    SyncStep2,
    Update,
    awareness_body,
    peek,
    read_awareness,
    read_sync,
    short,
    sync_body,
)
from crdt_docs.rope import Rope

SYNC: Final = 0
AWARENESS: Final = 1
AUTH: Final = 2
QUERY_AWARENESS: Final = 3
BARRIER: Final = 100
REFUSED: Final = 101
RENEW: Final = 102
NOTICE: Final = 103

MAX_TICKET: Final = 512
"""Bytes of a ticket."""
MAX_NOTICE: Final = 4096
"""Bytes of a notice."""

ClientMessage = SyncMessage | Awareness | QueryAwareness | Barrier | Renew
ServerMessage = ClientMessage | Denied | Refused | Notice
Message = ServerMessage

_SHORT_UPDATE: Final = [bytes((SYNC, 2, size)) for size in range(128)]
"""What stands before an update of so many bytes."""

EMPTY_STEP1: Final = b"\x00\x00\x01\x00"
"""A SyncStep1 of someone who has nothing."""
EMPTY_STEP2: Final = b"\x00\x01\x02\x00\x00"
"""A SyncStep2 that brings nothing: still the answer that makes a client ``synced``."""


def decode(frame: bytes) -> ClientMessage:
    """Read one frame from a client."""
    reader = Reader(frame)
    kind = reader.varuint()
    if kind == SYNC:
        return read_sync(reader)
    if kind == AWARENESS:
        return read_awareness(reader)
    message: ClientMessage
    if kind == QUERY_AWARENESS:
        message = QueryAwareness()
    elif kind == BARRIER:
        message = Barrier(reader.varuint())
    elif kind == RENEW:
        message = Renew(reader.string())
        if len(message.ticket) > MAX_TICKET:
            raise TooLarge(f"ticket over {MAX_TICKET} bytes")
    else:
        raise Malformed(f"unknown message type {kind}")
    reader.finish()
    return message


def keystroke_of(frame: bytes) -> bytes | None:
    """The update of a short Update's frame, which nearly all are; None for any other frame, or one that is amiss."""
    size = len(frame) - 3
    return frame[3:] if 0 < size < 128 and frame[2] == size and frame[:2] == b"\0\2" else None


def decode_long(frame: bytearray) -> ClientMessage:
    """``decode``, of a frame that is given away: an update is what is left of it when its head is cut off."""
    said = peek(Reader(frame), frame)
    if said is None:
        return decode(bytes(frame[:LONGEST_OTHER]))
    head, message = said
    del frame[:head]  # moves nothing: a bytearray's front is let go of
    return message


def decode_reply(frame: bytes) -> ServerMessage:
    """Read one frame from a server."""
    reader = Reader(frame)
    kind = reader.varuint()
    message: ServerMessage
    if kind == AUTH:
        if reader.varuint() != 0:
            raise Malformed("unknown auth message")
        message = Denied(reader.string())
    elif kind == REFUSED:
        message = Refused(reader.varuint(), reader.string())
        if len(message.why) > MAX_WHY:
            raise TooLarge(f"reason over {MAX_WHY} bytes")
    elif kind == NOTICE:
        message = Notice(reader.string())
        if len(message.json) > MAX_NOTICE:
            raise TooLarge(f"notice over {MAX_NOTICE} bytes")
    else:
        return decode(frame)
    reader.finish()
    return message


def encode(message: Message) -> bytes:
    """Write one frame, for either direction."""
    match message:
        case SyncStep1() | SyncStep2() | Update():
            return b"\x00" + sync_body(message)
        case Awareness(states):
            return b"\x01" + awareness_body(states)
        case Denied(reason):
            return b"\x02\x00" + varstring(short(reason))
        case QueryAwareness():
            return b"\x03"
        case Barrier(number):
            return b"\x64" + varuint(number)
        case Refused(code, why):
            return b"\x65" + varuint(code) + varstring(short(why))
        case Renew(ticket):
            return b"\x66" + varstring(ticket)
        case Notice(json):
            return b"\x67" + varstring(json)


def update_frame(update: bytes) -> bytes:
    """An Update's frame, for fan-out and echo alike."""
    if len(update) < 128:
        return _SHORT_UPDATE[len(update)] + update
    return b"\x00\x02" + varbytes(update)


def update_rope(update: Rope) -> Rope:
    """An Update's frame, of an update that is not held."""
    return update.after(b"\x00\x02" + varuint(len(update)))


def step2_rope(update: Rope) -> Rope:
    """A SyncStep2's frame, of an update that is not held."""
    return update.after(b"\x00\x01" + varuint(len(update)))


def step1_frame(state_vector: bytes) -> bytes:
    """A SyncStep1's frame."""
    return b"\x00\x00" + varbytes(state_vector)


def step2_frame(update: bytes) -> bytes:
    """A SyncStep2's frame."""
    return b"\x00\x01" + varbytes(update)
