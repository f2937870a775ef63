"""The y-websocket endpoint: enter, then listen.

Owns the life of one socket. Must never close before it has accepted: a refused upgrade reaches browsers as 1006, and
stock clients retry that for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from starlette.websockets import WebSocket

from crdt_docs.ids import parse_doc_name
from crdt_docs.lib0 import Bytes
from server.domain.errors import CLOSE, CLOSE_TOO_FAST, ClewError, NotFound
from server.doors.origin import family_of
from server.rooms.connection import Connection
from server.sync.direct import DirectTransport
from server.sync.entry import Entry, end
from server.sync.frames import attend
from server.sync.inflow import Inflow
from server.sync.protocol import take_over
from server.sync.transport import SocketTransport

SUBPROTOCOL = "clew.v1"
STEP1 = b"\x00\x00"
"""How a SyncStep1 begins."""


class Speaker:
    """Who hears a socket that carries one document: counts what it says, and passes it on.

    Until it has settled, it is only answered what is there (SyncStep1); whatever else it says waits for that.
    """

    __slots__ = ("_entry", "_connection", "_inflow", "_settled")

    def __init__(self, entry: Entry, connection: Connection) -> None:
        self._entry = entry
        self._connection = connection
        self._inflow = Inflow(entry.turnstile.clock)
        self._settled: asyncio.Event | None = asyncio.Event()

    async def settle(self) -> None:
        """Settle, or be closed."""
        settled = self._settled
        try:
            await self._entry.settle(self._connection)
        except ClewError as error:
            end(self._connection, error)
        finally:
            self._settled = None
            if settled is not None:
                settled.set()

    def hear(self, message: Bytes | None) -> Awaitable[None] | None:
        """Take one frame; what it gives back, the next one waits for."""
        connection = self._connection
        if message is None:
            connection.end(CLOSE["invalid"], "frames are binary here")
            return None
        if (much := self._inflow.hear(message)) is not None:
            self._entry.turnstile.refused["too_fast"] += connection.alive
            connection.end(CLOSE_TOO_FAST, much)
        if self._settled is not None and message[:2] != STEP1:
            return self._hear_later(self._settled, message)
        return connection.receive(message)

    async def _hear_later(self, settled: asyncio.Event, message: Bytes) -> None:
        await settled.wait()
        wait = self._connection.receive(message)
        if wait is not None:
            await wait

    def bid_farewell(self) -> None:
        """The peer took its leave."""
        self._connection.bid_farewell()

    async def leave(self) -> None:
        """The socket is gone."""
        await self._entry.leave(self._connection)


@dataclass(frozen=True, slots=True)
class SyncEndpoint:
    """``/sync/{task_id}`` and ``/sync/{task_id}/margin``."""

    entry: Entry

    async def serve(self, socket: WebSocket) -> None:
        """Serve one socket: to its end, or until it is handed over."""
        offered = socket.scope.get("subprotocols", [])
        await socket.accept(subprotocol=SUBPROTOCOL if SUBPROTOCOL in offered else None)
        taken = take_over(socket, self.entry.backlog)
        if taken is None:
            await self._serve_plainly(socket, offered)
            return
        try:
            speaker = await self._enter(socket, offered, taken.outgoing)
            if speaker is not None:
                async with self.entry.settling:
                    taken.begin(speaker)
                    await speaker.settle()
        except BaseException:
            taken.transport.abort()
            raise

    async def _serve_plainly(self, socket: WebSocket, offered: Sequence[str]) -> None:
        transport = SocketTransport(socket, self.entry.backlog)
        speaker = await self._enter(socket, offered, transport)
        if speaker is None:
            await transport.pump()
            transport.discard()
        else:
            try:
                await speaker.settle()
            except BaseException:
                await speaker.leave()
                raise
            await attend(socket, speaker, transport)

    async def _enter(
        self, socket: WebSocket, offered: Sequence[str], transport: SocketTransport | DirectTransport
    ) -> Speaker | None:
        """Who hears it from here on; None if it was refused, and told so."""
        try:
            connection = await self._admit(socket, offered, transport)
        except ClewError as error:
            await self.entry.turnstile.hold()
            transport.close(error.close, error.reason or error.why)
            return None
        transport.reader = connection
        connection.feed = transport.feed
        connection.fan = transport.fan
        return Speaker(self.entry, connection)

    async def _admit(
        self, socket: WebSocket, offered: Sequence[str], transport: SocketTransport | DirectTransport
    ) -> Connection:
        name = parse_doc_name(socket.path_params["name"])
        if name is None:
            raise NotFound
        principal, _ = await self.entry.doors.of_socket(socket.headers, offered, name.task, family_of(socket))
        transport.known()
        connection = await self.entry.come_in(name, principal, transport)
        if any(protocol.startswith("ticket.") for protocol in offered):
            connection.renew = self.entry.renewal(connection)
        return connection
