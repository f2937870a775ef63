"""The y-websocket endpoint: enter, then pump.

Owns the life of one socket. Must never close before it has accepted: a refused upgrade reaches browsers as 1006, and
stock clients retry that for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.websockets import WebSocket

from crdt_docs.ids import parse_doc_name
from server.domain.errors import CLOSE, CLOSE_TOO_FAST, ClewError, NotFound
from server.doors.origin import family_of
from server.rooms.connection import Connection
from server.sync.entry import Entry
from server.sync.frames import frames
from server.sync.inflow import Inflow
from server.sync.transport import SocketTransport

SUBPROTOCOL = "clew.v1"


@dataclass(frozen=True, slots=True)
class SyncEndpoint:
    """``/sync/{task_id}`` and ``/sync/{task_id}/margin``."""

    entry: Entry

    async def serve(self, socket: WebSocket) -> None:
        """Serve one socket to its end."""
        offered = socket.scope.get("subprotocols", [])
        await socket.accept(subprotocol=SUBPROTOCOL if SUBPROTOCOL in offered else None)
        transport = SocketTransport(socket, self.entry.backlog)
        try:
            connection = await self._enter(socket, offered, transport)
        except ClewError as error:
            await self.entry.turnstile.hold()
            transport.close(error.close, error.reason or error.why)
            await transport.pump()
            transport.discard()
            return
        transport.reader = connection
        connection.feed = transport.feed
        try:
            await self._pass(socket, connection, transport)
        finally:
            transport.discard()
            await self.entry.leave(connection)

    async def _enter(self, socket: WebSocket, offered: Sequence[str], transport: SocketTransport) -> Connection:
        name = parse_doc_name(socket.path_params["name"])
        if name is None:
            raise NotFound
        principal, _ = await self.entry.doors.of_socket(socket.headers, offered, name.task, family_of(socket))
        transport.known()
        connection = await self.entry.enter(name, principal, transport)
        if any(protocol.startswith("ticket.") for protocol in offered):
            connection.renew = self.entry.renewal(connection)
        return connection

    async def _pass(self, socket: WebSocket, connection: Connection, transport: SocketTransport) -> None:
        async with asyncio.TaskGroup() as tasks:
            pump = tasks.create_task(transport.pump())
            try:
                await self._listen(socket, connection)
            finally:
                pump.cancel()

    async def _listen(self, socket: WebSocket, connection: Connection) -> None:
        """Read frames in order; what a frame has to wait for, the next one waits for too."""
        turnstile = self.entry.turnstile
        inflow = Inflow(turnstile.clock)
        async for frame in frames(socket, connection.bid_farewell):
            if frame is None:
                connection.end(CLOSE["invalid"], "frames are binary here")
                continue
            if (much := inflow.hear(frame)) is not None:
                turnstile.refused["too_fast"] += connection.alive
                connection.end(CLOSE_TOO_FAST, much)
            wait = connection.receive(frame)
            if wait is not None:
                await wait
