"""A room's way out through one ASGI socket. Owns the little that may be queued for a reader, and tells it to pause.

Must never hold more than ``HIGH`` bytes plus the frame that went over it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from server.sync.protocol import EXTENSION, SocketProtocol

HIGH: Final = 256 * 1024
MAX_REASON: Final = 120
"""Bytes of a close reason: a control frame holds 125, two of them the code (RFC 6455 section 5.5)."""


class Reader(Protocol):
    """Who is told how the socket's peer reads: a connection, or all that share the socket."""

    def pause(self) -> None:
        """Frames pile up."""
        ...

    def resume(self) -> None:
        """They are gone."""
        ...


class SocketTransport:
    """Frames wait here for the pump. ``reader`` is told when they pile up and when they are gone."""

    def __init__(self, socket: WebSocket) -> None:
        self.reader: Reader | None = None
        self._socket = socket
        self._frames: deque[bytes] = deque()
        self._size = 0
        self._paused = False
        self._closing: tuple[int, str] | None = None
        self._woken = asyncio.Event()

    def send(self, frame: bytes) -> None:
        """Queue one frame."""
        if self._closing is not None:
            return
        self._frames.append(frame)
        self._size += len(frame)
        self._woken.set()
        if self._size > HIGH and not self._paused and self.reader is not None:
            self._paused = True
            self.reader.pause()

    @property
    def paused(self) -> bool:
        """Whether the peer is behind."""
        return self._paused

    def known(self) -> None:
        """Whoever speaks has shown who they are."""
        protocol = self._protocol()
        if protocol is not None and protocol.passage is not None:
            protocol.passage.known()

    def drop(self, prefix: bytes) -> None:
        """Forget the queued frames that begin so."""
        kept = [frame for frame in self._frames if not frame.startswith(prefix)]
        self._size -= sum(map(len, self._frames)) - sum(map(len, kept))
        self._frames = deque(kept)
        self._woken.set()

    def close(self, code: int, why: str) -> None:
        """Close, dropping what is queued (I5): whoever may go on gets it again after reconnecting."""
        if self._closing is not None:
            return
        self._closing = (code, _short(why))
        self._frames.clear()
        protocol = self._protocol()
        if protocol is not None:
            protocol.end(*self._closing)
        self._woken.set()

    def _protocol(self) -> SocketProtocol | None:
        protocol = self._socket.scope.get("extensions", {}).get(EXTENSION)
        return protocol if isinstance(protocol, SocketProtocol) else None

    async def pump(self) -> None:
        """Hand queued frames to the socket until it closes, as fast as its reader takes them."""
        try:
            while self._closing is None:
                await self._flush()
                await self._woken.wait()
                self._woken.clear()
            if self._socket.application_state is WebSocketState.CONNECTED:
                await self._socket.close(*self._closing)
        except (WebSocketDisconnect, RuntimeError):
            return  # gone meanwhile; the reading side tells the room

    async def _flush(self) -> None:
        while self._frames and self._closing is None:
            frame = self._frames.popleft()
            await self._socket.send_bytes(frame)
            protocol = self._protocol()
            if protocol is not None:
                await protocol.writable.wait()  # until then it is only in another buffer
            self._size -= len(frame)
            if self._paused and not self._frames and self.reader is not None:
                self._paused = False
                self.reader.resume()


def _short(why: str) -> str:
    return why.encode()[:MAX_REASON].decode(errors="ignore")
