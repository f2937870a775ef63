"""What ids are called, for people to read. Owns no noun: it only looks names up, several at once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from server.store.database import Database

_TABLES: Final = ("users", "devices", "agents")


class Names:
    """Names of users, devices and agents."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, users: Collection[str], devices: Collection[str], agents: Collection[str]) -> dict[str, str]:
        """Each id's name; left out where there is nobody of that id any more."""
        found: dict[str, str] = {}
        for table, ids in zip(_TABLES, (users, devices, agents), strict=True):
            if ids:
                marks = ", ".join("?" * len(ids))
                found.update(await self._database.all(f"SELECT id, name FROM {table} WHERE id IN ({marks})", *ids))
        return found
