"""What time does to rooms and their connections: leases that run out, readers that stay parked, whoever heard nothing.

Owns that few are seen to in one turn of the event loop, however many there are and be they in one room.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Final, NamedTuple

from server.domain.errors import CLOSE
from server.rooms.connection import EMPTY_AWARENESS, Connection
from server.rooms.room import Room

LOOKED_AT: Final = 1
SENT: Final = 10
"""What one takes who is only looked at, and one to whom something is sent."""
AT_ONCE: Final = 500
"""What all may take before others run: about a millisecond, the loop's own writing included."""


class Moment(NamedTuple):
    """When it is, by the monotonic clock and in Unix seconds; ``keepalive`` if who heard nothing is sent something."""

    now: float
    wall: float
    keepalive: bool


def sweep(rooms: Iterable[Room], at: Moment, rest: Callable[[Room], None]) -> Generator[None, None, None]:
    """See to all of them, yielding where others may run; ``rest`` is told of each room without connections."""
    taken = 0
    for room in rooms:
        for took in _see_to(room, at, rest):
            taken += took
            if taken >= AT_ONCE:
                taken = 0
                yield


def _see_to(room: Room, at: Moment, rest: Callable[[Room], None]) -> Iterator[int]:
    yield LOOKED_AT
    if room.dead:
        return
    if not room.connections:
        rest(room)
        if room.dead:  # it was let go of
            yield SENT
        return
    spoke = at.keepalive and room.took_spoke()
    for connection in tuple(room.connections):
        yield _see_to_one(room, connection, at, spoke)


def _see_to_one(room: Room, connection: Connection, at: Moment, spoke: bool) -> int:
    """What it took. Others ran in between, so the connection may be gone."""
    if connection.is_over(at.wall):
        return SENT
    if connection.wants_renewal(at.wall, room.limits.renew_before):
        connection.ask_renewal()
        return SENT
    if connection.parked is not None:
        if at.now - connection.parked_since > room.limits.parked:
            connection.end(CLOSE["unavailable"], "slow reader")
            return SENT
    elif at.keepalive:
        heard_nothing, connection.quiet = connection.quiet and not spoke, True
        if heard_nothing:
            connection.transport.send(EMPTY_AWARENESS)
            return SENT
    return LOOKED_AT
