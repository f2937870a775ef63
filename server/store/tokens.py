"""Secrets that let someone in for a while or once: bearers, cookie logins, one-time links.

Owns their rows. A secret leaves this file once, where it is made; what is stored is its hash.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from crdt_docs.ids import AgentId, DeviceId, TaskId, TokenId, UserId, new_id
from server.domain.access import Proven, Role
from server.domain.credential import COOKIE_LIFE, LINK_LIFE, Secret, Token, TokenKind, hash_secret, new_secret
from server.domain.errors import NotFound, Unauthenticated
from server.domain.login import Link, Login, LoginId, Visit
from server.domain.user import User
from server.store.database import Database, Row, Statements
from server.store.users import find_user

_TOKEN: Final = (
    "id, user, device, task, role, created_at, expires_at, revoked_at, kind, agent,"
    " (SELECT name FROM agents a WHERE a.id = tokens.agent),"
    " EXISTS (SELECT 1 FROM agents a WHERE a.id = tokens.agent AND a.user IS NULL)"
)
_FIND: Final = (
    f"SELECT {_TOKEN} FROM tokens WHERE hash = ? AND expires_at > ? AND revoked_at IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM devices d WHERE d.id = tokens.device AND d.revoked_at IS NOT NULL)"
)
_GIVEN: Final = "SELECT given FROM turns WHERE host = ? AND given IS NOT NULL"
_LOGIN: Final = "id, user, device, created_at, expires_at, proven_at, task, role, proven_by"
_DEVICE: Final = (
    "(SELECT thumbprint FROM device_keys k WHERE k.device = logins.device),"
    " EXISTS (SELECT 1 FROM bound_sessions b WHERE b.login = logins.id)"
)


class Tokens:
    """Bearers for scripts and agents."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def issue(
        self,
        user: UserId,
        *,
        role: Role,
        at: float,
        expires_at: float,
        task: TaskId | None = None,
        device: DeviceId | None = None,
        agent: AgentId | None = None,
    ) -> tuple[Token, Secret]:
        """Make a bearer, bounded to the task if one is named; with an agent, one by which the agent's host comes in.

        Raises NotFound if the user is not on that task.
        """
        kind: TokenKind = "user" if agent is None else "host"
        token = Token(TokenId(new_id()), user, device, task, role, at, expires_at, kind=kind, agent=agent)
        secret = new_secret()
        rows = await self._database.write(
            "INSERT INTO tokens (id, hash, user, device, task, role, created_at, expires_at, kind, agent)"
            " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10"
            " WHERE (?5 IS NULL OR EXISTS (SELECT 1 FROM members WHERE task = ?5 AND user = ?3))"
            " AND (?4 IS NULL OR EXISTS (SELECT 1 FROM devices WHERE id = ?4 AND user = ?3 AND revoked_at IS NULL))"
            " RETURNING id",
            token.id,
            hash_secret(secret),
            user,
            device,
            task,
            role,
            at,
            expires_at,
            kind,
            agent,
        )
        if not rows:
            raise NotFound()
        return token, secret

    async def find(self, secret: str, now: float) -> Token | None:
        """The bearer with that secret, if it is alive: not expired, not revoked, its device not either."""
        found = await self.find_with_user(secret, now)
        return found[0] if found else None

    async def find_with_user(self, secret: str, now: float) -> tuple[Token, User] | None:
        """The same, and whose it is. Never kept: its revocation takes effect at once."""
        digest = hash_secret(secret)

        def find(tx: Statements) -> tuple[Token, User] | None:
            row = tx.one(_FIND, digest, now)
            user = find_user(tx, UserId(row[1])) if row else None
            return (_token(row), user) if row and user else None

        return await self._database.read(find)

    async def get(self, user: UserId, token: TokenId) -> Token | None:
        """The user's bearer, alive or not, without its secret."""
        row = await self._database.one(f"SELECT {_TOKEN} FROM tokens WHERE id = ? AND user = ?", token, user)
        return _token(row) if row else None

    async def of_user(self, user: UserId) -> list[Token]:
        """The user's bearers, alive or not, the latest first. Not the grants that agents got for their turns."""
        rows = await self._database.all(
            f"SELECT {_TOKEN} FROM tokens WHERE user = ? AND kind <> 'grant' ORDER BY created_at DESC, id", user
        )
        return [_token(row) for row in rows]

    async def given_by(self, host: TokenId) -> list[TokenId]:
        """The grants that were given by a host's bearer."""
        return [TokenId(row[0]) for row in await self._database.all(_GIVEN, host)]

    async def revoke_grants(self, task: TaskId, user: UserId, at: float) -> None:
        """End what agents were given for the user on the task."""
        await self._database.write(
            "UPDATE tokens SET revoked_at = ? WHERE kind = 'grant' AND task = ? AND user = ? AND revoked_at IS NULL",
            at,
            task,
            user,
        )

    async def revoke(self, user: UserId, token: TokenId, at: float) -> Token | None:
        """End the user's bearer now, and what it asked for: tickets, an agent's grants. Again is the same as once."""
        async with self._database.transaction() as tx:
            row = await tx.one(
                f"UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ? AND user = ? RETURNING {_TOKEN}",
                at,
                token,
                user,
            )
            if row is not None:
                await tx.all("DELETE FROM tickets WHERE token = ?", token)
                await tx.all(
                    f"UPDATE tokens SET revoked_at = ? WHERE id IN ({_GIVEN}) AND revoked_at IS NULL", at, token
                )
        return _token(row) if row else None


