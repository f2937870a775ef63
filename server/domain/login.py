"""How a person enters by a browser. Owns the cookie's row and the one-time link; must never hold their secrets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

from crdt_docs.ids import DeviceId, UserId

LoginId = NewType("LoginId", str)


@dataclass(frozen=True, slots=True)
class Login:
    """A browser that is signed in: what its cookie stands for until ``expires_at`` (Unix seconds)."""

    id: LoginId
    user: UserId
    device: DeviceId
    created_at: float
    expires_at: float


@dataclass(frozen=True, slots=True)
class Link:
    """A one-time link that signs its user in on the browser that opens it, once, before ``expires_at``."""

    user: UserId
    created_at: float
    expires_at: float
