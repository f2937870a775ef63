"""Sign-in by way of an organisation: OpenID Connect, code flow with PKCE. Owns each flow from its state to its verdict.

A flow is one browser's, begun by it and ended by it, once. People are known by issuer and subject, never by an address.
Who is not known comes in only by an invitation, or where the operator has said that all of the organisation may. Must
never tell the browser which check has failed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from server.domain.clock import Clock
from server.domain.credential import Secret, SecretHash, hash_secret, new_secret
from server.domain.errors import Conflict, Forbidden, Invalid, Unauthenticated
from server.domain.login import Login
from server.domain.proof import Thumbprint
from server.domain.user import User
from server.doors.links import Arrival, Entered, Threshold
from server.doors.provider import LOGOUT_EVENT, Claims, Provider, Untrue
from server.doors.revocation import Revocation
from server.store.identities import Flow, Identities
from server.store.invitations import Invitations
from server.store.users import MAX_NAME, own_name

LONGEST_SUBJECT: Final = 255
LOGOUT_LATEST: Final = 300.0
"""Seconds after which a logout token says nothing any more."""
_NAMESAKES: Final = 100


@dataclass(frozen=True, slots=True)
class Sent:
    """Where the browser goes now, and the secret of the cookie by which it is known again."""

    url: str
    browser: Secret


@dataclass(frozen=True, slots=True)
class Back:
    """A browser that has come back: signed in, or None where it was in already and now has one more way in."""

    entered: Entered | None


class OidcDoor:
    """Lets in whom the provider vouches for."""

    def __init__(
        self,
        provider: Provider,
        identities: Identities,
        invitations: Invitations,
        threshold: Threshold,
        revocation: Revocation,
        clock: Clock,
    ) -> None:
        self.provider = provider
        self._identities = identities
        self._invitations = invitations
        self._over = threshold
        self._revocation = revocation
        self._clock = clock

    async def begin(
        self, redirect: str, *, login: Login | None = None, invitation: str | None = None, key: Thumbprint | None = None
    ) -> Sent:
        """Send a browser to the provider. ``login`` wants the identity added; ``key`` is its device's thumbprint."""
        there, own = await self.provider.metadata(), self.provider.organisation
        state, nonce, verifier, browser = new_secret(), new_secret(), new_secret(), new_secret()
        invited = hash_secret(invitation) if invitation is not None else None
        if invited is not None and not await self._invitations.is_good(invited, self._clock.now()):
            raise Unauthenticated("This invitation was used, has expired, or never was one.")
        flow = Flow(hash_secret(browser), nonce, verifier, redirect, login.id if login else None, invited, key)
        await self._identities.begin(hash_secret(state), flow, self._clock.now())
        digest = hashlib.sha256(verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": own.client,
            "redirect_uri": redirect,
            "scope": "openid profile",
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        separator = "&" if "?" in there.authorization else "?"
        return Sent(f"{there.authorization}{separator}{urlencode(query)}", browser)

    async def end(self, query: Mapping[str, str], redirect: str, browser: str | None, arrival: Arrival) -> Back:
        """Take a browser back from the provider.

        Raises Untrue for what can't be believed, Forbidden if the provider or we let nobody like that in, Conflict for
        an identity that is somebody else's.
        """
        flow = await self._identities.take(hash_secret(query.get("state", "")), self._clock.now())
        if flow is None or flow.redirect != redirect or not _is_same(flow.browser, browser):
            raise Untrue
        await self._check_issuer(query.get("iss"))
        if "error" in query:
            raise Forbidden("The organisation did not let you in.")
        token = await self.provider.exchange(query.get("code", ""), flow.verifier, redirect)
        claims, _ = await self.provider.read(token)
        if not isinstance(claims.get("nonce"), str) or not hmac.compare_digest(claims["nonce"], flow.nonce):
            raise Untrue
        return await self._let_in(flow, claims, arrival)

    async def log_out(self, token: str) -> int:
        """End the logins that a logout token names (OpenID Connect Back-Channel Logout 1.0); how many. Raises Untrue.

        By the same road as every sign-out: when this returns, their sockets take and give nothing any more.
        """
        claims, header = await self.provider.read(token)
        issuer, now = self.provider.organisation.issuer, self._clock.now()
        events, jti = claims.get("events"), claims.get("jti")
        subject, sid = claims.get("sub"), claims.get("sid")
        if str(header.get("typ", "JWT")).lower() not in ("logout+jwt", "jwt") or "nonce" in claims:
            raise Untrue
        if not isinstance(events, dict) or not isinstance(events.get(LOGOUT_EVENT), dict):
            raise Untrue
        if not isinstance(jti, str) or (subject is None and sid is None) or claims["iat"] < now - LOGOUT_LATEST:
            raise Untrue
        if not all(one is None or isinstance(one, str) for one in (subject, sid)):
            raise Untrue
        if not await self._identities.hear(hash_secret(f"{issuer} {jti}"), now, now + 2 * LOGOUT_LATEST):
            raise Untrue
        opened = await self._identities.opened(issuer, subject, sid)
        for user, id in opened:
            login = await self._over.logins.get(user, id)
            if login is not None:
                await self._revocation.login(login)
        return len(opened)

    async def _check_issuer(self, named: str | None) -> None:
        """RFC 9207: a provider that says who it is must be the one that was asked; one that promises to must say it."""
        promised = (await self.provider.metadata()).names_itself
        if (named is None and promised) or (named is not None and named != self.provider.organisation.issuer):
            raise Untrue

    async def _let_in(self, flow: Flow, claims: Claims, arrival: Arrival) -> Back:
        issuer, subject, now = self.provider.organisation.issuer, claims.get("sub"), self._clock.now()
        if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT:
            raise Untrue
        if flow.login is not None:
            await self._add_identity(flow, issuer, subject, now)
            return Back(None)
        if flow.key is not None:
            arrival = replace(arrival, key=Thumbprint(flow.key))
        known = await self._identities.find(issuer, subject)
        user = await self._over.users.get(known) if known is not None else await self._welcome(flow, claims, subject)
        if user is None:
            raise Untrue
        entered = await self._over.enter(user, arrival, now, "organisation.entered")
        sid = claims.get("sid")
        await self._identities.note(entered.login.id, issuer, subject, sid if isinstance(sid, str) else None)
        return Back(entered)

    async def _add_identity(self, flow: Flow, issuer: str, subject: str, now: float) -> None:
        user = await self._identities.holder(flow)
        if user is None:
            raise Untrue
        if await self._identities.add(issuer, subject, user, now, login=flow.login) != user:
            raise Conflict("That account of the organisation is another user's here.")

    async def _welcome(self, flow: Flow, claims: Claims, subject: str) -> User:
        """Make a user of somebody whom nobody knows here. Raises Forbidden if they may not become one."""
        if flow.invitation is None and self.provider.organisation.admits != "all":
            raise Forbidden("You are not a user here; ask for an invitation.")
        now = self._clock.now()
        for name in namesakes(claims):
            try:
                user = await self._make(flow, name, now)
            except Conflict:
                continue
            if user is None:
                raise Forbidden("That invitation is not good any more.")
            holder = await self._identities.add(self.provider.organisation.issuer, subject, user.id, now)
            if holder != user.id:  # the same person was quicker by another tab
                await self._over.users.delete(user.id)
                raise Untrue
            return user
        raise Conflict("Too many people here have that name.")

    async def _make(self, flow: Flow, name: str, now: float) -> User | None:
        if flow.invitation is None:
            return await self._over.users.add(name, now)
        return await self._invitations.accept(flow.invitation, name, now)


def namesakes(claims: Claims) -> list[str]:
    """What to call somebody, and what else if there is one of that name. A name is for people; it identifies nobody."""
    wanted = next((v for key in ("name", "preferred_username") if isinstance(v := claims.get(key), str) and v), "Guest")
    try:
        name = own_name(wanted[: MAX_NAME - 5])
    except (Conflict, Invalid):
        name = "Guest"
    return [name, *(f"{name} {n}" for n in range(2, _NAMESAKES))]


def _is_same(expected: SecretHash, shown: str | None) -> bool:
    return shown is not None and hmac.compare_digest(expected, hash_secret(shown))
