"""Agents: who owns the client ids that agents write under, under which name people see them.

Owns that an agent of a user's has one registration per name, however it is cased, and the server's own has one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from crdt_docs.ids import AgentId, UserId, new_id
from server.domain.agent import Agent
from server.store.database import Database, Row
from server.store.users import clean_name, name_key

_COLUMNS: Final = "id, user, name, created_at"


class Agents:
    """The agents of this server."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ensure(self, user: UserId | None, name: str, at: float) -> Agent:
        """The user's agent of that name (None: the server's own), registered if need be. Raises Invalid for no name."""
        clean = clean_name(name)
        async with self._database.transaction() as tx:
            row = await tx.one(f"SELECT {_COLUMNS} FROM agents WHERE user IS ? AND name_key = ?", user, name_key(clean))
            if row is not None:
                return _agent(row)
            made = Agent(AgentId(new_id()), user, clean, at)
            await tx.all(
                "INSERT INTO agents (id, user, name, name_key, created_at) VALUES (?, ?, ?, ?, ?)",
                made.id,
                user,
                clean,
                name_key(clean),
                at,
            )
        return made

    async def get(self, agent: AgentId) -> Agent | None:
        """The agent with that id."""
        row = await self._database.one(f"SELECT {_COLUMNS} FROM agents WHERE id = ?", agent)
        return _agent(row) if row else None

    async def names(self, agents: Collection[AgentId]) -> dict[AgentId, str]:
        """How those of them are called that are known."""
        marks = ", ".join("?" * len(agents))
        rows = await self._database.all(f"SELECT id, name FROM agents WHERE id IN ({marks})", *agents)
        return {AgentId(row[0]): row[1] for row in rows}


def _agent(row: Row) -> Agent:
    return Agent(AgentId(row[0]), UserId(row[1]) if row[1] else None, row[2], row[3])
