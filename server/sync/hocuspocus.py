"""The Hocuspocus endpoint: one socket, many documents, each with its own credential.

Owns what belongs to the socket: which address is at which stage, how much may be said before an Auth message, and that
all lanes pause and end together. Must never let one document's refusal end the others, nor keep more than a bounded
amount for anybody who has shown no credential.

An address is *waiting* (what comes before its Auth is kept), *joined* (a lane) or *shut* (denied or closed: whatever
comes is dropped, but for another Auth).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from typing import Final

from starlette.websockets import WebSocket

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.ids import DocName, parse_doc_name
from crdt_docs.lib0 import Bytes
from crdt_docs.messages.hocuspocus import FromClient, decode, decode_long
from crdt_docs.messages.vocabulary import Close, Denied, Pong, Token
from server.domain.errors import CLOSE, CLOSE_AUTH_TIMEOUT, CLOSE_TOO_FAST, ClewError, NotFound, Unauthenticated
from server.doors.origin import family_of
from server.rooms.connection import Connection
from server.sync.direct import DirectTransport
from server.sync.entry import Entry, end
from server.sync.frames import attend
from server.sync.inflow import Inflow
from server.sync.lane import Lane
from server.sync.protocol import take_over
from server.sync.transport import SocketTransport

ADDRESSES: Final = 100
"""Documents of one socket."""
WAITING_BYTES: Final = 1024 * 1024
"""What is kept for one socket before Auth; a provider's offline edits come after it, as an answer to us."""
WAITING_FRAMES: Final = 1000
DENIALS: Final = 20
"""Credentials that one socket may try in vain."""
FIRST_AUTH: Final = 60.0
"""Seconds that a socket has to show a first good credential."""


@dataclass(slots=True)
class Waiting:
    """What an address said before its Auth."""

    said: list[tuple[FromClient, Bytes]] = field(default_factory=list)


@dataclass(slots=True)
class Joined:
    """An address whose client is in. ``ticket`` if its lease is a ticket's."""

    lane: Lane
    connection: Connection
    name: DocName
    ticket: bool


class Shut:
    """An address that was denied or closed."""


@dataclass(frozen=True, slots=True)
class HocuspocusEndpoint:
    """``/hocuspocus``; a document's name is ``{task_id}`` or ``{task_id}/margin``."""

    entry: Entry

    async def serve(self, socket: WebSocket) -> None:
        """Serve one socket to its end."""
        await socket.accept()
        taken = take_over(socket, self.entry.backlog)
        if taken is not None:
            taken.begin(self._lanes(socket, taken.outgoing))
            return
        transport = SocketTransport(socket, self.entry.backlog)
        await attend(socket, self._lanes(socket, transport), transport)

    def _lanes(self, socket: WebSocket, transport: SocketTransport | DirectTransport) -> Lanes:
        transport.strange(WAITING_BYTES)
        lanes = transport.reader = Lanes(self.entry, transport, family_of(socket))
        return lanes


