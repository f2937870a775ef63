"""The audit trail: a chain of events in ids. Owns its order and its hashes; must never be given content or secrets."""

from __future__ import annotations

import json
from collections.abc import Sequence

from crdt_docs.ids import TaskId
from server.domain.audit import GENESIS, AuditEvent, Deed
from server.store.database import Database, Row

_COLUMNS = "event, at, user, agent, device, session, token, task, subjects"


class Audit:
    """What was done on this server, in the order in which it was noted."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(
        self, event: str, at: float, *, by: Deed, task: TaskId | None = None, subjects: Sequence[str] = ()
    ) -> None:
        """Note an event such as ``device.revoked``. ``subjects`` are ids of what it was done to."""
        noted = AuditEvent(event, float(at), by, task, tuple(subjects))
        async with self._database.transaction() as tx:
            last = await tx.one("SELECT hash FROM audit ORDER BY id DESC LIMIT 1")
            await tx.all(
                f"INSERT INTO audit ({_COLUMNS}, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                event,
                at,
                by.user,
                by.agent,
                by.device,
                by.session,
                by.token,
                task,
                json.dumps(noted.subjects),
                noted.chained(last[0] if last else GENESIS),
            )

    async def latest(self, limit: int = 100, task: TaskId | None = None) -> list[AuditEvent]:
        """The last events, of one task if it is named, the latest first."""
        rows = await self._database.all(
            f"SELECT {_COLUMNS} FROM audit WHERE ?1 IS NULL OR task = ?1 ORDER BY id DESC LIMIT ?2", task, limit
        )
        return [_event(row) for row in rows]

    async def broken_at(self) -> int | None:
        """The number of the first event whose hash does not follow from those before; None if the chain holds."""
        before, after = GENESIS, 0
        while rows := await self._database.all(
            f"SELECT {_COLUMNS}, id, hash FROM audit WHERE id > ? ORDER BY id LIMIT 1000", after
        ):
            for row in rows:
                before, after = _event(row).chained(before), after + 1
                if row[9] != after or row[10] != before:
                    return after
        return None


def _event(row: Row) -> AuditEvent:
    by = Deed(row[2], row[3], row[4], row[5], row[6])
    return AuditEvent(row[0], row[1], by, row[7], tuple(json.loads(row[8])))
