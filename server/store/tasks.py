"""Tasks and who is a member of them. Owns the rule that a task never loses its last owner.

Every lookup names the user and answers None for a task that is not theirs as for one that is not there.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Final

from crdt_docs.ids import TaskId, UserId, new_id
from server.domain.access import Role
from server.domain.errors import Conflict, NotFound, Unavailable
from server.domain.share import ShareId
from server.domain.task import Member, NamedBy, Status, Task
from server.store import ceilings
from server.store.database import Database, Row, Transaction

_TASK: Final = "t.id, t.name, t.status, t.created_by, t.created_at, t.updated_at, t.named_by"
_BARE: Final = "id, name, status, created_by, created_at, updated_at, named_by"
_MEMBER: Final = "m.task, m.user, u.name, m.role, m.since, m.until, m.share, u.guest"
_LAST_OWNER: Final = "A task keeps at least one owner."


class Tasks:
    """The tasks of this server."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self, user: UserId, name: str, at: float, task: TaskId | None = None, named_by: NamedBy = "user"
    ) -> Task:
        """Make an open task that the user owns.

        Raises Conflict if that id is in use, and where there is no such user, or they are being erased.
        """
        made = Task(task or TaskId(new_id()), name, "open", user, at, at, named_by)
        async with self._database.transaction() as tx:
            await tx.all(
                f"INSERT INTO tasks ({_BARE}, heard) VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
                made.id,
                name,
                made.status,
                user,
                at,
                at,
                named_by,
            )
            await tx.all("INSERT INTO members (task, user, role, since) VALUES (?, ?, ?, ?)", made.id, user, 4, at)
        return made

    async def get(self, user: UserId, task: TaskId) -> tuple[Task, Role] | None:
        """The task and what the user may do with it."""
        row = await self._database.one(
            f"SELECT {_TASK}, m.role FROM tasks t JOIN members m ON m.task = t.id WHERE t.id = ? AND m.user = ?",
            task,
            user,
        )
        return (task_of(row), Role(row[7])) if row else None

    async def role(self, user: UserId, task: TaskId) -> Role | None:
        """What the user may do with the task."""
        row = await self._database.one("SELECT role FROM members WHERE task = ? AND user = ?", task, user)
        return Role(row[0]) if row else None

    async def of_user(
        self, user: UserId, statuses: Collection[Status] | None = None, limit: int = 500
    ) -> list[tuple[Task, Role]]:
        """The user's tasks of those statuses (None: of any), the one that last changed first."""
        marks = ", ".join("?" * len(statuses)) if statuses is not None else ""
        among = f"AND t.status IN ({marks})" if statuses is not None else ""
        rows = await self._database.all(
            f"SELECT {_TASK}, m.role FROM members m JOIN tasks t ON t.id = m.task WHERE m.user = ? {among}"
            " ORDER BY t.updated_at DESC, t.id LIMIT ?",
            user,
            *(statuses or ()),
            limit,
        )
        return [(task_of(row), Role(row[7])) for row in rows]

    async def every(self) -> list[Task]:
        """Every task of the server, the one that last changed first. For the operator; never for a user."""
        return [
            task_of(row) for row in await self._database.all(f"SELECT {_BARE} FROM tasks ORDER BY updated_at DESC, id")
        ]

    async def find(self, said: str) -> list[Task]:
        """The tasks of that id, or whose id begins so (from 4 characters), or of that name. For the operator."""
        rows = await self._database.all(
            f"SELECT {_BARE} FROM tasks WHERE id = ?1 OR name = ?1 COLLATE NOCASE"
            " OR (length(?1) >= 4 AND substr(id, 1, length(?1)) = ?1) ORDER BY updated_at DESC, id LIMIT 20",
            said,
        )
        return [task for row in rows if (task := task_of(row)).id == said] or [task_of(row) for row in rows]

    async def patch(
        self,
        user: UserId,
        task: TaskId,
        at: float,
        *,
        name: str | None = None,
        status: Status | None = None,
        least: Role = Role.EDITOR,
    ) -> tuple[Task, Role] | None:
        """Change name or status; None as well if the user's role is under ``least``, whatever it was a moment ago.

        A name so given is a person's, and agents propose no other.
        """
        rows = await self._database.write(
            "UPDATE tasks SET name = coalesce(?1, name), named_by = CASE WHEN ?1 IS NULL THEN named_by ELSE 'user' END,"
            " status = coalesce(?2, status), updated_at = max(updated_at, ?3) WHERE id = ?4"
            " AND EXISTS (SELECT 1 FROM members m WHERE m.task = tasks.id AND m.user = ?5 AND m.role >= ?6)"
            f" RETURNING {_BARE}, (SELECT role FROM members m WHERE m.task = tasks.id AND m.user = ?5)",
            name,
            status,
            at,
            task,
            user,
            least,
        )
        return (task_of(rows[0]), Role(rows[0][7])) if rows else None

    async def restore(self, given: Task, before: Task) -> None:
        """Take a change back that the document could not show, unless somebody has changed it again since."""
        await self._database.write(
            "UPDATE tasks SET name = ?1, named_by = ?2, status = ?3, updated_at = ?4"
            " WHERE id = ?5 AND name = ?6 AND named_by = ?7 AND status = ?8",
            before.name,
            before.named_by,
            before.status,
            before.updated_at,
            before.id,
            given.name,
            given.named_by,
            given.status,
        )

    async def propose_name(self, task: TaskId, name: str, at: float) -> Task | None:
        """Let an agent name the task. Raises Conflict if a person has named it; None if there is no such task."""
        async with self._database.transaction() as tx:
            rows = await tx.all(
                "UPDATE tasks SET name = ?, named_by = 'agent', updated_at = max(updated_at, ?)"
                f" WHERE id = ? AND named_by <> 'user' RETURNING {_BARE}",
                name,
                at,
                task,
            )
            if not rows and await tx.one("SELECT 1 FROM tasks WHERE id = ?", task):
                raise Conflict("A person has named this task.")
        return task_of(rows[0]) if rows else None

    async def touch(self, tasks: Collection[TaskId], at: float) -> None:
        """Note that the tasks' documents changed; never earlier than what is known."""
        marks = ", ".join("?" * len(tasks))
        await self._database.write(
            f"UPDATE tasks SET updated_at = max(updated_at, ?) WHERE id IN ({marks})", at, *tasks
        )

    async def delete(self, user: UserId, task: TaskId) -> bool:
        """Remove the task and its bytes, and by cascade all that hangs on it, if the user owns it.

        Its documents are the log's.
        """
        rows = await self._database.write(
            "DELETE FROM tasks WHERE id = ?"
            " AND EXISTS (SELECT 1 FROM members m WHERE m.task = tasks.id AND m.user = ? AND m.role = 4) RETURNING id",
            task,
            user,
        )
        if rows:
            with suppress(Unavailable):  # it is deleted; what the disk does not let us erase now, is erased later
                await self._database.erase()
        return bool(rows)

    async def members(self, user: UserId, task: TaskId) -> list[Member] | None:
        """Who is on the task, for one who is."""
        rows = await self._database.all(
            f"SELECT {_MEMBER} FROM members m JOIN users u ON u.id = m.user WHERE m.task = ?"
            " AND EXISTS (SELECT 1 FROM members me WHERE me.task = m.task AND me.user = ?)"
            " ORDER BY m.since, u.name_key",
            task,
            user,
        )
        return [_member(row) for row in rows] or None

    async def member(self, task: TaskId, user: UserId) -> Member | None:
        """The user's place on the task, over or not. For who may see it; no member is named."""
        row = await self._database.one(
            f"SELECT {_MEMBER} FROM members m JOIN users u ON u.id = m.user WHERE m.task = ? AND m.user = ?", task, user
        )
        return _member(row) if row else None

    async def add_member(self, task: TaskId, user: UserId, role: Role, at: float, until: float | None = None) -> Member:
        """Put the user on the task, as an owner. Raises Conflict if they are on it, NotFound if either is not there."""
        async with self._database.transaction() as tx:
            if await tx.one("SELECT 1 FROM members WHERE task = ? AND user = ?", task, user):
                raise Conflict("They are on this task already.")
            try:
                await tx.all(
                    "INSERT INTO members (task, user, role, since, until) VALUES (?, ?, ?, ?, ?)",
                    task,
                    user,
                    role,
                    at,
                    until,
                )
            except Conflict:
                raise NotFound() from None
            await ceilings.put(tx, task, user, role, until, at)
            return await _read_member(tx, task, user)

    async def set_role(
        self, task: TaskId, user: UserId, role: Role, at: float, until: float | None = None, *, own: bool = False
    ) -> Member | None:
        """Change what a member may do, and until when. Raises Conflict if the task would lose its last owner.

        Who came by a share link goes with it, unless the place is made their ``own``; an owner's always is.
        """
        async with self._database.transaction() as tx:
            if not await tx.all(
                "UPDATE members SET role = ?1, until = ?2, share = CASE WHEN ?3 THEN NULL ELSE share END"
                " WHERE task = ?4 AND user = ?5 RETURNING user",
                role,
                until,
                own or role is Role.OWNER,
                task,
                user,
            ):
                return None
            await _keep_an_owner(tx, task)
            await ceilings.put(tx, task, user, role, until, at)
            return await _read_member(tx, task, user)

    async def remove_member(self, task: TaskId, user: UserId, at: float | None) -> bool:
        """Take the user off the task, with their tokens and tickets for it. Raises Conflict for the last owner.

        ``at`` is when an owner did so, None where they left: then a link that they have lets them in again.
        """
        async with self._database.transaction() as tx:
            if not await tx.all("DELETE FROM members WHERE task = ? AND user = ? RETURNING user", task, user):
                return False
            await _keep_an_owner(tx, task)
            await tx.all("DELETE FROM tickets WHERE task = ? AND user = ?", task, user)
            await tx.all("DELETE FROM tokens WHERE task = ? AND user = ?", task, user)
            if at is not None:
                await ceilings.put(tx, task, user, None, None, at)
            return True


async def _keep_an_owner(tx: Transaction, task: TaskId) -> None:
    if not await tx.one("SELECT 1 FROM members WHERE task = ? AND role = 4 AND until IS NULL", task):
        raise Conflict(_LAST_OWNER)


async def _read_member(tx: Transaction, task: TaskId, user: UserId) -> Member:
    row = await tx.one(
        f"SELECT {_MEMBER} FROM members m JOIN users u ON u.id = m.user WHERE m.task = ? AND m.user = ?", task, user
    )
    if row is None:
        raise NotFound()
    return _member(row)


def task_of(row: Row) -> Task:
    """A task from a row that begins with its seven columns."""
    return Task(TaskId(row[0]), row[1], row[2], UserId(row[3]), row[4], row[5], row[6])


def _member(row: Row) -> Member:
    share = ShareId(row[6]) if row[6] else None
    return Member(TaskId(row[0]), UserId(row[1]), row[2], Role(row[3]), row[4], row[5], share, bool(row[7]))
