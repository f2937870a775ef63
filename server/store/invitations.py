"""Invitations to this server. Owns that each becomes one user, and that its use and the user are one transaction."""

from __future__ import annotations

from typing import Final

from crdt_docs.ids import UserId, new_id
from server.domain.access import LoginId
from server.domain.credential import Secret, SecretHash, hash_secret, new_secret
from server.domain.errors import Conflict, Unauthenticated
from server.domain.invitation import INVITATION_LIFE, OPEN_AT_ONCE, Invitation, InvitationId
from server.domain.user import User
from server.store.database import Database, Row
from server.store.users import name_key, own_name

_COLUMNS: Final = "id, made_by, created_at, expires_at"


class Invitations:
    """The invitations that are out."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def issue(self, by: UserId, at: float, login: LoginId | None) -> tuple[Invitation, Secret]:
        """Make one; the secret belongs in a URL's fragment. It goes with the device of the login that asks.

        Raises Conflict if too many are out, Unauthenticated if the login has ended meanwhile.
        """
        made = Invitation(InvitationId(new_id()), by, at, at + INVITATION_LIFE)
        secret = new_secret()
        async with self._database.transaction() as tx:
            device = await tx.one("SELECT device FROM logins WHERE id = ? AND user = ?", login, by)
            if device is None:
                raise Unauthenticated
            await tx.all("DELETE FROM invitations WHERE expires_at <= ? OR used_at IS NOT NULL", at)
            rows = await tx.all(
                "INSERT INTO invitations (id, hash, made_by, created_at, expires_at, device)"
                " SELECT ?1, ?2, ?3, ?4, ?5, ?7 WHERE (SELECT count(*) FROM invitations) < ?6 RETURNING id",
                made.id, hash_secret(secret), by, at, made.expires_at, OPEN_AT_ONCE, device[0],
            )  # fmt: skip
        if not rows:
            raise Conflict("Too many invitations are out that nobody has used; take some back first.")
        return made, secret

    async def of_user(self, by: UserId, now: float) -> list[Invitation]:
        """Those of the user that are still good, the latest first."""
        rows = await self._database.all(
            f"SELECT {_COLUMNS} FROM invitations WHERE made_by = ? AND used_at IS NULL AND expires_at > ?"
            " ORDER BY created_at DESC, id",
            by,
            now,
        )
        return [_invitation(row) for row in rows]

    async def delete(self, by: UserId, invitation: InvitationId) -> bool:
        """Take one back."""
        return bool(
            await self._database.write(
                "DELETE FROM invitations WHERE id = ? AND made_by = ? AND used_at IS NULL RETURNING id", invitation, by
            )
        )

    async def is_good(self, secret: SecretHash, now: float) -> bool:
        """Whether it can still be used. Tells of the secret's holder nothing, and burns nothing."""
        return bool(
            await self._database.one(
                "SELECT 1 FROM invitations WHERE hash = ? AND used_at IS NULL AND expires_at > ?", secret, now
            )
        )

    async def accept(self, secret: SecretHash, name: str, now: float) -> User | None:
        """Burn it and make the user, both or neither; None if it is not good. Raises Conflict if the name is taken."""
        user = User(UserId(new_id()), own_name(name), now)
        async with self._database.transaction() as tx:
            burned = await tx.one(
                "UPDATE invitations SET used_at = ?1 WHERE hash = ?2 AND used_at IS NULL AND expires_at > ?1"
                " AND EXISTS (SELECT 1 FROM users WHERE id = made_by) RETURNING id",
                now,
                secret,
            )
            if burned is None:
                return None
            made = await tx.one(
                "INSERT INTO users (id, name, name_key, created_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (name_key) DO NOTHING RETURNING id",
                user.id, user.name, name_key(user.name), now,
            )  # fmt: skip
            if made is None:
                raise Conflict(f"There is already a user named {user.name}.")
        return user


def _invitation(row: Row) -> Invitation:
    return Invitation(InvitationId(row[0]), UserId(row[1]), row[2], row[3])
