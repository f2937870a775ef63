"""A room's way out through a socket of any ASGI server. Owns the pump; must never hold what is long for longer than
it is being sent.

It works anywhere, except that a peer which never reads keeps its socket until TCP gives up, and that a long frame is
one piece. The server's own protocol offers ``direct.DirectTransport``, which has neither fault.
"""

from __future__ import annotations

import asyncio

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from server.sync.backlog import Backlog
from server.sync.outgoing import Outgoing


class SocketTransport(Outgoing):
    """Frames wait here for the pump."""

    __slots__ = ("_socket", "_woken")

    def __init__(self, socket: WebSocket, backlog: Backlog) -> None:
        super().__init__(backlog)
        self._socket = socket
        self._woken = asyncio.Event()

    def strange(self, size: int) -> None:
        """Whoever speaks is not known yet; what they send is bounded where it is heard."""

    def known(self) -> None:
        """They have shown who they are."""

    def _wake(self) -> None:
        self._woken.set()

    async def pump(self) -> None:
        """Hand queued frames to the socket until it closes, as fast as its reader takes them."""
        try:
            while self.closing is None:
                await self._flush()
                await self._woken.wait()
                self._woken.clear()
            if self._socket.application_state is WebSocketState.CONNECTED:
                await self._socket.close(*self.closing)
        except (WebSocketDisconnect, RuntimeError):
            return  # gone meanwhile; the reading side tells the room

    async def _flush(self) -> None:
        while self.closing is None and (frame := self._take()) is not None:
            await self._socket.send_bytes(bytes(frame))
            self._taken(frame)
            self._catch_up()
