"""A document's place among the rooms. Owns that it is taken before the first ``await``: no two rooms for one."""

from __future__ import annotations

import asyncio

from server.rooms.room import Room


class Slot:
    """``loaded`` is the room, once it is there; ``users`` keep it from being dropped."""

    __slots__ = ("loaded", "users", "_coming")

    def __init__(self) -> None:
        self.loaded: Room | None = None
        self.users = 0
        self._coming: asyncio.Future[Room] | None = asyncio.get_running_loop().create_future()

    async def room(self) -> Room:
        """The room, which may have to be waited for. Raises what it could not be loaded for."""
        if self._coming is not None:
            return await asyncio.shield(self._coming)
        assert self.loaded is not None
        return self.loaded

    def fill(self, room: Room) -> None:
        """It is loaded."""
        coming, self._coming, self.loaded = self._coming, None, room
        if coming is not None:
            coming.set_result(room)

    def fail(self, error: Exception) -> None:
        """It could not be."""
        if self._coming is not None:
            self._coming.set_exception(error)
            self._coming.exception()  # seen, also when nobody waits any more
