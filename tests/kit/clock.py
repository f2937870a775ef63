"""Time that stands still until a test moves it: ``server.domain.clock.Clock``."""

from __future__ import annotations

START = 1_800_000_000.0
"""15 January 2027, 08:00 UTC."""


class FakeClock:
    """Wall and monotonic time, moved together by ``advance``; ``step`` moves the wall clock alone."""

    def __init__(self, now: float = START) -> None:
        self._now = now
        self._monotonic = 1_000.0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += seconds
        self._monotonic += seconds

    def step(self, seconds: float) -> None:
        """Set the wall clock, forwards or back, as an administrator or NTP does."""
        self._now += seconds
