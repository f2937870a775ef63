"""The words both wires share, and the bytes that both spell alike: sync and awareness bodies.

Owns the values that rooms and clients exchange, and their bounds. Must never look inside an update or a state:
that is the gate's and ``presence``'s work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.lib0 import Reader, varbytes, varstring, varuint

MAX_AWARENESS_BYTES: Final = 64 * 1024
MAX_AWARENESS_STATES: Final = 1024
"""What is read. Stock clients send back what they hear, and drop everybody in one frame when a network stalls, so a
busy room's honest frame holds as many entries as the room has people."""
LONGEST_OTHER: Final = 4 * 1024 * 1024
"""Bytes that no message of a client's has which brings no update, be it of who has a document with a hundred
thousand client ids and as many more; what is longer need not be read to be refused."""
MAX_STATES_SENT: Final = 64
MAX_AWARENESS_SENT: Final = 48 * 1024
"""What is written in one frame: far enough under what is read that a client may send it back whole."""
MAX_WHY: Final = 1024
"""Bytes of a reason."""


@dataclass(frozen=True, slots=True)
class SyncStep1:
    """What the sender has, as an encoded state vector. The answer is a SyncStep2."""

    state_vector: bytes


@dataclass(frozen=True, slots=True)
class SyncStep2:
    """All that the other was missing: one v1 update, with the sender's whole delete set. Sent even when empty."""

    update: bytes


@dataclass(frozen=True, slots=True)
class Update:
    """One v1 update, as it was made."""

    update: bytes


class State(NamedTuple):
    """One client's presence. ``json`` is the text as it came, None for a client that left (``null`` on the wire)."""

    client: int
    clock: int
    json: str | None


@dataclass(frozen=True, slots=True)
class Awareness:
    """Who is here."""

    states: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class QueryAwareness:
    """Asks for all known presence."""


@dataclass(frozen=True, slots=True)
class Denied:
    """Server to client: this document is not for you. Stock y-websocket clients only warn; the close code ends it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Barrier:
    """Client to server, and back once all that came before it on this connection is durable. Type 100."""

    number: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Server to client: something said before the next barrier was not admitted; the connection stays. Type 101."""

    code: int
    why: str


@dataclass(frozen=True, slots=True)
class Renew:
    """Client to server: a new ticket for the lease. Server to client, with ``ticket`` empty: send one. Type 102."""

    ticket: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Server to client: what concerns the person and no document, a JSON object with a ``kind``. Type 103."""

    json: str


@dataclass(frozen=True, slots=True)
class Token:
    """Hocuspocus, client to server: the credential. ``version`` is the provider's own, None before its version 4."""

    token: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """Hocuspocus, server to client: send the credential (again)."""


@dataclass(frozen=True, slots=True)
class Authenticated:
    """Hocuspocus, server to client: welcome, and whether your edits are admitted."""

    readonly: bool


@dataclass(frozen=True, slots=True)
class Stateless:
    """Hocuspocus: a text that is no part of the document."""

    payload: str


@dataclass(frozen=True, slots=True)
class Close:
    """Hocuspocus: this document is left, the socket stays. ``reason`` is the server's; a client gives none."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """Hocuspocus, server to client: one for each Step2 and Update that the client counts."""

    applied: bool


@dataclass(frozen=True, slots=True)
class Ping:
    """Hocuspocus, server to client: are you there? One byte, without an address."""


@dataclass(frozen=True, slots=True)
class Pong:
    """Hocuspocus, client to server: I am. One byte, without an address."""


SyncMessage = SyncStep1 | SyncStep2 | Update


def read_sync(reader: Reader) -> SyncMessage:
    """Read a y-protocols sync body: kind, then one byte array. The reader must end there."""
    kind = reader.varuint()
    body = reader.bytes()
    reader.finish()
    if kind == 2:
        return Update(body)
    if kind == 1:
        return SyncStep2(body)
    if kind == 0:
        return SyncStep1(body)
    raise Malformed(f"unknown sync message {kind}")


def peek(reader: Reader, frame: bytearray) -> tuple[int, Update | SyncStep2] | None:
    """Where the update of a long frame begins, and the message that it is once what lies before is gone.

    The reader stands at the message's type. None for what brings no update.
    """
    if reader.varuint() != 0:
        return None
    kind = reader.varuint()
    if kind not in (1, 2):
        return None
    length = reader.varuint()
    if length != len(frame) - reader.at:
        raise Malformed("byte array cut short" if length > len(frame) - reader.at else "trailing bytes")
    update = cast(bytes, frame)  # the same to whoever only reads, and a copy of megabytes would hold everybody up
    return reader.at, Update(update) if kind == 2 else SyncStep2(update)


def sync_body(message: SyncMessage) -> bytes:
    """Write what ``read_sync`` reads."""
    if isinstance(message, Update):
        return b"\x02" + varbytes(message.update)
    if isinstance(message, SyncStep2):
        return b"\x01" + varbytes(message.update)
    return b"\x00" + varbytes(message.state_vector)


def read_awareness(reader: Reader) -> Awareness:
    """Read an awareness body: a byte array of count, then (client, clock, JSON). The reader must end there.

    Raises TooLarge over MAX_AWARENESS_BYTES or MAX_AWARENESS_STATES. Whether the JSON is any is ``presence``'s to say.
    """
    if len(reader.data) - reader.at > MAX_AWARENESS_BYTES:
        raise TooLarge(f"awareness over {MAX_AWARENESS_BYTES} bytes")
    body = Reader(reader.bytes())
    reader.finish()
    count = body.varuint()
    if count > MAX_AWARENESS_STATES:
        raise TooLarge(f"more than {MAX_AWARENESS_STATES} awareness states")
    states = []
    for _ in range(count):
        client, clock, json = body.varuint(), body.varuint(), body.string()
        states.append(State(client, clock, None if json == "null" else json))
    body.finish()
    return Awareness(tuple(states))


def awareness_body(states: Iterable[State]) -> bytes:
    """Write what ``read_awareness`` reads."""
    out = bytearray()
    count = 0
    for client, clock, json in states:
        out += varuint(client) + varuint(clock) + varstring("null" if json is None else json)
        count += 1
    return varbytes(varuint(count) + bytes(out))


def in_portions(states: Iterable[State]) -> Iterator[tuple[State, ...]]:
    """Split many states so that each portion fits one frame (MAX_STATES_SENT, MAX_AWARENESS_SENT)."""
    portion: list[State] = []
    size = 0
    for state in states:
        cost = 24 + (len(state.json.encode()) if state.json else 4)
        if portion and (len(portion) == MAX_STATES_SENT or size + cost > MAX_AWARENESS_SENT):
            yield tuple(portion)
            portion, size = [], 0
        portion.append(state)
        size += cost
    if portion:
        yield tuple(portion)


def short(why: str) -> str:
    """A reason, cut to MAX_WHY bytes at a character."""
    return why.encode()[:MAX_WHY].decode(errors="ignore")
