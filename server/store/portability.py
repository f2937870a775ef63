"""What the database knows of a person, for that person. Owns which columns leave: named one by one, no secret's hash.

Must never tell of anybody else: of a task that others are on only what it is called, and what one is there oneself.
"""

from __future__ import annotations

from typing import Any, Final

from crdt_docs.ids import DeviceId, TaskId, UserId
from server.domain.clock import iso
from server.domain.credential import Secret, hash_secret, new_secret
from server.store.database import Database

LIFE: Final = 300.0
_TOLD: Final[dict[str, tuple[str, str]]] = {
    "account": ("language, plan, preferences", "accounts WHERE user = ?"),
    "devices": ("id, name, kind, created_at, seen_at, revoked_at", "devices WHERE user = ? ORDER BY created_at"),
    "sessions": ("id, device, framework, task, started_at, seen_at, ended_at", "sessions WHERE user = ?"),
    "tokens": ("id, task, role, kind, created_at, expires_at, revoked_at", "tokens WHERE user = ? AND kind <> 'grant'"),
    "passkeys": ("id, name, created_at, used_at", "passkeys WHERE user = ? ORDER BY created_at"),
    "identities": ("issuer, subject, created_at", "identities WHERE user = ? ORDER BY created_at"),
    "agents": ("id, name, created_at", "agents WHERE user = ? ORDER BY created_at"),
    "turns": ("id, task, status, created_at, ended_at", "turns WHERE user = ? ORDER BY created_at"),
    "audit": ("event, at, device, session, task", "audit WHERE user = ? ORDER BY id"),
}
_TASKS: Final = (
    "SELECT t.id, t.name, t.status, m.role, m.since, t.created_by = m.user, t.created_at,"
    " (SELECT count(*) FROM members o WHERE o.task = t.id)"
    " FROM members m JOIN tasks t ON t.id = m.task WHERE m.user = ? ORDER BY m.since, t.id"
)
_ROLES: Final = ("", "viewer", "commenter", "editor", "owner")


class Portability:
    """What may be taken along, and the tickets by which that is fetched."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, user: UserId) -> dict[str, Any]:
        """Everything but the tasks, by nouns."""
        (profile,) = await self._database.all("SELECT id, name, created_at FROM users WHERE id = ?", user)
        found: dict[str, Any] = {"profile": {"id": profile[0], "name": profile[1], "created_at": iso(profile[2])}}
        for noun, (columns, where) in _TOLD.items():
            names = columns.split(", ")
            rows = await self._database.all(f"SELECT {columns} FROM {where}", user)
            found[noun] = [{name: _shown(name, value) for name, value in zip(names, row, strict=True)} for row in rows]
        return found

    async def tasks(self, user: UserId) -> list[tuple[dict[str, Any], bool]]:
        """The tasks that they are on, each with whether nobody else is."""
        return [
            (
                {
                    "id": TaskId(row[0]),
                    "name": row[1],
                    "status": row[2],
                    "role": _ROLES[row[3]],
                    "since": iso(row[4]),
                    "began_it": bool(row[5]),
                    "created_at": iso(row[6]),
                },
                row[7] == 1,
            )
            for row in await self._database.all(_TASKS, user)
        ]

    async def issue(self, user: UserId, device: DeviceId | None, at: float) -> tuple[Secret, float]:
        """A ticket for one download, and when it expires."""
        secret = new_secret()
        async with self._database.transaction() as tx:
            await tx.all("DELETE FROM export_tickets WHERE expires_at <= ? OR user = ?", at, user)
            await tx.all(
                "INSERT INTO export_tickets (hash, user, device, expires_at) VALUES (?, ?, ?, ?)",
                hash_secret(secret),
                user,
                device,
                at + LIFE,
            )
        return secret, at + LIFE

    async def redeem(self, secret: str, user: UserId, device: DeviceId | None, now: float) -> bool:
        """Burn the ticket; of all who try at once, one gets it, and only on the device that asked."""
        rows = await self._database.write(
            "UPDATE export_tickets SET used_at = ?1 WHERE hash = ?2 AND user = ?3 AND device IS ?4 AND used_at IS NULL"
            " AND expires_at > ?1 RETURNING 1",
            now,
            hash_secret(secret),
            user,
            device,
        )
        return bool(rows)


def _shown(name: str, value: Any) -> Any:
    if name.endswith("_at") or name == "at":
        return iso(value) if value is not None else None
    return _ROLES[value] if name == "role" else value
