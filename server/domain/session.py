"""A stretch of activity that happens to belong to a task, and the row that joins the two."""

from __future__ import annotations

from dataclasses import dataclass

from crdt_docs.ids import AttachmentId, DeviceId, SessionId, TaskId, TokenId, UserId


@dataclass(frozen=True, slots=True)
class Session:
    """One connection, tab or process from start to end. ``task`` is its current one, ``token`` the bearer that began
    it, if there is one."""

    id: SessionId
    user: UserId
    device: DeviceId | None
    framework: str | None
    task: TaskId | None
    started_at: float
    seen_at: float
    ended_at: float | None = None
    token: TokenId | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """The span during which a session worked on a task: what reports, evals and traces join on."""

    id: AttachmentId
    session: SessionId
    task: TaskId
    started_at: float
    ended_at: float | None = None
