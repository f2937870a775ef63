"""A proof that a request comes from who holds a key (DPoP, RFC 9449). Owns what makes one good in itself.

Whose key it is, whether its nonce is ours and whether it was shown before are the doors' to judge. Pure; must never
take more of a proof than it has checked, nor a key that is not P-256.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NewType
from urllib.parse import unquote, urlsplit

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

Thumbprint = NewType("Thumbprint", str)
"""RFC 7638, SHA-256, unpadded base64url: what a public key is called."""

DPOP: Final = "dpop+jwt"
LONGEST: Final = 4096
"""Characters of a proof; a browser's has some 600."""
LIFE: Final = 300.0
"""Seconds by which the clock of whoever made it may differ from ours. The nonce says how old it really is."""
_PRIVATE: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


class Improper(ValueError):
    """It proves nothing."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked for: the method, and the address without query and fragment."""

    method: str
    url: str

    def is_meant(self, method: object, url: object) -> bool:
        """Whether a proof that names these was made for it (RFC 9449 section 4.3, checks 8 and 9)."""
        return method == self.method and isinstance(url, str) and _plain(url) == _plain(self.url)


@dataclass(frozen=True, slots=True)
class Proof:
    """What a good proof shows. ``digest`` is of the key and of the proof's own id, to know it again by."""

    thumbprint: Thumbprint
    nonce: str | None
    digest: bytes


@dataclass(frozen=True, slots=True)
class Signed:
    """A token with a good signature: its header and its claims."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]


def read_proof(text: str, target: Target, now: float, token: str | None = None) -> Proof:
    """Check all that can be checked of a proof by itself (RFC 9449 section 4.3, 2 to 9, 11 and, for a token, 12).

    ``now`` is in Unix seconds. Raises Improper.
    """
    header = read_header(text, DPOP)
    if header.get("alg") != "ES256":
        raise Improper("algorithm")
    jwk = public_jwk(header.get("jwk"))
    claims = verify(text, jwk, "ES256").claims
    jti, nonce = claims.get("jti"), claims.get("nonce")
    if not isinstance(jti, str) or not 8 <= len(jti) <= 200 or not jti.isascii():
        raise Improper("jti")
    if not target.is_meant(claims.get("htm"), claims.get("htu")):
        raise Improper("target")
    if not _is_near(claims.get("iat"), now):
        raise Improper("time")
    if nonce is not None and not (isinstance(nonce, str) and nonce.isascii()):
        raise Improper("nonce")
    if token is not None and claims.get("ath") != _hash(token.encode()):
        raise Improper("token")
    thumbprint = thumbprint_of(jwk)
    return Proof(thumbprint, nonce, hashlib.sha256(f"{thumbprint} {jti}".encode()).digest()[:16])


def read_header(text: str, kind: str) -> Mapping[str, Any]:
    """The header of one compact token of that type, unverified. Raises Improper."""
    if len(text) > LONGEST or text.count(".") != 2 or not text.isascii():
        raise Improper("form")
    try:
        header = json.loads(_decode(text.partition(".")[0]))
    except (ValueError, RecursionError) as error:
        raise Improper("header") from error
    if not isinstance(header, dict) or header.get("typ") != kind or "crit" in header:
        raise Improper("type")
    return header


def public_jwk(jwk: object) -> dict[str, str]:
    """The members of a public P-256 key that define it. Raises Improper for a private key and for any other."""
    if not isinstance(jwk, dict) or _PRIVATE & jwk.keys() or (jwk.get("kty"), jwk.get("crv")) != ("EC", "P-256"):
        raise Improper("key")
    return _members(jwk, ("crv", "kty", "x", "y"))


def public_rsa_jwk(jwk: object) -> dict[str, str]:
    """The same of an RSA key, which some machines' key stores have instead. Raises Improper."""
    if not isinstance(jwk, dict) or _PRIVATE & jwk.keys() or jwk.get("kty") != "RSA":
        raise Improper("key")
    members = _members(jwk, ("e", "kty", "n"))
    if not 340 <= len(members["n"]) <= 690:  # 2048 to 4096 bits
        raise Improper("key")
    return members


def verify(text: str, jwk: Mapping[str, str], algorithm: str) -> Signed:
    """The token's claims, if the key has signed it by that algorithm and no other. Raises Improper."""
    try:
        found = jws.deserialize_compact(text, _key(tuple(sorted(jwk.items()))), algorithms=[algorithm])
        claims = json.loads(found.payload)
    except (JoseError, ValueError, RecursionError) as error:
        raise Improper("signature") from error
    if not isinstance(claims, dict):
        raise Improper("claims")
    return Signed(found.headers(), claims)


def thumbprint_of(jwk: Mapping[str, str]) -> Thumbprint:
    """What a public key of the defining members is called."""
    return Thumbprint(_hash(json.dumps(dict(sorted(jwk.items())), separators=(",", ":")).encode()))


def _members(jwk: Mapping[str, object], names: tuple[str, ...]) -> dict[str, str]:
    found = {name: jwk.get(name) for name in names}
    if not all(isinstance(value, str) and 0 < len(value) <= 1024 for value in found.values()):
        raise Improper("key")
    return {name: str(value) for name, value in found.items()}


@lru_cache(maxsize=1024)
def _key(members: tuple[tuple[str, str], ...]) -> ECKey | RSAKey:
    """Reading a key costs more than a signature's check, and a browser shows the same one at each request."""
    jwk: Any = dict(members)
    return ECKey.import_key(jwk) if jwk["kty"] == "EC" else RSAKey.import_key(jwk)


def _is_near(at: object, now: float) -> bool:
    """Whether a claimed time is about now; what is no number, or none that time can be, is not."""
    return isinstance(at, int | float) and not isinstance(at, bool) and now - LIFE <= at <= now + LIFE


def _plain(url: str) -> tuple[str, str, str]:
    """Scheme, host with port, path: without query and fragment, and as they are compared."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ("", url, "")
    scheme = parts.scheme.lower()
    host = (parts.hostname or "").lower()
    return scheme, f"{host}:{port or {'http': 80, 'https': 443}.get(scheme)}", unquote(parts.path)


def _hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
