"""A browser's session that is bound to its machine (Device Bound Session Credentials). Owns when one is fresh.

The wire is W3C's; what of it each browser does is noted where it matters. Pure; must never take a browser's word that
it could not refresh for more than reading, nor for longer than STEP_DOWN: whoever has stolen a cookie can say so too.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NewType, TypeAlias

from crdt_docs.ids import DeviceId, UserId
from server.domain.credential import SecretHash
from server.domain.login import LoginId
from server.domain.proof import Improper, public_jwk, public_rsa_jwk, read_header, verify

BoundId = NewType("BoundId", str)

COOKIE_AGE: Final = 600
"""Seconds. Chromium signs at most six times in nine minutes, and twice a life of the cookie."""
OVERLAP: Final = 30.0
"""Seconds for which what was replaced, or has just run out, is taken of requests that were under way."""
BEGINNING: Final = 30.0
"""Seconds within which a browser that has just registered may not have the cookie yet."""
STEP_DOWN: Final = 900.0
"""Seconds for which a browser that says that it can't refresh may read."""
TOKEN: Final = "dbsc+jwt"
_SKIPPED: Final = re.compile(r"(?:unreachable|server_error|quota_exceeded)")
_LONGEST: Final = 2000


@dataclass(frozen=True, slots=True)
class BoundSession:
    """One login's session. ``key`` is its public key as a JWK; secrets are hashes; times are Unix seconds."""

    id: BoundId
    login: LoginId
    user: UserId
    device: DeviceId
    key: Mapping[str, str]
    cookie: SecretHash
    cookie_until: float
    earlier_cookie: SecretHash | None
    earlier_until: float | None
    challenge: SecretHash | None
    earlier_challenge: SecretHash | None
    created_at: float
    skipped_at: float | None


@dataclass(frozen=True, slots=True)
class Fresh:
    """The browser holds the cookie, so it has signed within the last minutes."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """It has just registered, and this request set out before."""


@dataclass(frozen=True, slots=True)
class SteppedDown:
    """It says that it can't refresh: let it read until then. ``is_new`` if it had not said so before."""

    until: float
    is_new: bool


@dataclass(frozen=True, slots=True)
class Lost:
    """It is not the browser that registered, or not any more."""


Standing: TypeAlias = Fresh | Beginning | SteppedDown | Lost


def judge(session: BoundSession, cookie: SecretHash | None, skipped: str, now: float) -> Standing:
    """What a request is worth that came with this bound cookie, and this Secure-Session-Skipped header, or ""."""
    if cookie is not None and _is_held(session, cookie, now):
        return Fresh()
    if session.created_at <= now < session.created_at + BEGINNING:
        return Beginning()
    if session.id in skipped_sessions(skipped):
        since = session.skipped_at if session.skipped_at is not None else now
        if now < since + STEP_DOWN:
            return SteppedDown(since + STEP_DOWN, session.skipped_at is None)
    return Lost()


def _is_held(session: BoundSession, cookie: SecretHash, now: float) -> bool:
    held = [(session.cookie, session.cookie_until)]
    if session.earlier_cookie is not None and session.earlier_until is not None:
        held.append((session.earlier_cookie, session.earlier_until))
    return any(hmac.compare_digest(cookie, one) and now < until for one, until in held)


def skipped_sessions(header: str) -> set[str]:
    """The sessions that a Secure-Session-Skipped header names."""
    found = set()
    for item in header[:_LONGEST].split(","):
        reason, *parameters = (part.strip() for part in item.split(";"))
        if _SKIPPED.fullmatch(reason):
            named = dict(part.partition("=")[::2] for part in parameters)
            found.add(unquote(named.get("session_identifier", "")))
    return found


def unquote(text: str) -> str:
    """A structured-field string with or without its quotes: Chromium 156 leaves them out."""
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text


@dataclass(frozen=True, slots=True)
class Signature:
    """What a browser has signed: the challenge, the key by which, and a one-time code if it was given one."""

    challenge: str
    key: Mapping[str, str]


def read_registration(text: str, urls: frozenset[str]) -> Signature:
    """A registration's token, signed by the key that it brings. ``urls`` are what it may be for. Raises Improper."""
    header = read_header(text, TOKEN)
    algorithm = header.get("alg")
    if algorithm not in ("ES256", "RS256"):
        raise Improper("algorithm")
    key = public_jwk(header.get("jwk")) if algorithm == "ES256" else public_rsa_jwk(header.get("jwk"))
    return Signature(_challenge(verify(text, key, algorithm).claims, urls), key)


def read_refresh(text: str, key: Mapping[str, str], urls: frozenset[str]) -> Signature:
    """A refresh's token, signed by the key that was registered; it brings none. Raises Improper."""
    header = read_header(text, TOKEN)
    algorithm = {"EC": "ES256", "RSA": "RS256"}[key["kty"]]
    if header.get("alg") != algorithm or "jwk" in header:
        raise Improper("algorithm or key")
    return Signature(_challenge(verify(text, key, algorithm).claims, urls), key)


def _challenge(claims: Mapping[str, Any], urls: frozenset[str]) -> str:
    challenge, audience = claims.get("jti"), claims.get("aud")
    if not isinstance(challenge, str) or not 0 < len(challenge) <= 200 or not challenge.isascii():
        raise Improper("challenge")
    if audience is not None and (not isinstance(audience, str) or audience not in urls):
        raise Improper("audience")
    return challenge


def instructions(session: BoundId, cookie: str, attributes: str) -> str:
    """The body by which a browser learns what is bound. What is no answer to a person is left out of its scope: each
    request that is held for a refresh may cost a signature, and there are few."""
    left_out = ("/assets", "/icon.svg", "/sw.js", "/healthz", "/readyz", "/metrics")
    told = {
        "session_identifier": session,
        "refresh_url": "/dbsc/refresh",
        "scope": {
            "include_site": False,
            "scope_specification": [{"type": "exclude", "path": path} for path in left_out],
        },
        "credentials": [{"type": "cookie", "name": cookie, "attributes": attributes}],
    }
    return json.dumps(told)
