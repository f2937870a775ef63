"""What tasks ask of whoever opens them, and people's places under those rules."""

from __future__ import annotations

from typing import Any, Final

from crdt_docs.ids import TaskId, UserId
from server.domain.access import Role
from server.domain.policy import Place, Policy
from server.store.database import Database

PLACE: Final = "m.role, m.until, coalesce(s.keyed, 0), p.resume, p.device, p.confirm"
RULED: Final = "LEFT JOIN policies p ON p.task = m.task LEFT JOIN shares s ON s.id = m.share"
"""What gives a row of members ``m`` the columns of ``PLACE``."""


class Policies:
    """The policies of all tasks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, task: TaskId) -> Policy:
        """The task's policy; the default for one that nobody gave any."""
        row = await self._database.one("SELECT resume, device, confirm FROM policies WHERE task = ?", task)
        return Policy(*row) if row else Policy()

    async def set(self, task: TaskId, policy: Policy, at: float) -> None:
        """Give the task another policy. Raises Conflict if there is no such task."""
        await self._database.write(
            "INSERT INTO policies (task, resume, device, confirm, changed_at) VALUES (?1, ?2, ?3, ?4, ?5)"
            " ON CONFLICT (task) DO UPDATE SET resume = ?2, device = ?3, confirm = ?4, changed_at = ?5",
            task,
            policy.resume,
            policy.device,
            policy.confirm,
            at,
        )

    async def place(self, user: UserId, task: TaskId) -> Place | None:
        """The user's place on the task; None if they have none, or there is no such task. It may be over."""
        row = await self._database.one(
            f"SELECT {PLACE} FROM members m {RULED} WHERE m.task = ? AND m.user = ?", task, user
        )
        return place_of(row) if row else None

    async def places(self, task: TaskId) -> dict[UserId, Place]:
        """Everybody's place on the task."""
        rows = await self._database.all(f"SELECT m.user, {PLACE} FROM members m {RULED} WHERE m.task = ?", task)
        return {UserId(row[0]): place_of(row[1:]) for row in rows}

    async def places_of(self, user: UserId) -> dict[TaskId, Place]:
        """The user's place on each of their tasks."""
        rows = await self._database.all(f"SELECT m.task, {PLACE} FROM members m {RULED} WHERE m.user = ?", user)
        return {TaskId(row[0]): place_of(row[1:]) for row in rows}


def place_of(row: tuple[Any, ...]) -> Place:
    """A place from a row of the columns of ``PLACE``."""
    policy = Policy(row[3], row[4], row[5]) if row[3] is not None else Policy()
    return Place(Role(row[0]), policy, row[1], bool(row[2]))
