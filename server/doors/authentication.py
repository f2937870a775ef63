"""Who is asking? Owns the ways in: a browser's cookie, a bearer, a ticket. Must never decide what they may do.

A cookie opens requests and no socket: browsers attach it to whatever page asks, and where its device has a key, it is
nobody's without a proof by that key. Sockets take a ticket, which only our own page can fetch, or a bearer. Every
refusal is the same Unauthenticated, whatever was wrong, and names no secret.
A principal is dated before its credential is looked up, so that a revocation which commits meanwhile still catches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeGuard

from starlette.datastructures import Headers

from crdt_docs.ids import TaskId, UserId
from server.domain.access import LoginId, Principal, Role
from server.domain.bound_session import Lost, Standing
from server.domain.clock import Clock
from server.domain.credential import LEASE, Token, TokenKind
from server.domain.device import Level
from server.domain.errors import Unauthenticated
from server.domain.login import Login
from server.domain.proof import Target, Thumbprint
from server.domain.user import User
from server.doors.built_in import BuiltIn
from server.doors.cookie import Cookies
from server.doors.device_check import DeviceCheck, Shown
from server.store.device_keys import DeviceKeys
from server.store.tickets import Tickets
from server.store.tokens import Logins, Tokens
from server.store.users import Users

SUBPROTOCOL: Final = "clew.v1"
_LONGEST: Final = 200
"""Characters of a secret that are looked at; ours have 43."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """The stores of what lets someone in."""

    users: Users
    logins: Logins
    tokens: Tokens
    tickets: Tickets
    device_keys: DeviceKeys


class Authentication:
    """Turns credentials into principals. ``built_in`` is the way in of the server's own agent, if it has one."""

    def __init__(
        self, keyring: Keyring, cookies: Cookies, clock: Clock, check: DeviceCheck, built_in: BuiltIn | None = None
    ) -> None:
        self._keyring = keyring
        self._cookies = cookies
        self._clock = clock
        self._check = check
        self._built_in = built_in

    async def of_request(self, headers: Headers, target: Target | None = None) -> Principal:
        """Who sends this request: the bearer if there is one, else the cookie's. Raises Unauthenticated.

        ``target`` is what the request asks for; without it nothing can be proven.
        """
        if "authorization" in headers:
            secret = _bearer(headers, "dpop")
            if secret is not None:
                return await self._by_key(secret, headers, target)
            return await self._by_bearer(_bearer(headers))
        since = self._clock.monotonic()
        login = await self.login(headers)
        if login is None:
            raise await self._refusal(headers)
        user = await self._user(login.user)
        return _proven(_of_login(login, user, since), await self._check.of(login, headers, target))

    async def _refusal(self, headers: Headers) -> Unauthenticated:
        """Nobody; or a device that was revoked: only who has its cookie is told, so that its page keeps nothing."""
        secret = self._cookies.read(headers)
        revoked = _plausible(secret) and await self._keyring.logins.was_revoked(secret, self._clock.now())
        return Unauthenticated(reason="revoked" if revoked else None)

    def nonce(self) -> str:
        """What the next proof has to repeat."""
        return self._check.proofs.nonces.issue()

    async def login(self, headers: Headers) -> Login | None:
        """The living login that the cookie stands for; whether it is a copy of the cookie is not looked at."""
        secret = self._cookies.read(headers)
        return await self._keyring.logins.find(secret, self._clock.now()) if _plausible(secret) else None

    async def present(self, headers: Headers, key: Thumbprint | None) -> tuple[Login | None, Standing]:
        """The login whose cookie somebody brings who comes in and has shown this key, or none, and what it is worth.

        A copy of the cookie is nobody's.
        """
        login = await self.login(headers)
        if login is None:
            return None, Lost()
        return login, await self._check.stand(login, headers, key)

    async def of_socket(
        self, headers: Headers, subprotocols: Sequence[str], task: TaskId, family: int | None = None
    ) -> tuple[Principal, str | None]:
        """Who opens a socket to the task, and the subprotocol to select, which never is the credential.

        Takes exactly one of ``ticket.…`` and ``token.…`` beside ``clew.v1``, or an Authorization header. Raises
        Unauthenticated; then accept with ``chosen(subprotocols)`` and close 4401, so that the client learns why.
        """
        offered = [name for name in subprotocols if name.startswith(("ticket.", "token."))]
        if "authorization" in headers:
            if offered:
                raise Unauthenticated
            return await self._by_bearer(_bearer(headers)), chosen(subprotocols)
        if len(offered) != 1 or SUBPROTOCOL not in subprotocols:
            raise Unauthenticated
        return await self.of_secret(offered[0], task, family), SUBPROTOCOL

    async def of_secret(self, text: str, task: TaskId, family: int | None = None) -> Principal:
        """Who sends ``ticket.…``, ``token.…`` or a bare bearer, as Hocuspocus does in a message. Raises the same.

        ``family`` is the version of IP that it comes by, where that is known.
        """
        kind, _, secret = text.rpartition(".")
        if kind == "ticket":
            return await self._by_ticket(secret, task, family)
        if kind in ("token", ""):
            return await self._by_bearer(secret)
        raise Unauthenticated

    async def renew(self, ticket: str, held: Principal) -> Principal:
        """The principal of a ticket connection with its lease begun anew, by a fresh ticket of the same session.

        Raises Unauthenticated, also if the ticket is somebody else's, another device's or for another task.
        """
        if held.task is None:
            raise Unauthenticated
        fresh = await self._by_ticket(ticket.removeprefix("ticket."), held.task)
        same = (fresh.user, fresh.device, fresh.token) == (held.user, held.device, held.token)
        if not same or fresh.session not in (None, held.session):
            raise Unauthenticated
        return replace(fresh, session=held.session)

    async def _by_ticket(self, secret: str, task: TaskId, family: int | None = None) -> Principal:
        now, since = self._clock.now(), self._clock.monotonic()
        ticket = await self._keyring.tickets.redeem(secret, task, now, family) if _plausible(secret) else None
        if ticket is None:
            raise Unauthenticated
        user = await self._user(ticket.user)
        principal = Principal(
            user.id,
            user.name,
            device=ticket.device,
            session=ticket.session,
            task=task,
            expires_at=now + LEASE,
            authenticated_at=since,
        )
        if ticket.login is not None:
            principal = _proven(await self._by_login(principal, ticket.login), Shown(ticket.level, ticket.reads_until))
        if ticket.token is None:
            return principal
        token = await self._keyring.tokens.get(ticket.user, ticket.token)
        if token is None or token.kind != "user":
            raise Unauthenticated
        return replace(principal, token=token.id, cap=token.role, expires_at=min(now + LEASE, token.expires_at))

    async def _by_login(self, principal: Principal, login: LoginId) -> Principal:
        """The principal of a ticket, bounded as the login behind it is now. Raises Unauthenticated if that ended."""
        held = await self._keyring.logins.get(principal.user, login)
        ends = principal.expires_at or 0.0
        if held is None or held.expires_at <= self._clock.now() or held.task not in (None, principal.task):
            raise Unauthenticated
        return replace(
            principal,
            cap=held.role or Role.OWNER,
            expires_at=min(ends, held.expires_at),
            proven_at=held.proven_at,
            proven_by=held.proven_by,
            login=held.id,
            visiting=held.task is not None,
        )

    async def _by_key(self, secret: str, headers: Headers, target: Target | None) -> Principal:
        """Who has a bearer and proves that the key of its device is theirs (RFC 9449 section 7.1)."""
        principal = await self._by_bearer(secret)
        key = await self._keyring.device_keys.of(principal.device) if principal.device is not None else None
        self._check.proofs.require(headers, target, key, secret)
        return replace(principal, level=Level.SOFTWARE)

    async def _by_bearer(self, secret: str | None) -> Principal:
        now, since = self._clock.now(), self._clock.monotonic()
        if not _plausible(secret):
            raise Unauthenticated
        host = self._built_in.find(secret, since) if self._built_in is not None else None
        if host is not None:
            return host
        found = await self._keyring.tokens.find_with_user(secret, now)
        if found is None:
            raise Unauthenticated
        return _of_token(*found, since)

    async def _user(self, user: UserId) -> User:
        found = await self._keyring.users.get(user)
        if found is None:
            raise Unauthenticated
        return found


