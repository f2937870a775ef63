"""An installation that a person uses: a browser profile, a script's host."""

from __future__ import annotations

from dataclasses import dataclass

from crdt_docs.ids import DeviceId, UserId


@dataclass(frozen=True, slots=True)
class Device:
    """``kind`` is ``browser``, ``phone``, ``cli`` or ``script``. A revoked device keeps its row and loses its doors."""

    id: DeviceId
    user: UserId
    name: str
    kind: str
    created_at: float
    seen_at: float
    revoked_at: float | None = None
