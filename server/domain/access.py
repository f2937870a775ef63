"""Who may do what on a task. Owns roles and principals; must never look at a document's content (I7)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from sys import intern
from typing import Literal, NamedTuple, NewType

from crdt_docs.ids import AgentId, DeviceId, Part, SessionId, TaskId, TokenId, UserId
from server.domain.device import Level

LoginId = NewType("LoginId", str)
"""A browser's cookie, as it may be named."""
PrincipalKey = NewType("PrincipalKey", str)
"""``user:<id>`` or ``agent:<id>``: what owns a client id for ever (I4), whatever device or token it used."""

ProvenBy = Literal["number-match", "passkey"]
"""How a person has shown that it is them."""


class Proven(NamedTuple):
    """A person has shown that it is them, and when (Unix seconds)."""

    by: ProvenBy
    at: float


class Role(IntEnum):
    """What a member may do with a task; each role includes those before it."""

    VIEWER = 1
    COMMENTER = 2
    EDITOR = 3
    OWNER = 4


ROLE_NAMES: dict[str, Role] = {role.name.lower(): role for role in Role}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is acting, and through what. Made by authentication, never from a document.

    ``task`` and ``cap`` bound what a bearer may reach; ``expires_at`` (Unix seconds) ends it.
    ``authenticated_at`` (monotonic seconds) lets a revocation catch what was authenticated before it.

    An ``agent`` acts by a grant for ``user``, and ``name`` is the agent's; a ``host`` runs an agent: it hears of turns
    and leases them, and has no role on any task. The built-in agent's host has no user: ``user`` is empty.

    ``login`` is what its cookie stands for. Whoever is *visiting* came by a handoff: by a login for one task. Whoever
    has *stepped down* could not prove its device just now: it reads, and no more.

    ``level`` is what its device proves of itself; ``proven_at`` (Unix seconds) is when the person last showed that it
    is them, ``proven_by`` a passkey, or a number match that goes back to one. An agent that is *housed*
    is the server's own.
    """

    user: UserId
    name: str
    kind: Literal["user", "agent", "host"] = "user"
    agent: AgentId | None = None
    device: DeviceId | None = None
    session: SessionId | None = None
    token: TokenId | None = None
    task: TaskId | None = None
    cap: Role = Role.OWNER
    expires_at: float | None = None
    authenticated_at: float = 0.0
    level: Level = Level.NONE
    proven_at: float | None = None
    login: LoginId | None = None
    visiting: bool = False
    stepped_down: bool = False
    proven_by: ProvenBy | None = None
    housed: bool = False

    @property
    def key(self) -> PrincipalKey:
        """The owner of this principal's client ids; one string, however many documents they are in."""
        return PrincipalKey(intern(f"agent:{self.agent}" if self.agent else f"user:{self.user}"))


def effective_role(principal: Principal, task: TaskId, membership: Role | None) -> Role | None:
    """The lesser of what the member is and what the credential allows; None if it may not even know of the task."""
    if membership is None or (principal.task is not None and principal.task != task) or principal.kind == "host":
        return None
    return min(membership, principal.cap)


def may_write(role: Role, part: Part) -> bool:
    """Whether the role's updates are admitted to that document of a task."""
    return role >= (Role.EDITOR if part == "main" else Role.COMMENTER)
