"""When documents are compacted. Owns that it is one at a time, that it pays, and that none is left out.

Must never compact what was hardly written in: a snapshot is rewritten only for a tail that is in proportion to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from server.domain.clock import Clock
from server.domain.errors import Conflict, Unavailable
from server.domain.log import UpdateLog
from server.rooms import compacting, lanes
from server.rooms.compacting import Offload
from server.rooms.room import Room

SHARE: Final = 4
"""At rest a tail is compacted if it is longer than this part of its snapshot, which is rewritten for it."""


class Compactions:
    """The compactions of a registry's rooms, in its task group; ``close`` before that ends."""

    def __init__(
        self, log: UpdateLog, offload: Offload, write: lanes.Lane, clock: Clock, tasks: asyncio.TaskGroup
    ) -> None:
        self._log = log
        self._offload = offload
        self._write = write
        self._clock = clock
        self._tasks = tasks
        self._turn = asyncio.Semaphore(1)
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    def close(self) -> None:
        """Begin no more, and give up what is under way: it may take a minute, and the log holds everything."""
        self._closed = True
        for task in self._running:
            task.cancel()

    async def compact(self, room: Room) -> bool:
        """Compact a room when its turn comes; whether its snapshot is a new one. Raises Unavailable or Conflict."""
        async with self._turn:
            return await compacting.compact(room, self._offload, self._log, self._write)

    def want(self, room: Room) -> None:
        """Compact in the background, unless it is under way or failed a moment ago."""
        idle = room.since_compaction is None and not room.dead
        if idle and not self._closed and self._clock.monotonic() >= room.compact_after:
            room.since_compaction = []
            task = self._tasks.create_task(self._compact_quietly(room), name=f"rooms: compact {room.name}")
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    def loaded(self, room: Room) -> None:
        """A room was loaded: a tail that had to be folded for it need not be folded again."""
        if room.tail_size > room.limits.fold(room.snapshot_size):
            self.want(room)

    def look_round(self, rooms: Iterable[Room]) -> None:
        """Compact one of those where nobody has written for a while, if there is nothing else to compact."""
        if self._running:
            return
        now = self._clock.monotonic()
        resting = (room for room in rooms if _pays(room) and now - room.wrote_at > room.limits.rest)
        if (room := next(resting, None)) is not None:
            self.want(room)

    async def _compact_quietly(self, room: Room) -> None:
        """A failed compaction costs nothing but the time until the next one: the log holds everything."""
        try:
            done = await self.compact(room)
        except (Unavailable, Conflict, OSError):
            done = False
        finally:
            room.since_compaction = None  # also if it was cancelled before it began
        if not done:
            room.compact_after = self._clock.monotonic() + room.limits.compact_retry
        elif room.limits.outgrown(room.tail_size, room.snapshot_size):
            self.want(room)  # so much came in the meantime, and maybe nothing comes any more


def _pays(room: Room) -> bool:
    if room.compact_after and room.wrote_at < room.compact_after:
        return False  # it failed, and nothing was written since that could make a difference
    return room.tail_size > max(room.limits.rest_tail, room.snapshot_size // SHARE)
