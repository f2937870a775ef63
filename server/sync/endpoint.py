"""The y-websocket endpoint: authenticate, authorise, join, pump.

Owns the life of one socket. Must never close before it has accepted: a refused upgrade reaches browsers as 1006, and
stock clients retry that for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from starlette.datastructures import Headers
from starlette.websockets import WebSocket, WebSocketDisconnect

from crdt_docs.ids import DocName, TaskId, parse_doc_name
from server.domain.access import Principal, Role
from server.domain.errors import CLOSE, ClewError, NotFound
from server.rooms.connection import Connection
from server.rooms.registry import Rooms
from server.sync.transport import SocketTransport

SUBPROTOCOL = "clew.v1"


class Doors(Protocol):
    """What the endpoint asks: who is this, what may they do, and which session is theirs."""

    async def of_socket(
        self, headers: Headers, subprotocols: Sequence[str], task: TaskId
    ) -> tuple[Principal, str | None]:
        """Who connects; raises Unauthenticated."""
        ...

    async def renew(self, ticket: str, held: Principal) -> Principal:
        """Who goes on, by a new ticket of the same session; raises Unauthenticated."""
        ...


class Authority(Protocol):
    """The role of a principal on a task."""

    async def role(self, principal: Principal, task: TaskId) -> Role:
        """Raises NotFound for who is no member, and for what is not there."""
        ...


class Presences(Protocol):
    """Keeps the sessions of sockets: a stock client's connection is a session of its own."""

    async def arrive(self, principal: Principal, task: TaskId) -> Principal:
        """The principal with a session attached to the task."""
        ...

    async def depart(self, principal: Principal, task: TaskId) -> None:
        """The socket is gone; ends a session that ``arrive`` opened."""
        ...


@dataclass(frozen=True, slots=True)
class SyncEndpoint:
    """``/sync/{task_id}`` and ``/sync/{task_id}/margin``."""

    rooms: Rooms
    doors: Doors
    authority: Authority
    presences: Presences

    async def serve(self, socket: WebSocket) -> None:
        """Serve one socket to its end."""
        offered = socket.scope.get("subprotocols", [])
        await socket.accept(subprotocol=SUBPROTOCOL if SUBPROTOCOL in offered else None)
        transport = SocketTransport(socket)
        try:
            connection, name = await self._enter(socket, offered, transport)
        except ClewError as error:
            transport.close(CLOSE[error.code], error.why)
            await transport.pump()
            return
        transport.connection = connection
        try:
            await self._pass(socket, connection, transport)
        finally:
            connection.leave()
            await self.presences.depart(connection.principal, name.task)

    async def _enter(
        self, socket: WebSocket, offered: Sequence[str], transport: SocketTransport
    ) -> tuple[Connection, DocName]:
        name = parse_doc_name(socket.path_params["name"])
        if name is None:
            raise NotFound
        principal, _ = await self.doors.of_socket(socket.headers, offered, name.task)
        role = await self.authority.role(principal, name.task)
        principal = await self.presences.arrive(principal, name.task)
        try:
            connection = await self._join(name, principal, role, transport)
        except ClewError:
            await self.presences.depart(principal, name.task)
            raise
        if any(protocol.startswith("ticket.") for protocol in offered):
            connection.renew = self._renewal(connection)
        return connection, name

    async def _join(self, name: DocName, principal: Principal, role: Role, transport: SocketTransport) -> Connection:
        connection = await self.rooms.join(name, principal, role, transport)
        try:
            connection.role = await self.authority.role(principal, name.task)  # it may have changed on the way here
        except ClewError:
            connection.leave()
            raise
        return connection

    def _renewal(self, connection: Connection) -> Callable[[str], Awaitable[None]]:
        async def renew(ticket: str) -> None:
            try:
                renewed = await self.doors.renew(ticket, connection.principal)
            except ClewError as error:
                connection.end(CLOSE[error.code], error.why)
                return
            connection.expires_at = renewed.expires_at
            connection.renewal_asked = False

        return renew

    async def _pass(self, socket: WebSocket, connection: Connection, transport: SocketTransport) -> None:
        async with asyncio.TaskGroup() as tasks:
            pump = tasks.create_task(transport.pump())
            try:
                await _listen(socket, connection)
            finally:
                pump.cancel()


async def _listen(socket: WebSocket, connection: Connection) -> None:
    """Read frames in order; what a frame has to wait for, the next one waits for too."""
    while True:
        try:
            message = await socket.receive()
        except (WebSocketDisconnect, RuntimeError):
            return
        if message["type"] != "websocket.receive":
            return
        frame = message.get("bytes")
        if frame is None:
            connection.end(CLOSE["invalid"], "frames are binary here")
            continue
        wait = connection.receive(frame)
        if wait is not None:
            await wait