class Logins:
    """Browsers that are signed in, by their cookies."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def issue(
        self,
        user: UserId,
        device: DeviceId,
        at: float,
        life: float = COOKIE_LIFE,
        *,
        proven: Proven | None = None,
        visit: Visit | None = None,
    ) -> tuple[Login, Secret]:
        """Sign the user's device in for ``life`` seconds; ``proven`` is how the person has shown who they are.

        Raises NotFound if the device is not theirs or revoked.
        """
        task, role = (visit.task, visit.role) if visit is not None else (None, None)
        life = visit.life if visit is not None else life
        by, proven_at = proven if proven is not None else (None, None)
        login, secret = Login(LoginId(new_id()), user, device, at, at + life, proven_at, task, role), new_secret()
        login = replace(login, proven_by=by)
        async with self._database.transaction() as tx:
            await tx.all("DELETE FROM logins WHERE expires_at <= ?", at)
            await tx.all("DELETE FROM revoked_logins WHERE expires_at <= ?", at)
            rows = await tx.all(
                "INSERT INTO logins (id, hash, user, device, created_at, expires_at, proven_at, task, role, proven_by)"
                " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10"
                " WHERE EXISTS (SELECT 1 FROM devices WHERE id = ?4 AND user = ?3 AND revoked_at IS NULL) RETURNING id",
                login.id,
                hash_secret(secret),
                user,
                device,
                at,
                login.expires_at,
                login.proven_at,
                task,
                role,
                by,
            )
        if not rows:
            raise NotFound()
        return login, secret

    async def find(self, secret: str, now: float) -> Login | None:
        """The login with that cookie, and what it must come with, if it is alive and its device is not revoked."""
        row = await self._database.one(
            f"SELECT {_LOGIN}, {_DEVICE} FROM logins WHERE hash = ? AND expires_at > ?"
            " AND NOT EXISTS (SELECT 1 FROM devices d WHERE d.id = logins.device AND d.revoked_at IS NOT NULL)",
            hash_secret(secret),
            now,
        )
        return replace(_login(row), key=row[9], bound=bool(row[10])) if row else None

    async def was_revoked(self, secret: str, now: float) -> bool:
        """Whether that cookie was good until its device was revoked."""
        row = await self._database.one(
            "SELECT 1 FROM revoked_logins WHERE hash = ? AND expires_at > ?", hash_secret(secret), now
        )
        return row is not None

    async def of_user(self, user: UserId) -> list[Login]:
        """The user's logins, the latest first."""
        rows = await self._database.all(
            f"SELECT {_LOGIN} FROM logins WHERE user = ? ORDER BY created_at DESC, id", user
        )
        return [_login(row) for row in rows]

    async def get(self, user: UserId, login: LoginId) -> Login | None:
        """The user's login, if its browser was not signed out."""
        row = await self._database.one(f"SELECT {_LOGIN} FROM logins WHERE id = ? AND user = ?", login, user)
        return _login(row) if row else None

    async def visits(self, user: UserId, now: float) -> dict[DeviceId, tuple[TaskId, float]]:
        """Which of the user's devices are visiting: on what task, and until when (Unix seconds)."""
        rows = await self._database.all(
            "SELECT device, task, expires_at FROM logins WHERE user = ? AND task IS NOT NULL AND expires_at > ?",
            user,
            now,
        )
        return {DeviceId(row[0]): (TaskId(row[1]), row[2]) for row in rows}

    async def keep(self, user: UserId, device: DeviceId, at: float, proven: Proven | None) -> bool:
        """Let the logins of a device that is visiting be for all of the user's tasks; False if none is.

        What they have proven is then no more than ``proven``, which is the keeper's.
        """
        rows = await self._database.write(
            "UPDATE logins SET task = NULL, role = NULL, expires_at = ?1, proven_at = min(proven_at, ?4),"
            " proven_by = iif(min(proven_at, ?4) IS NULL, NULL, proven_by)"
            " WHERE user = ?2 AND device = ?3 AND task IS NOT NULL AND expires_at > ?5 RETURNING id",
            at + COOKIE_LIFE,
            user,
            device,
            proven.at if proven is not None else None,
            at,
        )
        return bool(rows)

    async def extend(self, user: UserId, login: LoginId, expires_at: float) -> Login | None:
        """Let the login live until then; never shorter than it would."""
        rows = await self._database.write(
            f"UPDATE logins SET expires_at = max(expires_at, ?) WHERE id = ? AND user = ? RETURNING {_LOGIN}",
            expires_at,
            login,
            user,
        )
        return _login(rows[0]) if rows else None

    async def prove(self, user: UserId, login: LoginId, at: float) -> bool:
        """Note that the person has just shown that it is them, by a passkey; False if that login is gone."""
        rows = await self._database.write(
            "UPDATE logins SET proven_at = max(coalesce(proven_at, 0), ?), proven_by = 'passkey'"
            " WHERE id = ? AND user = ? RETURNING id",
            at,
            login,
            user,
        )
        return bool(rows)

    async def rotate(self, user: UserId, login: LoginId) -> Secret | None:
        """Change the login's cookie: the old one is dead. None if there is no such login of theirs any more."""
        secret = new_secret()
        rows = await self._database.write(
            "UPDATE logins SET hash = ? WHERE id = ? AND user = ? RETURNING id", hash_secret(secret), login, user
        )
        return secret if rows else None

    async def revoke(self, user: UserId, login: LoginId) -> Login | None:
        """Sign out: the cookie is dead, and so are the device's tickets."""
        async with self._database.transaction() as tx:
            row = await tx.one(f"DELETE FROM logins WHERE id = ? AND user = ? RETURNING {_LOGIN}", login, user)
            if row is not None:
                await tx.all("DELETE FROM tickets WHERE device = ?", row[2])
        return _login(row) if row else None


