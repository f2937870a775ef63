"""Device grants (RFC 8628). Owns that a code becomes one bearer, once; codes are kept as hashes only."""

from __future__ import annotations

from typing import Final

from crdt_docs.ids import TaskId, UserId, new_id
from server.domain.access import LoginId, Role
from server.domain.credential import Secret, hash_secret, new_secret
from server.domain.device_grant import (
    CODE_LIFE,
    OPEN_AT_ONCE,
    PAUSE,
    SLOWER,
    Answer,
    DeviceGrant,
    DeviceGrantId,
    answer,
    new_code,
)
from server.domain.errors import TooMany
from server.store.database import Database, Row

_COLUMNS: Final = "id, client, agent, role, ttl, task, status, user, pause, polled_at, expires_at"


class DeviceGrants:
    """What programs have asked for and nobody has collected yet."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(
        self, client: str, agent: str | None, role: Role, ttl: int, now: float
    ) -> tuple[DeviceGrant, Secret, str]:
        """A program asks: the grant, its device code and its user code. Raises TooMany."""
        made = DeviceGrant(
            DeviceGrantId(new_id()), client, agent, role, ttl, None, "pending", None, PAUSE, None, now + CODE_LIFE
        )
        secret, code = new_secret(), new_code()
        async with self._database.transaction() as tx:
            await tx.all("DELETE FROM device_grants WHERE expires_at <= ?", now - CODE_LIFE)
            rows = await tx.all(
                "INSERT INTO device_grants (id, device_code, user_code, client, agent, role, ttl, status, pause,"
                " expires_at) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, 'pending', ?8, ?9"
                " WHERE (SELECT count(*) FROM device_grants WHERE expires_at > ?10) < ?11"
                " ON CONFLICT (user_code) DO NOTHING RETURNING id",
                made.id, hash_secret(secret), hash_secret(code), client, agent, role, ttl, PAUSE, made.expires_at,
                now, OPEN_AT_ONCE,
            )  # fmt: skip
        if not rows:
            raise TooMany("Too many programs are asking at the moment; try again in a few minutes.")
        return made, secret, code

    async def find(self, code: str, now: float) -> DeviceGrant | None:
        """The grant of a user code that waits for somebody to decide."""
        row = await self._database.one(
            f"SELECT {_COLUMNS} FROM device_grants WHERE user_code = ? AND status = 'pending' AND expires_at > ?",
            hash_secret(code),
            now,
        )
        return _grant(row) if row else None

    async def approve(
        self,
        grant: DeviceGrantId,
        user: UserId,
        role: Role,
        ttl: int,
        task: TaskId | None,
        now: float,
        login: LoginId | None,
    ) -> bool:
        """Give it, once, with those bounds; False if it was decided or has expired, or the login ended, meanwhile.

        Until it is collected it goes with the login's device.
        """
        rows = await self._database.write(
            "UPDATE device_grants SET status = 'approved', user = ?1, role = ?2, ttl = ?3, task = ?4,"
            " device = (SELECT device FROM logins WHERE id = ?7)"
            " WHERE id = ?5 AND status = 'pending' AND expires_at > ?6"
            " AND EXISTS (SELECT 1 FROM logins WHERE id = ?7 AND user = ?1) RETURNING id",
            user, role, ttl, task, grant, now, login,
        )  # fmt: skip
        return bool(rows)

    async def deny(self, grant: DeviceGrantId, now: float) -> bool:
        """Refuse it, once."""
        rows = await self._database.write(
            "UPDATE device_grants SET status = 'denied' WHERE id = ? AND status = 'pending' AND expires_at > ?"
            " RETURNING id",
            grant,
            now,
        )
        return bool(rows)

    async def poll(self, secret: str, now: float) -> tuple[Answer, DeviceGrant] | None:
        """What the program with that device code is told now, and its grant; None if there is none.

        A grant that is given, refused or expired is gone with its answer. Of all that poll at once, one is given it.
        """
        async with self._database.transaction() as tx:
            row = await tx.one(f"SELECT {_COLUMNS} FROM device_grants WHERE device_code = ?", hash_secret(secret))
            if row is None:
                return None
            grant = _grant(row)
            told = answer(grant, now)
            if told in ("approved", "access_denied", "expired_token"):
                await tx.all("DELETE FROM device_grants WHERE id = ?", grant.id)
            else:
                pause = grant.pause + (SLOWER if told == "slow_down" else 0)
                await tx.all("UPDATE device_grants SET polled_at = ?, pause = ? WHERE id = ?", now, pause, grant.id)
        return told, grant


def _grant(row: Row) -> DeviceGrant:
    task = TaskId(row[5]) if row[5] else None
    user = UserId(row[7]) if row[7] else None
    return DeviceGrant(
        DeviceGrantId(row[0]), row[1], row[2], Role(row[3]), row[4], task, row[6], user, row[8], row[9], row[10]
    )
