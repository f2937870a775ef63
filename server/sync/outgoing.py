"""What waits for one reader. Owns the queue and its bound: what the backlog lets it hold, and one frame; never more.

Two ways out stand on it: ``transport.SocketTransport`` hands frames to any ASGI server, ``direct.DirectTransport``
writes to the wire. What is long is not held by either, but read off the document as it is sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from crdt_docs.rope import Rope
from server.domain.errors import CLOSE
from server.rooms.fanning import Fanned
from server.sync.backlog import Backlog

MAX_REASON = 120
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


class Outgoing:
    """Messages wait here until they are taken. ``reader`` is told when they pile up and when they are gone."""

    __slots__ = ("reader", "held", "closing", "_backlog", "_frames", "_size", "_paused", "_feeding")

    def __init__(self, backlog: Backlog) -> None:
        self.reader: Reader | None = None
        self.held = 0
        self.closing: tuple[int, str] | None = None
        self._backlog = backlog
        self._frames: deque[bytes | Rope] | None = None
        self._size = 0
        self._paused = False
        self._feeding: Rope | None = None

    def send(self, frame: bytes) -> None:
        """Queue one message."""
        self._queue(frame)

    def feed(self, frame: Rope) -> None:
        """Queue one that is read off as it is sent."""
        self._queue(frame)

    def fan(self, fanned: Fanned) -> None:
        """Queue what others are handed too."""
        for frame in fanned.messages:
            self._queue(frame)

    def _queue(self, frame: bytes | Rope) -> None:
        if self.closing is not None:
            return
        if self._frames is None:
            self._frames = deque()
        self._frames.append(frame)
        self._size += len(frame)
        self._hold(len(frame) if isinstance(frame, bytes) else 0)
        self._wake()
        if self._size > self._backlog.high:
            self.pause()

    def _wake(self) -> None:
        """Something waits, or the end has come."""

    def _take(self) -> bytes | Rope | None:
        """The next one; it counts until it is ``_taken``."""
        if not self._frames:
            self._frames = None  # an empty queue is most of what an idle socket would cost
            return None
        return self._frames.popleft()

    def _taken(self, frame: bytes | Rope) -> None:
        self._size -= len(frame)
        if isinstance(frame, bytes) and self.closing is None:
            self._hold(-len(frame))
        self._progress()

    def _catch_up(self) -> None:
        """Nothing waits any more: the reader may go on."""
        if self._paused and not self._frames and self.reader is not None:
            self._paused = False
            self.reader.resume()

    def _progress(self) -> None:
        if self._paused and self.reader is not None:
            self.reader.progress()

    def pause(self) -> None:
        """Have the reader queue nothing more until all of it is taken."""
        if not self._paused and self.reader is not None:
            self._paused = True
            self.reader.pause()

    @property
    def paused(self) -> bool:
        """Whether the peer is behind."""
        return self._paused

    def _hold(self, size: int) -> None:
        self.held += size
        if size >= 0:
            self._backlog.queues.add(self)
            self._backlog.add(size)
        else:
            self._backlog.drop(-size)

    def drop(self, prefix: bytes) -> None:
        """Forget the queued frames that begin so. One that is half sent can't be called back: it ends the socket."""
        if self._feeding is not None and self._feeding.startswith(prefix):
            self.close(CLOSE["unavailable"], "a document ended while it was being sent")
            return
        frames = self._frames or ()
        kept = deque(frame for frame in frames if not frame.startswith(prefix))
        self._size -= sum(map(len, frames)) - sum(map(len, kept))
        self._hold(_bytes(kept) - _bytes(frames))
        self._frames = kept
        self._wake()

    def close(self, code: int, why: str) -> None:
        """Close, dropping what is queued (I5): whoever may go on gets it again after reconnecting."""
        if self.closing is not None:
            return
        self.closing = (code, _short(why))
        self._forget()
        self._wake()

    def discard(self) -> None:
        """The socket is gone: nothing waits for it any more."""
        self.closing = self.closing or (CLOSE["unavailable"], "")
        self._forget()

    def _forget(self) -> None:
        self._frames = None
        self._hold(-self.held)
        self._backlog.queues.discard(self)


def _bytes(frames: Iterable[bytes | Rope]) -> int:
    return sum(len(frame) for frame in frames if isinstance(frame, bytes))


def _short(why: str) -> str:
    return why.encode()[:MAX_REASON].decode(errors="ignore")
