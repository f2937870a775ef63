"""Clew's end of the opening handshake, and the hand-over of the socket once it is shaken.

Owns a thin subclass of uvicorn's protocol, put into the scope's extensions. uvicorn reads the request, runs the
application and answers; what the application then takes over is uvicorn's no more. Everything works without it, on
another ASGI server, by the plain way: a queue and a task for each socket. It logs no headers, since credentials are
among them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, Protocol, cast

from starlette.websockets import WebSocket
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from server.doors.turnstile import Passage, Turnstile
from server.sync.backlog import Backlog
from server.sync.intake import Intake
from server.sync.open_socket import OpenSocket, Surroundings

EXTENSION: Final = "clew.socket"
EARLY: Final = 64 * 1024
"""Bytes from which who talks before the handshake is over is not read."""


class Accepted(Protocol):
    """What shook the hand of a socket."""

    def take_over(self, backlog: Backlog) -> OpenSocket:
        """The accepted socket; the application may return."""
        ...


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's sans-I/O WebSocket protocol, with ``take_over``."""

    scope: Any
    turnstile: Turnstile | None = None
    intake: Intake | None = None
    passage: Passage | None = None
    _around: Surroundings | None = None
    _early = b""
    _plain = False

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.conn.debug = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """As uvicorn does; the place that the handshake had is the socket's now."""
        super().connection_made(transport)
        if self.turnstile is not None:
            self.passage = self.turnstile.arrive(self.client[0] if self.client else None)

    def connection_lost(self, exc: Exception | None) -> None:
        """As uvicorn does."""
        super().connection_lost(exc)
        if self.passage is not None:
            self.passage.leave()

    async def send(self, message: Any) -> None:
        """As uvicorn does; a refusal in place of an upgrade is a handshake too, and no error to be logged."""
        if message["type"] != "websocket.accept":
            self._stay()
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def handle_connect(self, event: Request) -> None:
        """As uvicorn does, and hand this object to the application."""
        super().handle_connect(event)
        if getattr(self, "scope", None) is not None:
            self.scope["extensions"][EXTENSION] = self

    def data_received(self, data: bytes) -> None:
        """As uvicorn does, up to the handshake; what comes then is for who takes over, or receives."""
        if self._plain or not self.handshake_initiated:
            super().data_received(data)
            return
        self._early += data
        if len(self._early) > EARLY and not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()

    async def receive(self) -> Any:
        """As uvicorn does."""
        self._stay()
        return await super().receive()

    def _stay(self) -> None:
        """Who sends or receives here, once it has accepted, does not take over: uvicorn reads on."""
        if self.handshake_complete and not self._plain:
            self._plain = True
            early, self._early = self._early, b""
            if early:
                super().data_received(early)

    def take_over(self, backlog: Backlog) -> OpenSocket:
        """The accepted socket, which is no longer uvicorn's; the application may return."""
        connections = cast(set[Any], self.connections)
        self.stop_keepalive()
        socket = OpenSocket(self.transport, self._surroundings(connections), self.passage, backlog)
        if self.disconnected:
            socket.connection_lost(None)
        else:
            self.transport.set_protocol(socket)
            connections.discard(self)
            connections.add(socket)
            if self.read_paused:
                self.transport.resume_reading()
        early, self._early = self._early, b""
        if early:
            socket.data_received(early)
        self._let_go()
        return socket

    def _surroundings(self, connections: set[Any]) -> Surroundings:
        """Made by the first socket of a server for all of them."""
        around = self._around
        if around is None or around.open is not connections:
            around = Surroundings.under(self.config, connections, self.tasks, self.intake, self.loop)
            type(self)._around = around
        return around

    def _let_go(self) -> None:
        """Hold nothing any more, least of all itself: or a search for garbage would have to find all of it."""
        self.transport, self.passage, self.queue = _Elsewhere(), None, asyncio.Queue()
        self.scope["extensions"].pop(EXTENSION, None)
        self.conn.parser.close()


class _Elsewhere(asyncio.Transport):
    """What uvicorn closes when the application returns, once the socket was taken over."""

    def is_closing(self) -> bool:
        return True

    def close(self) -> None:
        """It is not ours to close."""


def take_over(socket: WebSocket, backlog: Backlog) -> OpenSocket | None:
    """The accepted socket, if the server hands it over; else it is served the plain way."""
    extensions: Mapping[str, Accepted] = socket.scope.get("extensions") or {}
    accepted = extensions.get(EXTENSION)
    return accepted.take_over(backlog) if accepted is not None else None
