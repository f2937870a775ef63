"""Pings, by which a peer that is gone without a word is found out. Owns the timers of one socket."""

from __future__ import annotations

import asyncio
import random
from typing import Final, NamedTuple, Protocol

from server.sync.framing import FINAL, PING, frame

PONG_AGAIN: Final = 70.0
"""Seconds more for a pong of who has read something since it was asked."""
LOST: Final = (1011, "keepalive ping timeout")


class Beat(NamedTuple):
    """Seconds between pings, and for the pong; None for none."""

    every: float | None
    within: float | None


class Beating(Protocol):
    """The socket."""

    ended: bool
    transport: asyncio.Transport

    @property
    def held(self) -> bool:
        """Whether it is us who read nothing of it."""
        ...

    def write(self, data: bytes) -> None:
        """Hand bytes to the wire."""
        ...

    def end(self, code: int, why: str) -> None:
        """Close it."""
        ...


class Heartbeat:
    """Asks now and then, and ends the socket of who does not answer. One timer: for the next ping, or for its pong."""

    __slots__ = ("_socket", "_beat", "_loop", "_timer", "_asked", "_asked_at", "_drained_at")

    def __init__(self, socket: Beating, beat: Beat, loop: asyncio.AbstractEventLoop) -> None:
        self._socket = socket
        self._beat = beat
        self._loop = loop
        self._asked: bytes | None = None
        self._asked_at = 0.0
        self._drained_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._wait()

    def _wait(self) -> None:
        if self._beat.every:
            self._timer = self._loop.call_later(self._beat.every, self.ask)

    def stop(self) -> None:
        """Ask no more."""
        self._asked = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def ask(self) -> None:
        """Send a ping."""
        self._timer = None
        if self._socket.ended or self._socket.transport.is_closing():
            return
        self._asked = random.randbytes(4)  # so that no other pong is taken for its answer
        self._asked_at = self._loop.time()
        self._socket.write(frame(FINAL | PING, self._asked))
        if self._beat.within is None:
            self._wait()
        else:
            self._timer = self._loop.call_later(self._beat.within, self.overdue)

    def heard(self, pong: bytes) -> None:
        """A pong came."""
        if self._asked is not None and pong == self._asked:
            self.stop()
            self._wait()

    def drained(self) -> None:
        """The peer has taken what was written to it."""
        self._drained_at = self._loop.time()

    def overdue(self) -> None:
        """No pong: a slow peer that still reads what lies before the ping has more time, any other has not.

        So has one whom we do not hear ourselves, while its document is loaded or its long frame is looked at.
        """
        self._timer = None
        if self._socket.ended or self._socket.transport.is_closing():
            return
        if self._drained_at > self._asked_at or self._socket.held:
            self._asked_at = self._loop.time()
            self._timer = self._loop.call_later(PONG_AGAIN, self.overdue)
            return
        self._socket.end(*LOST)
        self._socket.transport.close()
