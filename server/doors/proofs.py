"""Does this request come from who holds the key? Owns nonces and the memory of proofs that were shown.

A proof (RFC 9449) is good for one request, and only with a nonce that this server gave out within minutes: what was
signed beforehand on a machine and carried off is worth nothing. Nonces are stateless: a time and a MAC over it. Must
never tell which check has failed: every refusal is the same, and brings a new nonce.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from server.domain.clock import Clock
from server.domain.errors import TooMany, Unauthenticated
from server.domain.proof import Improper, Proof, Target, Thumbprint, read_proof

SLOT: Final = 120.0
"""Seconds for which one nonce is given out; it is taken for one slot longer."""
MOST: Final = 200_000
"""Proofs that are remembered, of devices that are known; over it, none is taken until a slot is over."""
OF_ONE: Final = 20_000
"""The same of one device."""
HEADER: Final = "dpop"


class Unproven(Unauthenticated):
    """Sign in first."""

    def __init__(self, nonce: str, suspicious: bool = False) -> None:
        """``suspicious`` is for the audit trail alone: not a page that has yet to learn a nonce, but somebody else."""
        super().__init__(Unauthenticated.__doc__ or "")
        self.nonce = nonce
        self.suspicious = suspicious


class Nonces:
    """What a proof must repeat. A restart makes those before it stale, which costs each page one question more."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._secret = secrets.token_bytes(32)

    def issue(self) -> str:
        """The nonce of this slot."""
        return self._of(self.slot)

    def is_current(self, nonce: str | None) -> bool:
        """Whether it was given out within the last two slots."""
        given = (nonce or "").encode()
        return any(hmac.compare_digest(given, self._of(slot).encode()) for slot in (self.slot, self.slot - 1))

    @property
    def slot(self) -> int:
        """The number of the time we are in."""
        return int(self._clock.monotonic() // SLOT)

    def _of(self, slot: int) -> str:
        made = hmac.digest(self._secret, b"dpop %d" % slot, "sha256")[:18]
        return base64.urlsafe_b64encode(made).decode()


class Replays:
    """The proofs that were shown within the life of their nonces, by key."""

    def __init__(self, most: int, of_one: int) -> None:
        self._most = most
        self._of_one = of_one
        self._slots: dict[int, dict[Thumbprint, set[bytes]]] = {}
        self._size: dict[int, int] = {}

    def note(self, proof: Proof, slot: int) -> bool:
        """Remember it; False if it was there. Raises TooMany rather than forget one that may come again."""
        for old in [one for one in self._slots if one < slot - 1]:
            del self._slots[old], self._size[old]
        seen = [keys[proof.thumbprint] for keys in self._slots.values() if proof.thumbprint in keys]
        if any(proof.digest in one for one in seen):
            return False
        if len(self) >= self._most or sum(map(len, seen)) >= self._of_one:
            raise TooMany
        self._slots.setdefault(slot, {}).setdefault(proof.thumbprint, set()).add(proof.digest)
        self._size[slot] = self._size.get(slot, 0) + 1
        return True

    def __len__(self) -> int:
        return sum(self._size.values())


class Proofs:
    """Reads the proof that a request brings."""

    def __init__(self, clock: Clock, most: int = MOST, of_one: int = OF_ONE) -> None:
        self._clock = clock
        self.nonces = Nonces(clock)
        self.replays = Replays(most, of_one)

    async def key_of(self, request: HTTPConnection) -> Thumbprint | None:
        """Whose key whoever comes in has just shown; None if they show none. For the ways in.

        Raises Unproven for a proof that is not good, or has no nonce yet: the page then tries once more. A replay is
        not looked for, since whoever could send one would bind a key that they don't have to a login of their own.
        """
        if HEADER not in request.headers:
            return None
        return self._read(request.headers, target_of(request), None).thumbprint

    def require(
        self, headers: Headers, target: Target | None, thumbprint: Thumbprint | None, token: str | None = None
    ) -> None:
        """Take the request's proof by that key, once. Raises Unproven."""
        proof = self._read(headers, target, token)
        if thumbprint is None or not hmac.compare_digest(proof.thumbprint, thumbprint):
            raise self.refusal(suspicious=True)
        if not self.replays.note(proof, self.nonces.slot):
            raise self.refusal(suspicious=True)

    def refusal(self, suspicious: bool = False) -> Unproven:
        """What any proof that is not good is answered with."""
        return Unproven(self.nonces.issue(), suspicious)

    def _read(self, headers: Headers, target: Target | None, token: str | None) -> Proof:
        given = headers.getlist(HEADER)
        if len(given) != 1 or target is None:
            raise self.refusal(suspicious=True)
        try:
            proof = read_proof(given[0], target, self._clock.now(), token)
        except Improper as error:
            raise self.refusal(suspicious=str(error) != "time") from None  # many clocks are wrong, and the page learns
        if not self.nonces.is_current(proof.nonce):
            raise self.refusal()
        return proof


def target_of(request: HTTPConnection) -> Target:
    """What a request asks for, by the name that it was sent to."""
    scheme = "https" if request.scope.get("scheme") in ("https", "wss") else "http"
    url = f"{scheme}://{request.headers.get('host', '')}{request.scope['path']}"
    return Target(request.scope.get("method", "GET"), url)
