"""The secrets by which someone enters. Owns how they are made and hashed.

Must never store a secret itself, log it, or show it twice.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass
from typing import Final, Literal, NewType

from crdt_docs.ids import AgentId, DeviceId, SessionId, TaskId, TokenId, UserId
from server.domain.access import LoginId, Role
from server.domain.device import Level

Secret = NewType("Secret", str)
"""Unpadded base64url of 32 random bytes, as the person or script holds it."""
SecretHash = NewType("SecretHash", bytes)

LINK_LIFE: Final = 600.0
TICKET_LIFE: Final = 30.0
COOKIE_LIFE: Final = 30 * 86400.0
LEASE: Final = 600.0


def new_secret() -> Secret:
    """256 random bits."""
    return Secret(base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode())


def hash_secret(secret: str) -> SecretHash:
    """SHA-256; enough for secrets of 256 random bits, and constant in time to look up."""
    return SecretHash(hashlib.sha256(secret.encode()).digest())


TokenKind = Literal["user", "host", "grant"]
"""A ``user``'s bearer acts as the user, a ``host`` reads offers of turns, a ``grant`` acts as an agent for the user."""


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer for scripts and agents, as it may be listed. ``task`` and ``role`` bound it; hosts and grants have an
    ``agent``, and its name; ``housed`` if that agent is the server's own."""

    id: TokenId
    user: UserId
    device: DeviceId | None
    task: TaskId | None
    role: Role
    created_at: float
    expires_at: float
    revoked_at: float | None = None
    kind: TokenKind = "user"
    agent: AgentId | None = None
    agent_name: str = ""
    housed: bool = False


@dataclass(frozen=True, slots=True)
class Ticket:
    """One connection to one task, once, within 30 s, for the session that asked. ``level`` is what its device has
    shown; with ``reads_until``, what comes of it may read until then, and no more."""

    user: UserId
    device: DeviceId | None
    session: SessionId | None
    token: TokenId | None
    task: TaskId
    expires_at: float
    login: LoginId | None = None
    level: Level = Level.NONE
    reads_until: float | None = None
