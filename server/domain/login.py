"""How a person enters by a browser. Owns the cookie's row and the one-time link; must never hold their secrets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

from crdt_docs.ids import DeviceId, UserId

LoginId = NewType("LoginId", str)


@dataclass(frozen=True, slots=True)
class Login:
    """A browser that is signed in: what its cookie stands for until ``expires_at`` (Unix seconds).

    ``proven_at`` is when the person last showed that it is them, by a passkey or a number match.
    """

    id: LoginId
    user: UserId
    device: DeviceId
    created_at: float
    expires_at: float
    proven_at: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A one-time link that signs its user in on the browser that opens it, once, before ``expires_at``."""

    user: UserId
    created_at: float
    expires_at: float
