"""What comes in by a socket, for either wire. Must never look into a frame."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from starlette.websockets import WebSocket, WebSocketDisconnect

from server.sync.entry import FAREWELLS


async def frames(socket: WebSocket, goodbye: Callable[[], None]) -> AsyncIterator[bytes | None]:
    """Its frames in order, None for one of text, until it is gone; ``goodbye`` is called if it took its leave."""
    while True:
        try:
            message = await socket.receive()
        except (WebSocketDisconnect, RuntimeError):
            return
        if message["type"] != "websocket.receive":
            if message.get("code") in FAREWELLS:
                goodbye()
            return
        yield message.get("bytes")
