"""Passkeys, as they are listed and as they are kept. Owns how long a challenge and a proof of the person are good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NewType

from crdt_docs.ids import UserId
from server.domain.access import Principal
from server.domain.login import Login

PasskeyId = NewType("PasskeyId", str)
Purpose = Literal["register", "sign_in", "prove"]

CHALLENGE_LIFE: Final = 300.0
PROOF_LIFE: Final = 300.0
"""Seconds that a person counts as having just shown that it is them."""
MOST: Final = 50
"""Passkeys of one person."""


@dataclass(frozen=True, slots=True)
class Passkey:
    """``credential`` is the authenticator's own id for it, ``public_key`` is COSE; ``synced``: it is backed up.

    A synced passkey counts no signatures: its ``sign_count`` stays 0.
    """

    id: PasskeyId
    credential: bytes
    user: UserId
    public_key: bytes
    sign_count: int
    name: str
    synced: bool
    created_at: float
    used_at: float | None = None


def is_fresh(who: Principal | Login, now: float) -> bool:
    """Whether the person has shown there that it is them, by a passkey (a number match is none) and lately enough."""
    return who.proven_by == "passkey" and who.proven_at is not None and now - who.proven_at <= PROOF_LIFE
