"""What a returning user may want to go on with. Owns the facts that candidates are ranked by; must never guess."""

from __future__ import annotations

from dataclasses import dataclass

from crdt_docs.ids import DeviceId
from server.domain.access import Role
from server.domain.task import Task


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An open or paused task, and when and on what this user last worked on it; None if this user never did."""

    task: Task
    role: Role
    active_at: float | None
    device: DeviceId | None
    device_name: str | None
