"""What people had seen of their tasks. Owns that a look only moves forward; must never be told of an agent's."""

from __future__ import annotations

from crdt_docs.ids import TaskId, UserId
from crdt_docs.updates.vectors import decode_state_vector, encode_state_vector
from server.domain.look import Look
from server.store.database import Database


class Looks:
    """The last look of every user on every task."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, user: UserId, task: TaskId) -> Look | None:
        """How far the user had seen the task; None if they never did."""
        row = await self._database.one(
            "SELECT seq, state_vector, at FROM looks WHERE user = ? AND task = ?", user, task
        )
        return Look(row[0], decode_state_vector(row[1]), row[2]) if row else None

    async def put(self, user: UserId, task: TaskId, look: Look) -> None:
        """Note a look, unless a later one is known, or either of the two is gone."""
        await self._database.write(
            "INSERT INTO looks (user, task, seq, state_vector, at) SELECT ?1, ?2, ?3, ?4, ?5"
            " WHERE EXISTS (SELECT 1 FROM users WHERE id = ?1) AND EXISTS (SELECT 1 FROM tasks WHERE id = ?2)"
            " ON CONFLICT (user, task) DO UPDATE SET seq = excluded.seq, state_vector = excluded.state_vector,"
            " at = excluded.at WHERE excluded.seq >= looks.seq",
            user,
            task,
            look.seq,
            encode_state_vector(look.state_vector),
            look.at,
        )
