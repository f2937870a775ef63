"""What the database knows of a person, and taking it out. Owns that no column of any table names them afterwards.

Tables of other nouns are found by their columns, not by a list: a noun that is new tomorrow is erased, too. Must never
touch the audit trail, whose chain has a way of its own.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Final

from crdt_docs.ids import TaskId, UserId
from server.domain.erasure import Belongings
from server.store.database import Database, Transaction

_OWN_WAY: Final = ("audit", "audit_ends")
_STAYS: Final = (
    "o.user <> ?1 AND (o.until IS NULL OR o.until > ?2) AND o.user IN (SELECT id FROM users WHERE guest = 0)"
)
"""Who is on a task to stay: no guest of a link, and nobody whose time there is over."""
_TASKS: Final = (
    f"SELECT m.task, m.role, (SELECT count(*) FROM members o WHERE o.task = m.task AND {_STAYS})"
    " FROM members m WHERE m.user = ?1 ORDER BY m.since, m.task"
)
_ORPHANS: Final = (
    "SELECT id FROM tasks WHERE created_by = ? AND NOT EXISTS (SELECT 1 FROM members m WHERE m.task = tasks.id)"
)
_HEIR: Final = (
    f"SELECT o.user FROM members o WHERE o.task = ?3 AND {_STAYS}"
    " AND NOT EXISTS (SELECT 1 FROM members w WHERE w.task = ?3 AND w.user <> ?1 AND w.role = 4 AND w.until IS NULL)"
    " ORDER BY o.until IS NOT NULL, o.since, o.user LIMIT 1"
)
_WAYS_IN: Final = ("tokens", "logins", "links", "tickets", "export_tickets", "passkeys", "identities", "device_grants")


class Erasures:
    """The database's part of erasing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def gather(self, user: UserId, now: float) -> Belongings:
        """All that is the person's; changes nothing."""
        tables = await self._columns()
        rows: dict[str, int] = {}
        ids = {str(user)}
        for table, columns in tables.items():
            if "user" in columns:
                key = "id" if "id" in columns else "NULL"
                found = await self._database.all(f"SELECT {key} FROM {table} WHERE user = ?", user)
                if found:
                    rows[table] = len(found)
                if table in ("devices", "tokens", "logins", "sessions", "agents", "handoffs"):
                    ids.update(str(row[0]) for row in found)
        agents = {str(row[0]) for row in await self._database.all("SELECT id FROM agents WHERE user = ?", user)}
        private: list[TaskId] = []
        shared: list[TaskId] = []
        heirs: dict[TaskId, UserId] = {}
        for task, role, others in await self._database.all(_TASKS, user, now):
            (shared if others else private).append(TaskId(task))
            heir = await self._database.one(_HEIR, user, now, task) if others and role == 4 else None
            if heir is not None:
                heirs[TaskId(task)] = UserId(heir[0])
        private.extend(TaskId(row[0]) for row in await self._database.all(_ORPHANS, user))
        return Belongings(
            user, frozenset(ids), frozenset(agents), tuple(private), tuple(shared), heirs, dict(sorted(rows.items()))
        )

    async def close_doors(self, what: Belongings) -> None:
        """Nobody comes in as them any more, nothing new becomes theirs, and what they alone own is the heirs'."""
        tables = await self._columns()
        async with self._database.transaction() as tx:
            await tx.all("UPDATE users SET leaving = 1 WHERE id = ?", what.user)
            for task, heir in what.heirs.items():
                await tx.all(
                    "UPDATE members SET role = 4, until = NULL, share = NULL WHERE task = ? AND user = ?", task, heir
                )
            for table in _WAYS_IN:
                if "user" in tables.get(table, ()):
                    await tx.all(f"DELETE FROM {table} WHERE user = ?", what.user)

    async def remove(self, what: Belongings, stubs: Mapping[TaskId, str]) -> None:
        """Delete their tasks and them, and put a stub wherever else their id stands."""
        tables = await self._columns()
        async with self._database.transaction() as tx:
            for task in what.private:
                await tx.all("DELETE FROM tasks WHERE id = ?", task)
            for task, stub in stubs.items():
                await tx.all("UPDATE tasks SET created_by = ? WHERE id = ? AND created_by = ?", stub, task, what.user)
            await tx.all("DELETE FROM users WHERE id = ?", what.user)
            await _unname(tx, tables, what.ids)

    async def delete_tasks(self, tasks: Collection[TaskId]) -> None:
        """Delete these tasks, whosever they are: they were erased before, and an older copy has them again."""
        async with self._database.transaction() as tx:
            for task in tasks:
                await tx.all("DELETE FROM tasks WHERE id = ?", task)

    async def half_deleted(self) -> list[TaskId]:
        """The tasks whose rows were deleted since the last start, and that nobody has put back."""
        rows = await self._database.all("SELECT task FROM deleted_tasks WHERE task NOT IN (SELECT id FROM tasks)")
        return [TaskId(row[0]) for row in rows]

    async def forget_deleted(self) -> None:
        """Nothing is left of what was deleted so far."""
        await self._database.write("DELETE FROM deleted_tasks")

    async def everything(self) -> tuple[list[UserId], list[TaskId]]:
        """The ids of all people and tasks: what the ledger of erasures is held against."""
        users = await self._database.all("SELECT id FROM users")
        tasks = await self._database.all("SELECT id FROM tasks")
        return [UserId(row[0]) for row in users], [TaskId(row[0]) for row in tasks]

    async def _columns(self) -> dict[str, tuple[str, ...]]:
        tables = await self._database.all(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        )
        return {
            table: tuple(row[0] for row in await self._database.all("SELECT name FROM pragma_table_info(?)", table))
            for (table,) in tables
            if table not in _OWN_WAY
        }


async def _unname(tx: Transaction, tables: Mapping[str, tuple[str, ...]], ids: Collection[str]) -> None:
    """What is left of their ids, where no foreign key took it away, becomes an id of nobody; each row its own."""
    named = json.dumps(sorted(ids))
    for table, columns in tables.items():
        for column in columns:
            which = f"{column} IN (SELECT value FROM json_each(?))"
            if await tx.one(f"SELECT 1 FROM {table} WHERE {which} LIMIT 1", named):
                await tx.all(f"UPDATE {table} SET {column} = lower(hex(randomblob(16))) WHERE {which}", named)
