"""Who did what to whom, in ids. Owns the events' shape; must never hold content, names or secrets."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Final

from crdt_docs.ids import AgentId, DeviceId, SessionId, TaskId, TokenId, UserId

GENESIS: Final = bytes(32)
"""What stands before the first event in the chain."""


@dataclass(frozen=True, slots=True)
class Deed:
    """Who acted and through what, as far as it is known."""

    user: UserId | None = None
    agent: AgentId | None = None
    device: DeviceId | None = None
    session: SessionId | None = None
    token: TokenId | None = None


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One event, for example ``token.revoked``, done by ``by`` to the things that ``subjects`` names by id."""

    event: str
    at: float
    by: Deed
    task: TaskId | None
    subjects: tuple[str, ...]

    def chained(self, before: bytes) -> bytes:
        """SHA-256 over the hash of the event before and this one: changing or removing an event shows."""
        by = [self.by.user, self.by.agent, self.by.device, self.by.session, self.by.token]
        text = json.dumps([self.event, self.at, by, self.task, self.subjects], separators=(",", ":"))
        return hashlib.sha256(before + text.encode()).digest()
