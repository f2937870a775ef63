"""Sessions that a browser binds to its machine (Device Bound Session Credentials), on this server's side of it.

Owns the challenges, the bound cookie and what a request without it is worth. Once a login is bound, its cookie alone is
nobody's: whoever can't sign loses it, and a browser that says that it can't just now may read for a while. Must never
let a login that was bound become an unbound one, for that is what a thief would ask for.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from dataclasses import dataclass
from typing import Final, TypeAlias

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from server.domain.audit import Deed
from server.domain.bound_session import (
    COOKIE_AGE,
    BoundId,
    Lost,
    Standing,
    SteppedDown,
    instructions,
    judge,
    read_refresh,
    read_registration,
    unquote,
)
from server.domain.clock import Clock
from server.domain.credential import Secret, SecretHash, hash_secret
from server.domain.errors import Unauthenticated
from server.domain.login import Login
from server.domain.proof import Improper
from server.store.audit import Audit
from server.store.bound_sessions import BoundSessions

COOKIE: Final = "__Host-clew-bound"
_ATTRIBUTES: Final = "Path=/; Secure; HttpOnly; SameSite=Lax"
REGISTER: Final = "/dbsc/register"
REFRESH: Final = "/dbsc/refresh"
INVITATION_LIFE: Final = 300.0
"""Seconds after a sign-in within which the browser may register."""


@dataclass(frozen=True, slots=True)
class Held:
    """The browser has signed: its next cookie and challenge. ``body`` tells a new one what is bound."""

    session: BoundId
    cookie: Secret
    challenge: Secret
    body: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """It answered none of our open challenges; here is one."""

    session: BoundId
    challenge: Secret


@dataclass(frozen=True, slots=True)
class Over:
    """There is no such session any more; the browser should forget it."""

    session: str


Refreshed: TypeAlias = Held | Asked | Over


class Broken(Unauthenticated):
    """Sign in first."""

    def __init__(self, login: Login) -> None:
        """Somebody else signs for this login: it has to end."""
        super().__init__(Unauthenticated.__doc__ or "")
        self.login = login


class Bound:
    """Registers, refreshes and judges."""

    def __init__(self, sessions: BoundSessions, audit: Audit, clock: Clock) -> None:
        self._sessions = sessions
        self._audit = audit
        self._clock = clock
        self._secret = secrets.token_bytes(32)

    def invite(self, login: Login) -> str:
        """The Secure-Session-Registration header by which a browser that was just signed in may bind itself.

        The challenge is known to that one response alone: whoever only has the cookie can't bind the login to a key
        of their own.
        """
        at = f"{self._clock.now():.0f}"
        return f'(ES256 RS256);path="{REGISTER}";challenge="{at}.{self._sign(at, login)}"'

    async def register(self, login: Login | None, text: str, base: str) -> Held:
        """Bind the login to the key that a browser has signed with. ``base`` is like ``https://host``.

        Raises Unauthenticated, alike for all that is wrong.
        """
        if login is None:
            raise Unauthenticated
        try:
            signed = read_registration(_header(text), frozenset({base, base + "/", base + REGISTER}))
        except Improper:
            raise Unauthenticated from None
        if not self._is_ours(signed.challenge, login):
            raise Unauthenticated
        begun = await self._sessions.begin(login.id, signed.key, self._clock.now())
        if begun is None:
            raise Unauthenticated
        await self._note("device.bound", login)
        return Held(*begun, instructions(begun[0], COOKIE, _ATTRIBUTES))

    async def refresh(self, login: Login | None, named: str, text: str | None, base: str) -> Refreshed:
        """What to do with a browser that comes for its next cookie; ``text`` is what it signed, if it did.

        Raises Unauthenticated where the cookie is another login's, and Broken where the signature is not the key's.
        """
        name = unquote(named.strip())
        session = await self._sessions.get(BoundId(name)) if 0 < len(name) <= 64 else None
        if session is None:
            return Over(name[:64])
        if login is None or login.id != session.login:
            raise Unauthenticated
        if text is None:
            return Asked(session.id, await self._sessions.ask(session.id))
        try:
            signed = read_refresh(_header(text), session.key, frozenset({base, base + "/", base + REFRESH}))
        except Improper:
            await self._note("device.unbound", login)
            raise Broken(login) from None
        held = await self._sessions.renew(session.id, signed.challenge, self._clock.now())
        return Held(session.id, *held) if held else Asked(session.id, await self._sessions.ask(session.id))

    async def stand(self, login: Login, headers: Headers) -> Standing:
        """What a request of a bound login is worth; a step-down is noted, once."""
        session, now = await self._sessions.of_login(login.id), self._clock.now()
        if session is None:
            return Lost()
        standing = judge(session, _cookie(headers), ",".join(headers.getlist("secure-session-skipped")), now)
        if isinstance(standing, SteppedDown) and standing.is_new:
            await self._sessions.skip(session.id, now)
            await self._note("device.stepped_down", login)
        return standing

    def _is_ours(self, challenge: str, login: Login) -> bool:
        """Whether that login was invited by it, and not long ago."""
        at, _, mac = challenge.partition(".")
        if not at.isdecimal() or not hmac.compare_digest(mac.encode(), self._sign(at, login).encode()):
            return False
        return -1.0 <= self._clock.now() - float(at) <= INVITATION_LIFE

    def _sign(self, at: str, login: Login) -> str:
        made = hmac.digest(self._secret, f"bind {at} {login.id}".encode(), "sha256")
        return base64.urlsafe_b64encode(made).rstrip(b"=").decode()

    async def _note(self, event: str, login: Login) -> None:
        by = Deed(user=login.user, device=login.device)
        await self._audit.append(event, self._clock.now(), by=by, subjects=[login.id])


def headers_of(held: Held) -> list[tuple[str, str]]:
    """What a browser that has signed is told."""
    return [
        ("set-cookie", f"{COOKIE}={held.cookie}; Max-Age={COOKIE_AGE}; {_ATTRIBUTES}"),
        ("secure-session-challenge", _challenge(held.session, held.challenge)),
    ]


def ask(asked: Asked) -> list[tuple[str, str]]:
    """What a browser is told that has to sign once more."""
    return [("secure-session-challenge", _challenge(asked.session, asked.challenge))]


def clear() -> str:
    """The Set-Cookie value that takes the bound cookie away."""
    return f"{COOKIE}=; Max-Age=0; {_ATTRIBUTES}"


def end(over: Over) -> str:
    """The body by which a browser forgets a session."""
    return json.dumps({"session_identifier": over.session, "continue": False})


def is_secure(request: HTTPConnection) -> bool:
    """Whether it came by TLS: nothing is bound over anything else."""
    return request.scope.get("scheme") in ("https", "wss")


def _challenge(session: BoundId, challenge: Secret) -> str:
    return f'"{challenge}";id="{session}"'


def _header(text: str) -> str:
    """A token as it was sent: Chromium sends it bare, the specification in quotes."""
    return unquote(text.strip())


def _cookie(headers: Headers) -> SecretHash | None:
    pairs = (part.strip().partition("=") for value in headers.getlist("cookie") for part in value.split(";"))
    found = {value for name, _, value in pairs if name == COOKIE}
    return hash_secret(found.pop()) if len(found) == 1 else None
