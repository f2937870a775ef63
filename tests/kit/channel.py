"""In-memory ends of a room's wire, for tests that want to see every frame.

``RecordingTransport`` is a socket that swallows and remembers. ``Peer`` is one with a ``Replica`` behind it: frames
travel at once, or wait in its queues until ``pump`` when ``held``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable
from typing import Any

from pycrdt import Doc, TransactionEvent

from crdt_docs.messages import ywebsocket
from crdt_docs.messages.ywebsocket import ServerMessage
from crdt_docs.replica import Event, Replica
from server.domain.access import Principal, Role
from server.rooms.connection import Connection
from server.rooms.registry import Rooms


class RecordingTransport:
    """``server.rooms.connection.Transport`` that keeps what it is given."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.closed: tuple[int, str] | None = None

    def send(self, frame: bytes) -> None:
        """Keep a frame."""
        self.frames.append(frame)

    def close(self, code: int, why: str) -> None:
        """Keep the first close."""
        self.closed = self.closed or (code, why)

    def take(self) -> list[ServerMessage]:
        """What came since the last call, decoded."""
        frames, self.frames = self.frames, []
        return [ywebsocket.decode_reply(frame) for frame in frames]


class Engine:
    """A pycrdt document as ``crdt_docs.replica.Document``; ``made`` collects what was edited here."""

    def __init__(self, doc: Doc[Any]) -> None:
        self.doc = doc
        self.made: list[bytes] = []
        self._applying = False
        self._subscription = doc.observe(self._observed)

    def state_vector(self) -> bytes:
        """What it has."""
        return self.doc.get_state()

    def diff(self, state_vector: bytes) -> bytes:
        """What somebody at that state vector lacks."""
        return self.doc.get_update(state_vector)

    def apply(self, update: bytes) -> None:
        """Take in an update from elsewhere."""
        self._applying = True
        try:
            self.doc.apply_update(update)
        finally:
            self._applying = False

    def _observed(self, event: TransactionEvent) -> None:
        if not self._applying:
            self.made.append(event.update)


class Peer:
    """A well-behaved client at a room: ``join``, edit ``doc``, ``await pump()``."""

    def __init__(self, client: int, doc: Doc[Any] | None = None) -> None:
        self.doc: Doc[Any] = doc if doc is not None else Doc(client_id=client)
        self.engine = Engine(self.doc)
        self.replica = Replica(self.engine, client)
        self.connection: Connection | None = None
        self.closed: tuple[int, str] | None = None
        self.events: list[Event] = []
        self._up: deque[bytes] = deque()
        self._down: deque[bytes] = deque()

    async def join(self, rooms: Rooms, name: Any, principal: Principal, role: Role = Role.EDITOR) -> None:
        """Connect, and exchange what there is to say."""
        self.closed = None
        self._up.clear()
        self._down.clear()
        self.connection = await rooms.join(name, principal, role, self)
        self._up.extend(self.replica.connect())
        await self.pump()

    def leave(self) -> None:
        """The socket is gone, for both."""
        if self.connection is not None:
            self.connection.leave()
            self.connection = None
            self.replica.disconnect()

    async def pump(self) -> None:
        """Deliver everything both ways until nothing is under way. What the log has not committed yet comes later."""
        while True:
            for update in self.engine.made:
                self._up.extend(self.replica.edit(update))
            self.engine.made.clear()
            if self._up and self.connection is not None:
                waiting: Awaitable[None] | None = self.connection.receive(self._up.popleft())
                if waiting is not None:
                    await waiting
            elif self._down:
                reaction = self.replica.receive(self._down.popleft(), 0.0)
                self._up.extend(reaction.frames)
                self.events.extend(reaction.events)
            else:
                return

    def say(self, frame: bytes) -> None:
        """Put a frame on the way up."""
        self._up.append(frame)

    def send(self, frame: bytes) -> None:
        """The room's side: a frame for this peer."""
        self._down.append(frame)

    def close(self, code: int, why: str) -> None:
        """The room's side: this peer is closed."""
        self.closed = self.closed or (code, why)
        self.connection = None
        self.replica.disconnect()
