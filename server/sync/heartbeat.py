"""Pings, by which a peer that is gone without a word is found out. Owns when each socket is asked, and its patience.

All who are to be asked share one timer: they wait equally long, so whoever began to wait first is due first.
"""

from __future__ import annotations

import asyncio
import random
from itertools import islice
from typing import Final, NamedTuple, Protocol

from server.sync.framing import FINAL, PING, frame

PONG_AGAIN: Final = 70.0
"""Seconds more for a pong of who has read something since it was asked."""
AT_ONCE: Final = 64
"""Sockets that are asked in one turn of the event loop."""
GRAIN: Final = 0.25
"""Seconds between two such turns, unless more are due already."""
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


class Pulse:
    """Whom to ask when, of all sockets of a server."""

    def __init__(self, beat: Beat, loop: asyncio.AbstractEventLoop) -> None:
        self.beat = beat
        self.loop = loop
        self._due: dict[Heartbeat, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def wait(self, heartbeat: Heartbeat) -> None:
        """Ask it once its time has come."""
        if self.beat.every:
            self._due[heartbeat] = self.loop.time() + self.beat.every
            self._wind(GRAIN)

    def forget(self, heartbeat: Heartbeat) -> None:
        """It is not to be asked."""
        self._due.pop(heartbeat, None)

    def _wind(self, least: float) -> None:
        if self._timer is None and self._due:
            first = next(iter(self._due.values()))
            self._timer = self.loop.call_later(max(least, first - self.loop.time()), self._turn)

    def _turn(self) -> None:
        self._timer = None
        now = self.loop.time()
        due = [heartbeat for heartbeat, at in islice(self._due.items(), AT_ONCE) if at <= now]
        for heartbeat in due:
            del self._due[heartbeat]
        self._wind(0 if len(due) == AT_ONCE else GRAIN)
        for heartbeat in due:
            heartbeat.ask()


class Heartbeat:
    """Asks now and then, and ends the socket of who does not answer. A timer of its own runs only for a pong."""

    __slots__ = ("_socket", "_pulse", "_timer", "_asked", "_asked_at", "_drained_at")

    def __init__(self, socket: Beating, pulse: Pulse) -> None:
        self._socket = socket
        self._pulse = pulse
        self._asked: bytes | None = None
        self._asked_at = 0.0
        self._drained_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        pulse.wait(self)

    def stop(self) -> None:
        """Ask no more."""
        self._asked = None
        self._pulse.forget(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def ask(self) -> None:
        """Send a ping."""
        if self._socket.ended or self._socket.transport.is_closing():
            return
        self._asked = random.randbytes(4)  # so that no other pong is taken for its answer
        self._asked_at = self._pulse.loop.time()
        self._socket.write(frame(FINAL | PING, self._asked))
        within = self._pulse.beat.within
        if within is None:
            self._pulse.wait(self)
        else:
            self._timer = self._pulse.loop.call_later(within, self.overdue)

    def heard(self, pong: bytes) -> None:
        """A pong came."""
        if self._asked is not None and pong == self._asked:
            self.stop()
            self._pulse.wait(self)

    def drained(self) -> None:
        """The peer has taken what was written to it."""
        self._drained_at = self._pulse.loop.time()

    def overdue(self) -> None:
        """No pong: a slow peer that still reads what lies before the ping has more time, any other has not.

        So has one whom we do not hear ourselves, while its document is loaded or its long frame is looked at.
        """
        self._timer = None
        if self._socket.ended or self._socket.transport.is_closing():
            return
        if self._drained_at > self._asked_at or self._socket.held:
            self._asked_at = self._pulse.loop.time()
            self._timer = self._pulse.loop.call_later(PONG_AGAIN, self.overdue)
            return
        self._socket.end(*LOST)
        self._socket.transport.close()
