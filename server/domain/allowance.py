"""How much may come at once, and how fast it may go on. Owns one token bucket; must never wait or refuse."""

from __future__ import annotations

from server.domain.clock import Clock


class Allowance:
    """``burst`` at once, ``rate`` a second from then on; all of the burst may be ``spent_since`` a moment already.

    The clock is asked only when all is spent, so that what is counted on every frame costs one subtraction. What came
    in since then is granted in one piece, up to ``burst``: over any stretch it is at most twice a textbook bucket's.
    """

    __slots__ = ("_burst", "_rate", "_clock", "_left", "_since")

    def __init__(self, burst: float, rate: float, clock: Clock, *, spent_since: float | None = None) -> None:
        self._burst = burst
        self._rate = rate
        self._clock = clock
        self._left = burst if spent_since is None else 0
        self._since = clock.monotonic() if spent_since is None else spent_since

    def spend(self, amount: float = 1) -> bool:
        """Whether there is so much; then it is spent."""
        if self._left < amount:
            now = self._clock.monotonic()
            self._left = min(self._burst, self._left + (now - self._since) * self._rate)
            self._since = now
            if self._left < amount:
                return False
        self._left -= amount
        return True