def chosen(subprotocols: Sequence[str]) -> str | None:
    """What to select of what was offered."""
    return SUBPROTOCOL if SUBPROTOCOL in subprotocols else None


def _of_login(login: Login, user: User, since: float) -> Principal:
    return Principal(
        user.id,
        user.name,
        device=login.device,
        task=login.task,
        cap=login.role or Role.OWNER,
        expires_at=login.expires_at,
        authenticated_at=since,
        proven_at=login.proven_at,
        proven_by=login.proven_by,
        login=login.id,
        visiting=login.task is not None,
    )


def _of_token(token: Token, user: User, since: float) -> Principal:
    kinds: dict[TokenKind, Literal["user", "agent", "host"]] = {"user": "user", "host": "host", "grant": "agent"}
    return Principal(
        user.id,
        user.name if token.agent is None else token.agent_name,
        kinds[token.kind],
        token.agent,
        device=token.device,
        token=token.id,
        task=token.task,
        cap=token.role,
        expires_at=token.expires_at,
        authenticated_at=since,
        housed=token.housed,
    )


def _proven(principal: Principal, shown: Shown) -> Principal:
    """The principal with what its device has shown; who could not show enough reads for a while, and no more."""
    if shown.reads_until is None:
        return replace(principal, level=shown.level)
    ends = shown.reads_until if principal.expires_at is None else min(shown.reads_until, principal.expires_at)
    return replace(
        principal, level=shown.level, cap=min(principal.cap, Role.VIEWER), expires_at=ends, stepped_down=True
    )


def _bearer(headers: Headers, wanted: str = "bearer") -> str | None:
    given = headers.getlist("authorization")
    scheme, _, secret = given[0].partition(" ")
    return secret.strip() if len(given) == 1 and scheme.lower() == wanted else None


def _plausible(secret: str | None) -> TypeGuard[str]:
    """Whether it could be one of ours, so that a header of a megabyte is not even hashed."""
    return secret is not None and 0 < len(secret) <= _LONGEST and secret.isascii()
