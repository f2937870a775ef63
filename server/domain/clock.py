"""Time, as something that is handed in. Owns the only reads of the system's clocks; must never sleep."""

from __future__ import annotations

import time
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
    """The machine's own time."""

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never steps backwards."""
        return time.monotonic()


def iso(seconds: float) -> str:
    """RFC 3339 in UTC with milliseconds, the only form in which Clew writes time for others."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
