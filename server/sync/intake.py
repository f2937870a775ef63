"""Messages that have begun and not ended, in all sockets together.

Owns how much of them is held, and how slowly one may come. Must never hold who is almost done back for who is not.
"""

from __future__ import annotations

from typing import Final, Protocol

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
