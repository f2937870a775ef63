"""One document's place on a socket that carries many: Clew's own frames in Hocuspocus's words, both ways.

Owns the address in front of every frame and the receipts. A client counts its unsynced changes and takes one off for
each SyncStatus, so every Update, and the SyncStep2 of a handshake that the client began, gets exactly one: when all
before it is durable, by way of a barrier of our own. A SyncStep2 that we provoked in between gets none.

What a barrier brings back besides, a Stateless message can ask for, as JSON ``{"clew": "barrier", "n": 1}``: it comes
back once all before it is durable. ``{"clew": "refused", "code": …, "why": …}`` tells what was not admitted, and
``{"clew": "notice", "notice": {…}}`` what concerns the person: providers hand both to their application, or drop them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from crdt_docs.errors import Malformed
from crdt_docs.lib0 import Bytes, varstring
from crdt_docs.messages import Barrier, Notice, Refused, Renew, SyncStep1, SyncStep2, Update
from crdt_docs.messages.hocuspocus import ClientBody, encode
from crdt_docs.messages.vocabulary import Authenticated, Close, Denied, Stateless, SyncStatus, TokenRequest
from crdt_docs.messages.ywebsocket import decode_reply
from crdt_docs.messages.ywebsocket import encode as encode_ours
from crdt_docs.rope import Rope
from crdt_docs.updates.parse import parse
from server.domain.access import may_write
from server.domain.errors import CLOSE
from server.rooms.connection import Connection
from server.rooms.verdict import Admit

SHARED: Final = 3
"""The largest message type that both wires spell alike: sync, awareness and, in Hocuspocus, no auth in between."""
AUTH: Final = 2


class Socket(Protocol):
    """The socket that lanes share."""

    def send(self, frame: bytes) -> None:
        """Queue one frame."""
        ...

    def feed(self, frame: Rope) -> None:
        """Queue one that is long."""
        ...

    def drop(self, prefix: bytes) -> None:
        """Forget the queued frames that begin so."""
        ...

    def close(self, code: int, why: str) -> None:
        """Close it for all."""
        ...


class Lane:
    """The transport of one connection; ``hear`` what its client says."""

    def __init__(self, address: str, socket: Socket) -> None:
        self.address = address
        self.open = True
        self.connection: Connection | None = None
        self._prefix = varstring(address)
        self._socket = socket
        self._numbers = itertools.count(1)
        self._receipts: dict[int, bytes] = {}
        self._counts = False  # whether the client counts its next SyncStep2
        self._readonly: bool | None = None

    # -- to the client

    def send(self, frame: bytes) -> None:
        """Send what the room says, in Hocuspocus's words."""
        if not self.open:
            return
        self._tell_scope()
        if frame[0] <= SHARED and frame[0] != AUTH:
            self._socket.send(self._prefix + frame)
            return
        message = decode_reply(frame)
        match message:
            case Barrier(number):
                self._socket.send(self._receipts.pop(number))
            case Refused(code, why):
                self.say(Stateless(json.dumps({"clew": "refused", "code": code, "why": why})))
            case Renew():
                self.say(TokenRequest())
            case Notice(notice):
                self.say(Stateless(json.dumps({"clew": "notice", "notice": json.loads(notice)})))

    def feed(self, frame: Rope) -> None:
        """Send what both wires spell alike, piece by piece."""
        if self.open:
            self._tell_scope()
            self._socket.feed(frame.after(self._prefix))

    def say(self, body: TokenRequest | Authenticated | Denied | Stateless | Close) -> None:
        """Send one message to this document's provider."""
        self._socket.send(encode(self.address, body))

    def welcome(self, connection: Connection) -> None:
        """The client is in."""
        self.connection = connection
        self._tell_scope()

    def close(self, code: int, why: str) -> None:
        """End this document for the client, for good; the socket stays. What may be tried again ends the socket.

        A provider does not come back to a document by itself, but always with its socket.
        """
        if not self.open:
            return
        self.open = False
        self._socket.drop(self._prefix)
        if not 4400 <= code <= 4499:
            self._socket.close(code, why)
            return
        if code == CLOSE["unauthenticated"]:
            self.say(Denied(why))
        self.say(Close(why))

    def _tell_scope(self) -> None:
        if self.connection is None:
            return
        readonly = not self._writes(self.connection)
        if readonly is not self._readonly:
            self._readonly = readonly
            self.say(Authenticated(readonly))

    # -- from the client

    def hear(self, connection: Connection, body: ClientBody, frame: Bytes) -> Awaitable[None] | None:
        """Take one message of a client that is in. ``frame`` is the whole of it, address and all."""
        said = _after(frame, len(self._prefix))  # from the type on, it is a frame of y-websocket's
        match body:
            case Update():
                wrote = self._writes(connection)
                return in_turn(
                    connection.receive(said),
                    lambda: self._receipt(connection, applied=wrote and self._writes(connection)),
                )
            case SyncStep1():
                return in_turn(connection.receive(said), lambda: self._greeted(connection))
            case SyncStep2(update):
                wrote = self._writes(connection) or self._knows(connection, update)
                return in_turn(connection.receive(said), lambda: self._brought(connection, applied=wrote))
            case Stateless(payload):
                return self._answer(connection, payload)
            case _:
                return connection.receive(said)

    def _greeted(self, connection: Connection) -> None:
        connection.ask_again()
        self._counts = True

    def _brought(self, connection: Connection, *, applied: bool) -> Awaitable[None] | None:
        if not self._counts:
            return None
        self._counts = False
        return self._receipt(connection, applied=applied)

    def _receipt(self, connection: Connection, *, applied: bool) -> Awaitable[None] | None:
        return self._after(connection, encode(self.address, SyncStatus(applied)))

    def _after(self, connection: Connection, frame: bytes) -> Awaitable[None] | None:
        """Send the frame once all that was said so far is durable."""
        number = next(self._numbers)
        self._receipts[number] = frame
        return connection.receive(encode_ours(Barrier(number)))

    def _answer(self, connection: Connection, payload: str) -> Awaitable[None] | None:
        try:
            asked = json.loads(payload)
        except (ValueError, RecursionError):
            return None  # an application's own text; it is relayed to nobody
        if isinstance(asked, dict) and asked.get("clew") == "barrier":
            return self._after(connection, encode(self.address, Stateless(payload)))
        return None

    @staticmethod
    def _writes(connection: Connection) -> bool:
        return may_write(connection.role, connection.room.name.part)

    @staticmethod
    def _knows(connection: Connection, update: bytes) -> bool:
        """Whether a reader's SyncStep2 brings nothing new, so that nothing of it is lost by being ignored."""
        if len(update) > connection.room.limits.inline_frame:
            return False
        try:
            verdict = connection.room.gate.admit(parse(update), connection.principal.key, "step2")
        except Malformed:
            return False
        return isinstance(verdict, Admit) and not verdict.update and not verdict.lacking


def _after(frame: Bytes, at: int) -> Bytes:
    if isinstance(frame, bytes):
        return frame[at:]
    del frame[:at]
    return frame


def in_turn(first: Awaitable[None] | None, then: Callable[[], Awaitable[None] | None]) -> Awaitable[None] | None:
    """Do what follows: now, if there is nothing to wait for."""
    return then() if first is None else _wait(first, then)


async def _wait(first: Awaitable[None], then: Callable[[], Awaitable[None] | None]) -> None:
    await first
    second = then()
    if second is not None:
        await second
