"""An organisation's OpenID provider, as far as Clew speaks to it. Owns what is believed of what it says.

Its keys are fetched from where it says, over TLS alone (or by loopback); its tokens are read by a public-key
signature and an exact issuer and audience. Must never follow a redirect, nor take an algorithm that a token names by
itself.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import quote_plus, urlsplit

import httpx2
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from server.domain.clock import Clock
from server.domain.errors import Invalid, Unauthenticated, Unavailable

DISCOVERY: Final = "/.well-known/openid-configuration"
ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519",
)  # fmt: skip
KEPT: Final = 3600.0
REFETCH: Final = 30.0
"""Seconds between two looks for a key that is not known: a stranger's token must not make us ask all the time."""
LEEWAY: Final = 60.0
PATIENCE: Final = 10.0
LARGEST: Final = 1 << 20
LOGOUT_EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"

Admits = Literal["invited", "all"]
Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Organisation:
    """A provider that the operator has named. ``admits``: who of its people may become users."""

    issuer: str
    client: str
    secret: str | None = None
    admits: Admits = "invited"
    name: str = ""

    @property
    def shown(self) -> str:
        """What people know it by."""
        return self.name or urlsplit(self.issuer).hostname or self.issuer


@dataclass(frozen=True, slots=True)
class Metadata:
    """What its discovery document says, checked."""

    authorization: str
    token: str
    jwks: str
    by_post: bool
    names_itself: bool


class Untrue(Unauthenticated):
    """What the provider said could not be believed."""


class Provider:
    """One provider. What it publishes is fetched when it is first needed, and again after an hour."""

    def __init__(self, organisation: Organisation, http: httpx2.AsyncClient, clock: Clock) -> None:
        self.organisation = organisation
        self._http = http
        self._clock = clock
        self._metadata: tuple[float, Metadata] | None = None
        self._keys: tuple[float, KeySet] | None = None

    async def metadata(self) -> Metadata:
        """Where its endpoints are. Raises Unavailable, or Untrue if the document is another issuer's."""
        now = self._clock.monotonic()
        if self._metadata is None or now - self._metadata[0] > KEPT:
            said = await self._get(self.organisation.issuer.rstrip("/") + DISCOVERY)
            if said.get("issuer") != self.organisation.issuer:
                raise Untrue
            methods = said.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
            told = Metadata(
                _address(said.get("authorization_endpoint")),
                _address(said.get("token_endpoint")),
                _address(said.get("jwks_uri")),
                "client_secret_basic" not in methods and "client_secret_post" in methods,
                said.get("authorization_response_iss_parameter_supported") is True,
            )
            self._metadata = now, told
        return self._metadata[1]

    async def exchange(self, code: str, verifier: str, redirect: str) -> str:
        """The ID token for a code. Raises Untrue if the provider does not take the code, Unavailable."""
        there, own = await self.metadata(), self.organisation
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": verifier,
        }
        headers = {"accept": "application/json"}
        if own.secret is None or there.by_post:
            form |= {"client_id": own.client, **({"client_secret": own.secret} if own.secret is not None else {})}
        else:
            pair = f"{quote_plus(own.client)}:{quote_plus(own.secret)}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        status, said = await self._ask("POST", there.token, headers, form)
        token = said.get("id_token")
        if status != 200 or not isinstance(token, str):
            raise Untrue
        return token

    async def read(self, token: str) -> tuple[Claims, Mapping[str, Any]]:
        """The claims and the header of a token that it signed for us and that has not expired. Raises Untrue."""
        try:
            found = jwt.decode(token, await self._current_keys(), algorithms=list(ALGORITHMS))
        except InvalidKeyIdError:
            found = await self._read_by_new_keys(token)
        except (JoseError, ValueError, RecursionError) as error:
            raise Untrue from error
        self._check(found.claims)
        return found.claims, found.header

    async def _read_by_new_keys(self, token: str) -> jwt.Token:
        try:
            return jwt.decode(token, await self._current_keys(REFETCH), algorithms=list(ALGORITHMS))
        except (JoseError, ValueError, RecursionError) as error:
            raise Untrue from error

    def _check(self, claims: Claims) -> None:
        own, now = self.organisation, self._clock.now()
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        if claims.get("iss") != own.issuer or own.client not in audiences:
            raise Untrue
        if claims.get("azp", own.client) != own.client or (len(audiences) > 1 and "azp" not in claims):
            raise Untrue
        begins, ends = _time(claims.get("iat")), _time(claims.get("exp"))
        if ends <= now - LEEWAY or begins > now + LEEWAY or _time(claims.get("nbf", 0)) > now + LEEWAY:
            raise Untrue

    async def _current_keys(self, older_than: float = KEPT) -> KeySet:
        now = self._clock.monotonic()
        if self._keys is None or now - self._keys[0] >= older_than:
            said = await self._get((await self.metadata()).jwks)
            try:
                self._keys = now, KeySet.import_key_set(said)  # type: ignore[arg-type]
            except (JoseError, ValueError, KeyError, TypeError) as error:
                raise Untrue from error
        return self._keys[1]

    async def _get(self, url: str) -> dict[str, Any]:
        status, said = await self._ask("GET", _address(url), {"accept": "application/json"}, None)
        if status != 200:
            raise Unavailable(f"{self.organisation.shown} does not answer as it should.")
        return said

    async def _ask(
        self, method: str, url: str, headers: Mapping[str, str], form: Mapping[str, str] | None
    ) -> tuple[int, dict[str, Any]]:
        body = b""
        try:
            async with self._http.stream(
                method, url, headers=headers, data=form, timeout=PATIENCE, follow_redirects=False
            ) as answer:
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > LARGEST:
                        raise Untrue
            said = json.loads(body)
        except (httpx2.HTTPError, ValueError, RecursionError) as error:
            raise Unavailable(f"{self.organisation.shown} cannot be reached at the moment.") from error
        if not isinstance(said, dict):
            raise Untrue
        return answer.status_code, said


def check_issuer(issuer: str) -> str:
    """An issuer that may be named. Raises Invalid."""
    parts = urlsplit(issuer)
    if not _is_private(issuer) or parts.query or parts.fragment or parts.username:
        raise Invalid(f"An OpenID issuer is an address with https, not {issuer}.")
    return issuer


def _is_private(url: str) -> bool:
    parts = urlsplit(url)
    loopback = parts.hostname in ("localhost", "127.0.0.1", "::1")
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and loopback))


def _address(url: object) -> str:
    if not isinstance(url, str) or not _is_private(url):
        raise Untrue
    return url


def _time(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Untrue
    return float(value)
