"""A program that has no browser asks to act for a person (RFC 8628). Owns codes, pauses and what a poll is answered.

Must never decide what the program may do: the person who approves it does.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final, Literal, NewType

from crdt_docs.ids import TaskId, UserId
from server.domain.access import Role

DeviceGrantId = NewType("DeviceGrantId", str)

ALPHABET: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""Consonants: no code spells a word, and no letter is taken for a digit (RFC 8628, 6.1)."""
CODE_LENGTH: Final = 8
CODE_LIFE: Final = 300.0
PAUSE: Final = 5.0
SLOWER: Final = 5.0
"""Seconds by which the pause between polls grows, for good, when one came too soon (RFC 8628, 3.5)."""
OPEN_AT_ONCE: Final = 1000
"""Codes that are out at a time: with the cap on wrong tries, a guess is as good as hopeless."""
LONGEST: Final = 366 * 86400


@dataclass(frozen=True, slots=True)
class DeviceGrant:
    """``role``, ``ttl`` (seconds) and ``task`` are what is asked for, and once approved what is given."""

    id: DeviceGrantId
    client: str
    agent: str | None
    role: Role
    ttl: int
    task: TaskId | None
    status: Literal["pending", "approved", "denied"]
    user: UserId | None
    pause: float
    polled_at: float | None
    expires_at: float


Answer = Literal["approved", "authorization_pending", "slow_down", "access_denied", "expired_token"]


def answer(grant: DeviceGrant, now: float) -> Answer:
    """What a poll at that time is told; who asks again too soon is told nothing else."""
    if grant.expires_at <= now:
        return "expired_token"
    if grant.polled_at is not None and now - grant.polled_at < grant.pause:
        return "slow_down"
    if grant.status == "pending":
        return "authorization_pending"
    return "approved" if grant.status == "approved" else "access_denied"


def new_code() -> str:
    """34.6 random bits for a person to type."""
    return "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))


def clean_code(typed: str) -> str:
    """The code without the case, hyphens and blanks that people write it with."""
    return "".join(char for char in typed.upper() if char in ALPHABET)


def shown_code(code: str) -> str:
    """The code as it is read out: ``WDJB-MJHT``."""
    return f"{code[:4]}-{code[4:]}"
