"""An asyncio loop whose time jumps to the next timer instead of waiting for it.

So hours of timeouts take milliseconds, and the same seed gives the same run. Nothing on it may wait for a thread or a
socket: there is nothing that could wake it.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Iterator
from contextlib import contextmanager

from kit.clock import START


class Deadlock(AssertionError):
    """Everything waits and no timer is set."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """``loop.time()`` starts at 0 and moves only from timer to timer."""

    def __init__(self) -> None:
        self._virtual_now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        """The virtual time in seconds."""
        return self._virtual_now

    def jump(self, seconds: float) -> None:
        """Let time pass at once."""
        self._virtual_now += seconds


class LoopClock:
    """``server.domain.clock.Clock`` on a loop's time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return START + self._loop.time()

    def monotonic(self) -> float:
        """The loop's time."""
        return self._loop.time()


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Deadlock("everything waits for something that nobody will do")
        if timeout > 0:
            self._loop.jump(timeout)
        return []


@contextmanager
def virtual_loop() -> Iterator[VirtualLoop]:
    """A loop of its own; ``loop.run_until_complete`` on it, as often as you like."""
    loop = VirtualLoop()
    try:
        yield loop
    finally:
        loop.close()
