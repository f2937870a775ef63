"""Messages that have begun and not ended, in all sockets together.

Owns how much of them is held, and how slowly one may come. Must never hold who is almost done back for who is not.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from server.domain.errors import CLOSE

BUDGET: Final = 256 * 1024 * 1024
"""Bytes; over it, whoever has sent more than ``SMALL`` of a message waits, but for the one who has sent most."""
SMALL: Final = 1024 * 1024
WITHIN: Final = 60.0
"""Seconds within which a message that has begun must end, or another ``STRIDE`` bytes of it come."""
STRIDE: Final = 64 * 1024


class Source(Protocol):
    """Where a message comes in. ``unfinished`` is how much of it has."""

    unfinished: int

    def hold_back(self) -> None:
        """Read nothing for now."""
        ...

    def go_on(self) -> None:
        """Read on."""
        ...


class Intake:
    """The unfinished messages of a process."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.unfinished = 0
        self._budget = budget
        self._sources: set[Source] = set()
        self._waiting: list[Source] = []

    def note(self, source: Source, size: int) -> None:
        """So much is there of its message now; 0 when it has ended, or its socket is gone."""
        self.unfinished += size - source.unfinished
        source.unfinished = size
        if size:
            self._sources.add(source)
        else:
            self._sources.discard(source)
        if self.unfinished <= self._budget:
            waiting, self._waiting = self._waiting, []
            for one in waiting:
                one.go_on()
        elif size > SMALL and source is not max(self._sources, key=lambda one: one.unfinished):
            self._waiting.append(source)
            source.hold_back()


class Slow(Protocol):
    """The socket by which a message comes."""

    ended: bool

    @property
    def held(self) -> bool:
        """Whether it is us who keep the peer from going on."""
        ...

    def hold_back(self) -> None:
        """Read nothing for now."""
        ...

    def go_on(self) -> None:
        """Read on."""
        ...

    def end(self, code: int, why: str) -> None:
        """Close it."""
        ...


class Unfinished:
    """One socket's message that has begun. It must go on; what we keep it from does not count."""

    __slots__ = ("unfinished", "_socket", "_intake", "_loop", "_begun", "_came", "_clock")

    def __init__(self, socket: Slow, intake: Intake | None, loop: asyncio.AbstractEventLoop) -> None:
        self.unfinished = 0
        self._socket = socket
        self._intake = intake
        self._loop = loop
        self._begun = 0.0
        self._came = 0
        self._clock: asyncio.TimerHandle | None = None

    def note(self, size: int, came: int) -> None:
        """So much of it is here, after so many bytes more; 0 when it has ended."""
        if not self.unfinished or size <= self.unfinished:  # then one has ended since
            self._begun = self._loop.time()
            self._came = 0
        self._came += came
        if self._intake is not None:
            self._intake.note(self, size)
        else:
            self.unfinished = size
        if not size:
            self._stop()
        elif self._clock is None:
            self._clock = self._loop.call_later(WITHIN, self.look_at_the_clock)

    def over(self) -> None:
        """Its socket is gone."""
        self.note(0, 0)

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def look_at_the_clock(self) -> None:
        """End the socket if too little has come since the last look."""
        self._clock = None
        if self._socket.ended:
            return
        left = self._begun + WITHIN - self._loop.time()
        if left <= 0 and self._came < STRIDE and not self._socket.held:
            self._socket.end(CLOSE["unavailable"], "your message did not come to its end")
            return
        if left <= 0:
            self._begun, self._came, left = self._loop.time(), 0, WITHIN
        self._clock = self._loop.call_later(left, self.look_at_the_clock)

    def hold_back(self) -> None:
        """Read nothing for now."""
        self._socket.hold_back()

    def go_on(self) -> None:
        """Read on."""
        self._socket.go_on()
