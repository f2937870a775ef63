"""An installation that a person uses: a browser profile, a script's host."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from crdt_docs.ids import DeviceId, UserId


class Level(IntEnum):
    """How far a device proves that it is itself, and not somebody who copied its cookie; each is worth more than those
    before."""

    NONE = 0
    """A cookie or a bearer, and nothing else."""
    SOFTWARE = 1
    """A key that the browser keeps and no script can read (WebCrypto, DPoP)."""
    HARDWARE = 2
    """A session that the browser binds to the machine's own key store (Device Bound Session Credentials)."""


@dataclass(frozen=True, slots=True)
class Device:
    """``kind`` is ``browser``, ``phone``, ``cli`` or ``script``. A revoked device keeps its row and loses its doors.

    ``level`` is the most that it has shown and still can.
    """

    id: DeviceId
    user: UserId
    name: str
    kind: str
    created_at: float
    seen_at: float
    revoked_at: float | None = None
    level: Level = Level.NONE
