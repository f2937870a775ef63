"""A room's way out through one ASGI socket. Owns the little that may be queued for a reader, and tells it to pause.

Must never hold more than the backlog lets it, plus the frame that went over it. What is long is not held at all, but
read off the document as fast as its reader takes it, in fragments of one message (RFC 6455 section 5.4), between which
pings and a close go through.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final, Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from crdt_docs.rope import Rope
from server.domain.errors import CLOSE
from server.sync.backlog import Backlog
from server.sync.protocol import EXTENSION, SocketProtocol

SLICE: Final = 64 * 1024
"""Bytes of a long frame that are handed over at a time; one that takes nothing for a minute is too slow."""
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

    def progress(self) -> None:
        """Some of them are gone."""
        ...


class SocketTransport:
    """Frames wait here for the pump. ``reader`` is told when they pile up and when they are gone."""

    def __init__(self, socket: WebSocket, backlog: Backlog) -> None:
        self.reader: Reader | None = None
        self.held = 0
        self._backlog = backlog
        self._socket = socket
        self._frames: deque[bytes | Rope] = deque()
        self._feeding: Rope | None = None
        self._size = 0
        self._paused = False
        self._closing: tuple[int, str] | None = None
        self._woken = asyncio.Event()

    def send(self, frame: bytes) -> None:
        """Queue one frame."""
        self._queue(frame)

    def feed(self, frame: Rope) -> None:
        """Queue one that is read off as it is sent."""
        self._queue(frame)

    def _queue(self, frame: bytes | Rope) -> None:
        if self._closing is not None:
            return
        self._frames.append(frame)
        self._size += len(frame)
        self._hold(len(frame) if isinstance(frame, bytes) else 0)
        self._woken.set()
        if self._size > self._backlog.high:
            self.pause()

    def pause(self) -> None:
        """Have the reader queue nothing more until all of it is taken."""
        if not self._paused and self.reader is not None:
            self._paused = True
            self.reader.pause()

    def _hold(self, size: int) -> None:
        self.held += size
        if size >= 0:
            self._backlog.add(size)
        else:
            self._backlog.drop(-size)

    @property
    def paused(self) -> bool:
        """Whether the peer is behind."""
        return self._paused

    def strange(self, size: int) -> None:
        """Whoever speaks may send no longer message than that until they have shown who they are."""
        protocol = self._protocol()
        if protocol is not None:
            protocol.bound(size)

    def known(self) -> None:
        """They have."""
        protocol = self._protocol()
        if protocol is not None:
            protocol.bound(None)
            if protocol.passage is not None:
                protocol.passage.known()

    def drop(self, prefix: bytes) -> None:
        """Forget the queued frames that begin so. One that is half sent can't be called back: it ends the socket."""
        if self._feeding is not None and self._feeding.startswith(prefix):
            self.close(CLOSE["unavailable"], "a document ended while it was being sent")
            return
        kept = [frame for frame in self._frames if not frame.startswith(prefix)]
        self._size -= sum(map(len, self._frames)) - sum(map(len, kept))
        self._hold(_bytes(kept) - _bytes(self._frames))
        self._frames = deque(kept)
        self._woken.set()

    def close(self, code: int, why: str) -> None:
        """Close, dropping what is queued (I5): whoever may go on gets it again after reconnecting."""
        if self._closing is not None:
            return
        self._closing = (code, _short(why))
        self._frames.clear()
        self._hold(-self.held)
        protocol = self._protocol()
        if protocol is not None:
            protocol.end(*self._closing)
        self._woken.set()

    def _protocol(self) -> SocketProtocol | None:
        protocol = self._socket.scope.get("extensions", {}).get(EXTENSION)
        return protocol if isinstance(protocol, SocketProtocol) else None

    async def pump(self) -> None:
        """Hand queued frames to the socket until it closes, as fast as its reader takes them."""
        self._backlog.queues.add(self)
        try:
            while self._closing is None:
                await self._flush()
                await self._woken.wait()
                self._woken.clear()
            if self._socket.application_state is WebSocketState.CONNECTED:
                await self._socket.close(*self._closing)
        except (WebSocketDisconnect, RuntimeError):
            return  # gone meanwhile; the reading side tells the room

    def discard(self) -> None:
        """The socket is gone: nothing waits for it any more."""
        self._closing = self._closing or (CLOSE["unavailable"], "")
        self._frames.clear()
        self._hold(-self.held)
        self._backlog.queues.discard(self)

    async def _flush(self) -> None:
        while self._frames and self._closing is None:
            frame = self._frames.popleft()
            protocol = self._protocol()
            if isinstance(frame, Rope) and protocol is not None:
                await self._feed(frame, protocol)
            else:
                await self._socket.send_bytes(bytes(frame))
            if protocol is not None:
                await protocol.writable.wait()  # until then it is only in another buffer
            self._size -= len(frame)
            if isinstance(frame, bytes) and self._closing is None:
                self._hold(-len(frame))
            self._progress()
            if self._paused and not self._frames and self.reader is not None:
                self._paused = False
                self.reader.resume()

    async def _feed(self, frame: Rope, protocol: SocketProtocol) -> None:
        self._feeding = frame
        done = 0
        for piece in frame.slices(SLICE):
            first, done = done == 0, done + len(piece)
            await protocol.send_part(piece, first=first, last=done == len(frame))
            if self._closing is not None:
                break
            self._progress()
        self._feeding = None

    def _progress(self) -> None:
        if self._paused and self.reader is not None:
            self.reader.progress()


def _bytes(frames: Iterable[bytes | Rope]) -> int:
    return sum(len(frame) for frame in frames if isinstance(frame, bytes))


def _short(why: str) -> str:
    return why.encode()[:MAX_REASON].decode(errors="ignore")