class Links:
    """One-time sign-in links."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def issue(self, user: UserId, at: float, life: float = LINK_LIFE, *, login: LoginId | None = None) -> Secret:
        """Make a link; the secret belongs in a URL's fragment. Raises Conflict if there is no such user.

        ``login`` is whose browser asks, if one does: Unauthenticated unless it still stands, and the link goes with its
        device.
        """
        secret = new_secret()
        async with self._database.transaction() as tx:
            await tx.all("DELETE FROM links WHERE expires_at <= ?", at)
            rows = await tx.all(
                "INSERT INTO links (hash, user, created_at, expires_at, device)"
                " SELECT ?1, ?2, ?3, ?4, (SELECT device FROM logins WHERE id = ?5)"
                " WHERE ?5 IS NULL OR EXISTS (SELECT 1 FROM logins WHERE id = ?5 AND user = ?2) RETURNING user",
                hash_secret(secret),
                user,
                at,
                at + life,
                login,
            )
        if not rows:
            raise Unauthenticated
        return secret

    async def redeem(self, secret: str, now: float) -> Link | None:
        """Burn the link. Of all who try at once, one gets it; None for used, expired and unknown alike."""
        rows = await self._database.write(
            "UPDATE links SET used_at = ?1 WHERE hash = ?2 AND used_at IS NULL AND expires_at > ?1"
            " RETURNING user, created_at, expires_at",
            now,
            hash_secret(secret),
        )
        return Link(UserId(rows[0][0]), rows[0][1], rows[0][2]) if rows else None

    async def user(self, secret: str, now: float) -> UserId | None:
        """Whom the link would sign in; it is not burned by asking."""
        row = await self._database.one(
            "SELECT user FROM links WHERE hash = ? AND used_at IS NULL AND expires_at > ?", hash_secret(secret), now
        )
        return UserId(row[0]) if row else None

    async def void(self, user: UserId) -> None:
        """Burn every link of the user that was not used."""
        await self._database.write("DELETE FROM links WHERE user = ? AND used_at IS NULL", user)


def _token(row: Row) -> Token:
    device = DeviceId(row[2]) if row[2] else None
    task = TaskId(row[3]) if row[3] else None
    agent = AgentId(row[9]) if row[9] else None
    return Token(
        TokenId(row[0]),
        UserId(row[1]),
        device,
        task,
        Role(row[4]),
        row[5],
        row[6],
        row[7],
        row[8],
        agent,
        row[10] or "",
        bool(row[11]),
    )


def _login(row: Row) -> Login:
    task, role = (TaskId(row[6]), Role(row[7])) if row[6] else (None, None)
    login = Login(LoginId(row[0]), UserId(row[1]), DeviceId(row[2]), row[3], row[4], row[5], task, role)
    return replace(login, proven_by=row[8])
