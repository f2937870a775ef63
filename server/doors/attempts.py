"""How often somebody may try. Owns the counts, per party and window; must never learn what was tried.

Over the cap nothing is tried any more, the right code neither, so that guessing gains nothing by going on.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from server.domain.clock import Clock
from server.domain.errors import TooOften

_KEPT: Final = 50_000


class Attempts:
    """``most`` tries within ``window`` seconds, counted for each party apart; ``why`` is said over it."""

    def __init__(self, most: int, window: float, clock: Clock, why: str) -> None:
        self._why = why
        self._most = most
        self._window = window
        self._clock = clock
        self._misses: OrderedDict[str, list[float]] = OrderedDict()

    def require(self, *parties: str) -> None:
        """Raise TooOften if one of them has tried too often."""
        for party in parties:
            recent = self._recent(party)
            if len(recent) >= self._most:
                wait = recent[-self._most] + self._window - self._clock.monotonic()
                raise TooOften(wait, self._why)

    def note(self, *parties: str) -> None:
        """Each of them has tried once more."""
        for party in parties:
            self._misses[party] = [*self._recent(party), self._clock.monotonic()]
            self._misses.move_to_end(party)
        while len(self._misses) > _KEPT:
            self._misses.popitem(last=False)

    def _recent(self, party: str) -> list[float]:
        since = self._clock.monotonic() - self._window
        return [at for at in self._misses.get(party, ()) if at > since]
