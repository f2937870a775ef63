"""What people had seen of their tasks. Owns that a look only moves forward; must never be told of an agent's."""

from __future__ import annotations

from crdt_docs.ids import TaskId, TokenId, UserId
from crdt_docs.updates.vectors import decode_state_vector, encode_state_vector
from server.domain.look import Look
from server.store.database import Database


class Looks:
    """The last look on every task: of every user, and of every bearer that is no device's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, user: UserId, task: TaskId, bearer: TokenId | None = None) -> Look | None:
        """How far the user had seen the task, or what lives by that bearer of theirs; None if never."""
        row = await self._database.one(
            "SELECT seq, state_vector, at FROM looks WHERE user = ? AND task = ?"
            if bearer is None
            else "SELECT seq, state_vector, at FROM bearer_looks WHERE token = ? AND task = ?",
            bearer or user,
            task,
        )
        return Look(row[0], decode_state_vector(row[1]), row[2]) if row else None

    async def put(self, user: UserId, task: TaskId, look: Look, bearer: TokenId | None = None) -> None:
        """Note a look, unless a later one is known, or whose it is or the task is gone."""
        table, whose, key = ("looks", "user", "users") if bearer is None else ("bearer_looks", "token", "tokens")
        await self._database.write(
            f"INSERT INTO {table} ({whose}, task, seq, state_vector, at) SELECT ?1, ?2, ?3, ?4, ?5"
            f" WHERE EXISTS (SELECT 1 FROM {key} WHERE id = ?1) AND EXISTS (SELECT 1 FROM tasks WHERE id = ?2)"
            f" ON CONFLICT ({whose}, task) DO UPDATE SET seq = excluded.seq, state_vector = excluded.state_vector,"
            f" at = excluded.at WHERE excluded.seq >= {table}.seq",
            bearer or user,
            task,
            look.seq,
            encode_state_vector(look.state_vector),
            look.at,
        )
