"""The server's end of a WebSocket, over a wire that a test holds. Owns no rule: the protocol is the real one."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn import Config
from uvicorn.server import ServerState

from server.sync.protocol import SocketProtocol

UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


class Wire(asyncio.Transport):
    """A TCP connection that takes all it is given, and may be told that it does not."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 1)})
        self.written = bytearray()
        self.closed = False

    def write(self, data: Any) -> None:
        self.written += data

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


def protocol_on(wire: Wire) -> SocketProtocol:
    """A protocol whose handshake is over; what comes in is taken at once."""

    async def app(scope: object, receive: Any, send: object) -> None:
        while (await receive())["type"] != "websocket.disconnect":
            pass

    protocol = SocketProtocol(Config(cast(Any, app), ws_ping_interval=20, ws_ping_timeout=70), ServerState(), {})
    protocol.connection_made(wire)
    protocol.data_received(UPGRADE)
    protocol.conn.send_response(protocol.response)
    protocol.conn.data_to_send()
    protocol.handshake_complete = True
    return protocol
