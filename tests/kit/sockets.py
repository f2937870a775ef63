"""The server's end of a WebSocket, over a wire that a test holds. Owns no rule: the protocol is the real one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, cast

from uvicorn import Config
from uvicorn.server import ServerState

from crdt_docs.lib0 import Bytes
from server.sync.backlog import Backlog
from server.sync.intake import Intake
from server.sync.open_socket import OpenSocket
from server.sync.protocol import SocketProtocol

UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


class Reader:
    """What a connection is told of how its socket is read."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def pause(self) -> None:
        self.said.append("pause")

    def resume(self) -> None:
        self.said.append("resume")

    def progress(self) -> None:
        self.said.append("progress")


class Wire(asyncio.Transport):
    """A TCP connection that takes all it is given, and may be told that it does not."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 1)})
        self.written = bytearray()
        self.closed = False
        self.reading = True
        self.unread = 0

    def write(self, data: Any) -> None:
        self.written += data

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None: ...

    def get_write_buffer_size(self) -> int:
        return self.unread

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


class Ear:
    """Hears a socket: keeps what it heard, and has it wait where it is told to."""

    def __init__(self) -> None:
        self.heard: list[Bytes | None] = []
        self.farewells = 0
        self.left = asyncio.Event()
        self.waits: dict[bytes, Awaitable[None]] = {}

    def hear(self, message: Bytes | None) -> Awaitable[None] | None:
        self.heard.append(message)
        return self.waits.get(bytes(message)) if message is not None else None

    def bid_farewell(self) -> None:
        self.farewells += 1

    async def leave(self) -> None:
        self.left.set()


def protocol_on(wire: Wire, intake: Intake | None = None) -> SocketProtocol:
    """A protocol whose handshake is over."""

    async def app(scope: object, receive: object, send: object) -> None: ...

    protocol = SocketProtocol(Config(cast(Any, app), ws_ping_interval=20, ws_ping_timeout=70), ServerState(), {})
    protocol.intake = intake
    protocol.connection_made(wire)
    protocol.data_received(UPGRADE)
    protocol.conn.send_response(protocol.response)
    protocol.conn.data_to_send()
    protocol.handshake_complete = True
    return protocol


def socket_on(wire: Wire, ear: Ear | None = None, intake: Intake | None = None) -> OpenSocket:
    """A socket that was taken over; what comes in is heard at once."""
    socket = protocol_on(wire, intake).take_over(Backlog())
    socket.begin(ear or Ear())
    return socket
