"""A document's place among the rooms. Owns that it is taken before the first ``await``: no two rooms for one."""

from __future__ import annotations

import asyncio

from server.rooms.room import Room


class Slot:
    """``room`` is done when it is loaded, or could not be; ``users`` keep it from being dropped."""

    def __init__(self) -> None:
        self.room: asyncio.Future[Room] = asyncio.get_running_loop().create_future()
        self.users = 0

    @property
    def loaded(self) -> Room | None:
        """The room, if it is there."""
        if self.room.done() and self.room.exception() is None:
            return self.room.result()
        return None