class Lanes:
    """The documents of one socket."""

    def __init__(self, entry: Entry, transport: SocketTransport | DirectTransport, family: int | None) -> None:
        self._entry = entry
        self._transport = transport
        self._family = family
        self._stages: dict[str, Waiting | Joined | Shut] = {}
        self._kept_bytes = 0
        self._kept_frames = 0
        self._denials = 0
        self._inflow = Inflow(entry.turnstile.clock)
        self._deadline: asyncio.TimerHandle | None = asyncio.get_running_loop().call_later(FIRST_AUTH, self._too_late)

    def _too_late(self) -> None:
        self._deadline = None
        self._transport.close(CLOSE_AUTH_TIMEOUT, "nobody showed who they are")

    def _in_time(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def hear(self, frame: Bytes | None) -> Awaitable[None] | None:
        """Take one frame. What it has to wait for, the next one waits for too."""
        if frame is None:
            self._transport.close(CLOSE["invalid"], "frames are binary here")
            return None
        try:
            message = decode(frame) if isinstance(frame, bytes) else decode_long(frame)
        except Malformed as error:
            self._transport.close(CLOSE["too_large" if isinstance(error, TooLarge) else "invalid"], str(error))
            return None
        body = None if isinstance(message, Pong) else message.body
        if (much := self._inflow.hear_body(body, len(frame))) is not None:
            self._entry.turnstile.refused["too_fast"] += 1
            self._transport.close(CLOSE_TOO_FAST, much)
            return None
        return None if isinstance(message, Pong) else self._take(message, frame)

    def _take(self, message: FromClient, frame: Bytes) -> Awaitable[None] | None:
        stage = self._stage(message.address)
        match message.body, stage:
            case _, None:
                self._transport.close(CLOSE["too_large"], f"over {ADDRESSES} documents on one socket")
            case Token(token), Joined() if stage.lane.open:
                return self._renew(stage, token)
            case Token(token), _:
                return self._admit(message.address, token)
            case _, Joined():
                return self._pass(stage, message, frame)
            case Close(), Waiting():
                self._forget(message.address)
            case _, Waiting():
                self._keep(stage, message, frame)
        return None

    def _stage(self, address: str) -> Waiting | Joined | Shut | None:
        stage = self._stages.get(address)
        if stage is None and len(self._stages) < ADDRESSES:
            stage = self._stages[address] = Waiting()
        return stage

    def _keep(self, stage: Waiting, message: FromClient, frame: Bytes) -> None:
        self._kept_bytes += len(frame)
        self._kept_frames += 1
        if self._kept_bytes > WAITING_BYTES or self._kept_frames > WAITING_FRAMES:
            self._transport.close(CLOSE["too_large"], "too much was said before an Auth message")
            return
        stage.said.append((message, frame))

    def _forget(self, address: str) -> None:
        stage = self._stages.pop(address, None)
        if isinstance(stage, Waiting):
            self._kept_bytes -= sum(len(frame) for _, frame in stage.said)
            self._kept_frames -= len(stage.said)

    def _pass(self, stage: Joined, message: FromClient, frame: Bytes) -> Awaitable[None] | None:
        if isinstance(message.body, Close):
            self._forget(message.address)
            stage.connection.bid_farewell()
            return self._part(stage)
        return stage.lane.hear(stage.connection, message.body, frame) if stage.lane.open else None

    # -- coming in

    async def _admit(self, address: str, token: str) -> None:
        before = self._stages.get(address)
        said = before.said if isinstance(before, Waiting) else []
        if isinstance(before, Joined):
            await self._part(before)  # it was closed; its session ends before a new one begins
        self._forget(address)
        lane = Lane(address, self._transport)
        try:
            joined = await self._enter(address, token, lane)
        except ClewError as error:
            self._deny(address, lane, error)
            return
        self._stages[address] = joined
        self._in_time()
        self._transport.known()
        if self._transport.paused:
            joined.connection.pause()
        lane.welcome(joined.connection)
        for message, frame in said:
            wait = self._pass(joined, message, frame)
            if wait is not None:
                await wait

    async def _enter(self, address: str, token: str, lane: Lane) -> Joined:
        name = parse_doc_name(address.partition("\0")[0])
        if name is None:
            raise NotFound
        principal = await self._entry.doors.of_secret(token, name.task, self._family)
        connection = await self._entry.enter(name, principal, lane)
        ticket = token.startswith("ticket.")
        if ticket:
            connection.renew = self._entry.renewal(connection)
        connection.feed = lane.feed
        return Joined(lane, connection, name, ticket)

    def _deny(self, address: str, lane: Lane, error: ClewError) -> None:
        self._denials += 1
        if error.code == "unavailable" or self._denials > DENIALS:
            self._transport.close(error.close, error.why)
            return
        self._stages[address] = Shut()
        lane.say(Denied(error.reason or error.why))

    async def _renew(self, stage: Joined, token: str) -> None:
        """Another Auth of who is in: a fresh lease. Whoever it does not fit is out."""
        connection = stage.connection
        if stage.ticket and connection.renew is not None and token.startswith("ticket."):
            await connection.renew(token)
            return
        held = connection.principal
        try:
            fresh = await self._entry.doors.of_secret(token, stage.name.task, self._family)
            if (fresh.key, fresh.device) != (held.key, held.device):
                raise Unauthenticated
        except ClewError as error:
            end(connection, error)
            return
        await self._entry.go_on_as(connection, replace(fresh, session=held.session))

    # -- going

    async def _part(self, stage: Joined) -> None:
        await self._entry.leave(stage.connection)

    def bid_farewell(self) -> None:
        """The socket's peer went on its own accord."""
        for stage in self._stages.values():
            if isinstance(stage, Joined):
                stage.connection.bid_farewell()

    async def leave(self) -> None:
        """The socket is gone."""
        self._in_time()
        stages, self._stages = self._stages, {}
        for stage in stages.values():
            if isinstance(stage, Joined):
                await self._part(stage)

    # -- how the socket's peer reads

    def pause(self) -> None:
        """It is behind: every document waits."""
        for stage in tuple(self._stages.values()):
            if isinstance(stage, Joined):
                stage.connection.pause()

    def progress(self) -> None:
        """It takes what it was handed, be it slowly."""
        for stage in tuple(self._stages.values()):
            if isinstance(stage, Joined):
                stage.connection.progress()

    def resume(self) -> None:
        """It has caught up; the documents go on in turn, until it is behind again."""
        for stage in tuple(self._stages.values()):
            if isinstance(stage, Joined) and not self._transport.paused:
                stage.connection.resume()
