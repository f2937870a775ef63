"""Sessions that browsers bind to their machine. Owns that a challenge is answered once, whoever comes at one time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from crdt_docs.ids import DeviceId, UserId, new_id
from server.domain.bound_session import COOKIE_AGE, OVERLAP, BoundId, BoundSession
from server.domain.credential import Secret, SecretHash, hash_secret, new_secret
from server.domain.login import LoginId
from server.store.database import Database, Row

_COLUMNS: Final = (
    "b.id, b.login, l.user, l.device, b.key, b.cookie, b.cookie_until, b.earlier_cookie, b.earlier_until,"
    " b.challenge, b.earlier_challenge, b.created_at, b.skipped_at"
)
_BEGIN: Final = """
INSERT INTO bound_sessions (id, login, key, cookie, cookie_until, challenge, created_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM logins WHERE id = ?2)
ON CONFLICT (login) DO NOTHING RETURNING id
"""
_RENEW: Final = """
UPDATE bound_sessions
SET earlier_cookie = cookie, earlier_until = min(cookie_until, ?3 + ?4), cookie = ?5, cookie_until = ?6,
    earlier_challenge = CASE WHEN challenge = ?2 THEN earlier_challenge ELSE challenge END, challenge = ?7,
    skipped_at = NULL
WHERE id = ?1 AND ?2 IN (challenge, earlier_challenge) RETURNING id
"""


class BoundSessions:
    """One for each login at most; they go with their logins."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, login: LoginId, key: Mapping[str, str], at: float) -> tuple[BoundId, Secret, Secret] | None:
        """Bind the login to the key; the session, its first cookie and challenge. None if it is bound, or ended."""
        session, cookie, challenge = BoundId(new_id()), new_secret(), new_secret()
        rows = await self._database.write(
            _BEGIN,
            session,
            login,
            json.dumps(dict(key)),
            hash_secret(cookie),
            at + COOKIE_AGE + OVERLAP,
            hash_secret(challenge),
            at,
        )
        return (session, cookie, challenge) if rows else None

    async def get(self, session: BoundId) -> BoundSession | None:
        """The session with that id, whose ever it is."""
        return await self._one("b.id = ?", session)

    async def of_login(self, login: LoginId) -> BoundSession | None:
        """The login's session; None if it is not bound."""
        return await self._one("b.login = ?", login)

    async def renew(self, session: BoundId, challenge: str, at: float) -> tuple[Secret, Secret] | None:
        """A new cookie and challenge for one that was answered; None if it was not out, or was answered before."""
        cookie, following = new_secret(), new_secret()
        rows = await self._database.write(
            _RENEW,
            session,
            hash_secret(challenge),
            at,
            OVERLAP,
            hash_secret(cookie),
            at + COOKIE_AGE + OVERLAP,
            hash_secret(following),
        )
        return (cookie, following) if rows else None

    async def ask(self, session: BoundId) -> Secret:
        """Another challenge; the one before it may still be answered."""
        challenge = new_secret()
        await self._database.write(
            "UPDATE bound_sessions SET earlier_challenge = challenge, challenge = ? WHERE id = ?",
            hash_secret(challenge),
            session,
        )
        return challenge

    async def skip(self, session: BoundId, at: float) -> None:
        """Note since when the browser says that it can't refresh."""
        await self._database.write(
            "UPDATE bound_sessions SET skipped_at = coalesce(skipped_at, ?) WHERE id = ?", at, session
        )

    async def _one(self, where: str, value: str) -> BoundSession | None:
        row = await self._database.one(
            f"SELECT {_COLUMNS} FROM bound_sessions b JOIN logins l ON l.id = b.login WHERE {where}", value
        )
        return _session(row) if row else None


def _session(row: Row) -> BoundSession:
    ids = (BoundId(row[0]), LoginId(row[1]), UserId(row[2]), DeviceId(row[3]))
    hashes = [SecretHash(value) if value is not None else None for value in (row[7], row[9], row[10])]
    return BoundSession(
        *ids,
        json.loads(row[4]),
        SecretHash(row[5]),
        row[6],
        hashes[0],
        row[8],
        hashes[1],
        hashes[2],
        row[11],
        row[12],
    )
