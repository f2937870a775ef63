"""What comes in by a socket of any ASGI server, for either wire. Must never look into a frame."""

from __future__ import annotations

import asyncio

from starlette.websockets import WebSocket, WebSocketDisconnect

from server.sync.entry import FAREWELLS
from server.sync.open_socket import Listener
from server.sync.transport import SocketTransport


async def attend(socket: WebSocket, listener: Listener, transport: SocketTransport) -> None:
    """Serve it to its end, both ways."""
    try:
        async with asyncio.TaskGroup() as tasks:
            pump = tasks.create_task(transport.pump())
            try:
                await listen(socket, listener)
            finally:
                pump.cancel()
    finally:
        transport.discard()
        await listener.leave()


async def listen(socket: WebSocket, listener: Listener) -> None:
    """Let its messages be heard in order, until it is gone; what one has to wait for, the next one waits for too."""
    while True:
        try:
            message = await socket.receive()
        except (WebSocketDisconnect, RuntimeError):
            return
        if message["type"] != "websocket.receive":
            if message.get("code") in FAREWELLS:
                listener.bid_farewell()
            return
        wait = listener.hear(message.get("bytes"))
        if wait is not None:
            await wait
