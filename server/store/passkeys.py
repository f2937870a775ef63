"""Passkeys and the challenges that their ceremonies answer. Owns that a challenge is taken once.

Public keys and counters only: there is nothing here that could sign. A challenge is kept as its hash.
"""

from __future__ import annotations

from typing import Final

from crdt_docs.ids import UserId, new_id
from server.domain.credential import SecretHash
from server.domain.errors import Conflict
from server.domain.login import Login, LoginId
from server.domain.passkey import CHALLENGE_LIFE, MOST, Passkey, PasskeyId, Purpose
from server.store.database import Database, Row

_COLUMNS: Final = "id, credential, user, public_key, sign_count, name, synced, created_at, used_at"
MOST_CHALLENGES: Final = 10_000
"""Sign-ins under way at a time: anybody may begin one, so the oldest make room."""


class Passkeys:
    """The passkeys of all users; every lookup but a sign-in's names the user."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self,
        login: Login,
        credential: bytes,
        public_key: bytes,
        sign_count: int,
        name: str,
        synced: bool,
        at: float,
    ) -> Passkey:
        """Keep a new passkey, made by that login.

        Raises Conflict if it is there already, if the user has too many, or if the login has ended meanwhile.
        """
        user = login.user
        made = Passkey(PasskeyId(new_id()), credential, user, public_key, sign_count, name, synced, at)
        rows = await self._database.write(
            f"INSERT INTO passkeys ({_COLUMNS}) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL"
            " WHERE (SELECT count(*) FROM passkeys WHERE user = ?3) < ?9"
            " AND EXISTS (SELECT 1 FROM logins WHERE id = ?10 AND user = ?3)"
            " ON CONFLICT (credential) DO NOTHING RETURNING id",
            made.id, credential, user, public_key, sign_count, name, int(synced), at, MOST, login.id,
        )  # fmt: skip
        if not rows:
            raise Conflict("This passkey is here already, there are too many, or this browser was signed out.")
        return made

    async def of_user(self, user: UserId) -> list[Passkey]:
        """The user's passkeys, the first first."""
        rows = await self._database.all(f"SELECT {_COLUMNS} FROM passkeys WHERE user = ? ORDER BY created_at, id", user)
        return [_passkey(row) for row in rows]

    async def find(self, credential: bytes) -> Passkey | None:
        """The passkey of that credential id, whoever's it is."""
        row = await self._database.one(f"SELECT {_COLUMNS} FROM passkeys WHERE credential = ?", credential)
        return _passkey(row) if row else None

    async def used(self, passkey: Passkey, sign_count: int, at: float) -> bool:
        """Note a signature; False if the passkey is gone, or a signature that counts further was noted meanwhile."""
        rows = await self._database.write(
            "UPDATE passkeys SET sign_count = ?1, used_at = ?2 WHERE id = ?3 AND (?1 > sign_count OR ?1 = 0)"
            " RETURNING id",
            sign_count,
            at,
            passkey.id,
        )
        return bool(rows)

    async def rename(self, user: UserId, passkey: PasskeyId, name: str) -> Passkey | None:
        """Give the user's passkey another name."""
        rows = await self._database.write(
            f"UPDATE passkeys SET name = ? WHERE id = ? AND user = ? RETURNING {_COLUMNS}", name, passkey, user
        )
        return _passkey(rows[0]) if rows else None

    async def delete(self, user: UserId, passkey: PasskeyId) -> bool:
        """Forget the user's passkey: it opens nothing any more."""
        rows = await self._database.write("DELETE FROM passkeys WHERE id = ? AND user = ? RETURNING id", passkey, user)
        return bool(rows)

    async def expect(self, challenge: SecretHash, purpose: Purpose, login: LoginId | None, now: float) -> None:
        """A ceremony has begun: its challenge is good once, for five minutes, for that purpose and that login."""
        async with self._database.transaction() as tx:
            await tx.all("DELETE FROM challenges WHERE expires_at <= ?", now)
            await tx.all(
                "DELETE FROM challenges WHERE hash IN"
                " (SELECT hash FROM challenges ORDER BY expires_at DESC LIMIT -1 OFFSET ?)",
                MOST_CHALLENGES - 1,
            )
            await tx.all(
                "INSERT INTO challenges (hash, purpose, login, expires_at) VALUES (?, ?, ?, ?)",
                challenge,
                purpose,
                login,
                now + CHALLENGE_LIFE,
            )

    async def take(self, challenge: SecretHash, purpose: Purpose, login: LoginId | None, now: float) -> bool:
        """Burn a challenge, whatever comes of it; whether it was one for that purpose and that login."""
        rows = await self._database.write(
            "DELETE FROM challenges WHERE hash = ? RETURNING purpose, login, expires_at", challenge
        )
        return bool(rows) and rows[0][:2] == (purpose, login) and rows[0][2] > now


def _passkey(row: Row) -> Passkey:
    return Passkey(PasskeyId(row[0]), row[1], UserId(row[2]), row[3], row[4], row[5], bool(row[6]), row[7], row[8])
