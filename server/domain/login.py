"""How a person enters by a browser. Owns the cookie's row and the one-time link; must never hold their secrets."""

from __future__ import annotations

from dataclasses import dataclass

from crdt_docs.ids import DeviceId, TaskId, UserId
from server.domain.access import LoginId as LoginId
from server.domain.access import ProvenBy, Role
from server.domain.proof import Thumbprint


@dataclass(frozen=True, slots=True)
class Login:
    """A browser that is signed in: what its cookie stands for until ``expires_at`` (Unix seconds).

    ``proven_at`` is when the person last showed that it is them, ``proven_by`` a passkey or a number match (of whose
    answerer it is the proof: nobody passes on more than they have). A
    *visiting* browser came by a handoff or a share link and has ``task`` alone, as ``role`` at most; others have
    neither. ``key`` is its device's, and ``bound`` says that the browser has bound it to the machine: the cookie must
    come with what proves that.
    """

    id: LoginId
    user: UserId
    device: DeviceId
    created_at: float
    expires_at: float
    proven_at: float | None = None
    task: TaskId | None = None
    role: Role | None = None
    key: Thumbprint | None = None
    bound: bool = False
    proven_by: ProvenBy | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """To what a visiting browser is let in: one task, as what, and for how many seconds."""

    task: TaskId
    role: Role
    life: float


@dataclass(frozen=True, slots=True)
class Link:
    """A one-time link that signs its user in on the browser that opens it, once, before ``expires_at``."""

    user: UserId
    created_at: float
    expires_at: float
