"""Who people are elsewhere, and sign-ins that go by way of an identity provider.

Owns that a user is found by (issuer, subject) and by nothing else, that a flow's state is taken once, and that a logout
token is heard once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from crdt_docs.ids import UserId
from server.domain.credential import SecretHash
from server.domain.errors import Unauthenticated
from server.domain.login import LoginId
from server.store.database import Database

FLOW_LIFE: Final = 600.0
MOST_FLOWS: Final = 10_000
"""Sign-ins under way at a time: anybody may begin one, so the oldest make room."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A sign-in that is under way. ``login`` is whose identity it adds, ``invitation`` whom it lets become a user."""

    browser: SecretHash
    nonce: str
    verifier: str
    redirect: str
    login: LoginId | None = None
    invitation: SecretHash | None = None
    key: str | None = None


class Identities:
    """Identities at other places, and the way there and back."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, issuer: str, subject: str) -> UserId | None:
        """Whose identity that is."""
        row = await self._database.one("SELECT user FROM identities WHERE issuer = ? AND subject = ?", issuer, subject)
        return UserId(row[0]) if row else None

    async def add(self, issuer: str, subject: str, user: UserId, at: float, *, login: LoginId | None = None) -> UserId:
        """Make it the user's, if it is nobody's yet; whose it is then.

        ``login`` is who asks for it, if somebody does who is in: Unauthenticated if that has ended meanwhile.
        """
        async with self._database.transaction() as tx:
            if login and not await tx.one("SELECT 1 FROM logins WHERE id = ? AND user = ?", login, user):
                raise Unauthenticated
            await tx.all(
                "INSERT INTO identities (issuer, subject, user, created_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (issuer, subject) DO NOTHING",
                issuer, subject, user, at,
            )  # fmt: skip
            row = await tx.one("SELECT user FROM identities WHERE issuer = ? AND subject = ?", issuer, subject)
        return UserId(row[0]) if row else user

    async def issuers(self, user: UserId) -> list[str]:
        """Where the user is known."""
        rows = await self._database.all("SELECT DISTINCT issuer FROM identities WHERE user = ? ORDER BY issuer", user)
        return [row[0] for row in rows]

    async def begin(self, state: SecretHash, flow: Flow, now: float) -> None:
        """Somebody goes to the provider."""
        async with self._database.transaction() as tx:
            await tx.all("DELETE FROM oidc_flows WHERE expires_at <= ?", now)
            await tx.all(
                "DELETE FROM oidc_flows WHERE state IN"
                " (SELECT state FROM oidc_flows ORDER BY expires_at DESC LIMIT -1 OFFSET ?)",
                MOST_FLOWS - 1,
            )
            await tx.all(
                "INSERT INTO oidc_flows (state, browser, nonce, verifier, redirect, login, invitation, key, expires_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                state, flow.browser, flow.nonce, flow.verifier, flow.redirect, flow.login, flow.invitation, flow.key,
                now + FLOW_LIFE,
            )  # fmt: skip

    async def take(self, state: SecretHash, now: float) -> Flow | None:
        """Somebody comes back: the flow, once."""
        rows = await self._database.write(
            "DELETE FROM oidc_flows WHERE state = ?"
            " RETURNING browser, nonce, verifier, redirect, login, invitation, key, expires_at",
            state,
        )
        return Flow(*rows[0][:7]) if rows and rows[0][7] > now else None

    async def holder(self, flow: Flow) -> UserId | None:
        """Whose login has begun the flow, if it is still one."""
        row = await self._database.one("SELECT user FROM logins WHERE id = ?", flow.login)
        return UserId(row[0]) if row else None

    async def note(self, login: LoginId, issuer: str, subject: str, sid: str | None) -> None:
        """The provider has opened that login."""
        await self._database.write(
            "INSERT INTO oidc_logins (login, issuer, subject, sid) VALUES (?, ?, ?, ?)", login, issuer, subject, sid
        )

    async def opened(self, issuer: str, subject: str | None, sid: str | None) -> list[tuple[UserId, LoginId]]:
        """The logins that the provider has opened for that subject, that session of it, or both."""
        rows = await self._database.all(
            "SELECT l.user, l.id FROM oidc_logins o"
            " JOIN logins l ON l.id = o.login WHERE o.issuer = ?1 AND (?2 IS NULL OR o.subject = ?2)"
            " AND (?3 IS NULL OR o.sid = ?3) AND NOT (?2 IS NULL AND ?3 IS NULL)",
            issuer,
            subject,
            sid,
        )
        return [(UserId(user), LoginId(login)) for user, login in rows]

    async def hear(self, jti: SecretHash, now: float, until: float) -> bool:
        """Note a logout token until it has expired; False if it was heard before."""
        async with self._database.transaction() as tx:
            await tx.all("DELETE FROM oidc_logouts WHERE expires_at <= ?", now)
            row = await tx.one(
                "INSERT INTO oidc_logouts (jti, expires_at) VALUES (?, ?) ON CONFLICT (jti) DO NOTHING RETURNING 1",
                jti,
                until,
            )
        return row is not None
