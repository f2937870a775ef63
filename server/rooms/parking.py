"""Readers that do not read, and what they will lack when they do.

Owns, for one room, which connections are parked and what was deleted since. A state vector tells which structs a reader
lacks, but not which deletions; without this list it would be sent the whole delete set each time it drains, and one
that is larger than its buffer would park it again, for ever. Must never grow without bound.
"""

from __future__ import annotations

from typing import Final

from crdt_docs.updates.parse import Parsed
from crdt_docs.updates.vectors import DeleteSet, StateVector
from server.rooms.connection import Connection

MOST_RANGES: Final = 65_536
"""Delete ranges remembered for those who are parked; past that they get the whole set."""

Deletes = list[tuple[int, list[tuple[int, int]]]]


class Parking:
    """The parked readers of one room."""

    __slots__ = ("_places", "_lately", "_before", "_ranges")

    def __init__(self) -> None:
        self._places: dict[Connection, int] = {}
        self._lately: list[Deletes] = []
        self._before = 0  # how many entries came before the first that is kept
        self._ranges = 0

    def park(self, connection: Connection, have: StateVector, now: float) -> None:
        """Note where a reader stands."""
        connection.parked = have
        connection.parked_since = now
        self._places[connection] = self._before + len(self._lately)

    def released(self, parsed: Parsed) -> None:
        """Something was fanned out that the parked do not get."""
        if not self._places or not parsed.deletes:
            return
        self._lately.append(parsed.deletes)
        self._ranges += sum(len(ranges) for _, ranges in parsed.deletes)
        if self._ranges > MOST_RANGES:
            self._drop()

    def leave(self, connection: Connection) -> DeleteSet | None:
        """A reader goes on, or is gone: what was deleted since it was parked, None if that is not known any more."""
        place = self._places.pop(connection, None)
        since = None
        if place is not None and place >= self._before:
            since = DeleteSet(one for deletes in self._lately[place - self._before :] for one in deletes)
        if not self._places:
            self._drop()
        return since

    def _drop(self) -> None:
        self._before += len(self._lately)
        self._lately.clear()
        self._ranges = 0
