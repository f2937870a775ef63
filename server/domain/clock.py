"""Time, as something that is handed in. Owns the only reads of the system's clocks; must never sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What tells the time: wall time for people and expiries, monotonic time for spans."""

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never steps backwards."""
        ...


class SystemClock:
    """The machine's own time, but that it never steps backwards: where that does, it goes on from where it was.

    So a lease that was given out before ends when it was to end, not an hour later. A step forwards is followed.
    """

    def __init__(self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self.monotonic = monotonic  # the function itself: it is asked with every keystroke
        self._between = float("-inf")

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        since = self.monotonic()
        between = self._wall() - since
        if between > self._between:
            self._between = between
        return self._between + since


def iso(seconds: float) -> str:
    """RFC 3339 in UTC with milliseconds, the only form in which Clew writes time for others."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
