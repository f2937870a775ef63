"""Where people were in their tasks when they last moved. Owns that of all their devices the latest counts.

A place is the page's own and is never read here. Must never be told to anybody else, nor hold what people wrote.
"""

from __future__ import annotations

from typing import NamedTuple

from crdt_docs.ids import DeviceId, TaskId, UserId
from server.store.database import Database


class Place(NamedTuple):
    """``where`` is JSON as the page gave it, ``device`` the name of the one it was on. ``at`` is Unix seconds."""

    where: str
    device: str | None
    at: float


class Places:
    """The last place of every user in every task."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, user: UserId, task: TaskId) -> Place | None:
        """Where the user was last; None if nowhere."""
        row = await self._database.one(
            "SELECT p.place, d.name, p.at FROM places p LEFT JOIN devices d ON d.id = p.device"
            " WHERE p.user = ? AND p.task = ?",
            user,
            task,
        )
        return Place(*row) if row else None

    async def put(self, user: UserId, task: TaskId, device: DeviceId | None, where: str, at: float) -> None:
        """Note where they are now, unless they are not on the task (any more)."""
        await self._database.write(
            "INSERT INTO places (user, task, device, place, at) SELECT user, task, ?3, ?4, ?5 FROM members"
            " WHERE user = ?1 AND task = ?2 ON CONFLICT (user, task) DO UPDATE SET"
            " device = excluded.device, place = excluded.place, at = excluded.at WHERE excluded.at >= places.at",
            user,
            task,
            device,
            where,
            at,
        )
