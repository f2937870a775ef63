"""What the user is working on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crdt_docs.ids import TaskId, UserId
from server.domain.access import Role
from server.domain.share import ShareId

Status = Literal["open", "paused", "done", "archived"]
NamedBy = Literal["none", "agent", "user"]
"""Who gave the task its name: nobody yet, an agent whose proposal stands until a person says otherwise, a person."""
MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Task:
    """A task as SQL knows it; the document only shows name and status (I7). Times are Unix seconds."""

    id: TaskId
    name: str
    status: Status
    created_by: UserId
    created_at: float
    updated_at: float
    named_by: NamedBy = "none"


@dataclass(frozen=True, slots=True)
class Member:
    """A user's place on a task. ``until`` (Unix seconds) ends it; ``share`` is the link that they came by, if one.

    A ``guest`` is somebody whom the server made and named for a link.
    """

    task: TaskId
    user: UserId
    name: str
    role: Role
    since: float
    until: float | None = None
    share: ShareId | None = None
    guest: bool = False
