"""What may a principal do on a task? Owns the effective role, judged at each use from places that are cached.

Must never tell a stranger that a task exists. Places and policies change only through this process (commands on a live
data folder go through its socket), and whoever changes one calls ``forget`` after the commit and before it tells
anyone. A lookup that was under way meanwhile is made again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Final, Literal, Protocol

from crdt_docs.ids import TaskId, UserId
from server.domain.access import Principal, Role, effective_role
from server.domain.clock import Clock
from server.domain.errors import Forbidden, NotFound
from server.domain.policy import Allow, Denied, Deny, Place, Verdict, judge

Door = Literal["anyone", "principal", "member", "grant", "host"]
"""Who is let in: anyone; people and their scripts; those and agents by a grant; agents alone; their hosts alone."""
_LET_IN: Final[Mapping[Door, frozenset[str]]] = {
    "principal": frozenset({"user"}),
    "member": frozenset({"user", "agent"}),
    "grant": frozenset({"agent"}),
    "host": frozenset({"host"}),
}
_CLOSED: Final = {
    "user": "This is for agents and their hosts.",
    "agent": "This is not for agents.",
    "host": "A host's bearer reads offers of turns and leases them, and does nothing else.",
}
_KEPT: Final = 50_000
FEW: Final = 8
"""So many places are looked up one by one rather than with all others of their user."""


class Places(Protocol):
    """Where people's places on tasks are kept."""

    async def place(self, user: UserId, task: TaskId) -> Place | None:
        """The user's place on the task, over or not; None for no such task and for none of theirs alike."""
        ...

    async def places_of(self, user: UserId) -> Mapping[TaskId, Place]:
        """The user's place on each of their tasks."""
        ...


class Authority:
    """The answer to "may they?", for requests and sockets alike."""

    def __init__(self, places: Places, clock: Clock) -> None:
        self._places = places
        self._clock = clock
        self._known: OrderedDict[tuple[TaskId, UserId], Place] = OrderedDict()
        self._epoch = 0

    async def admit(self, principal: Principal, task: TaskId) -> Allow:
        """What the principal may do on the task now, and until when.

        Raises NotFound for no such task and for not theirs alike, and Denied where a rule of the task is not met.
        """
        verdict = await self.judge(principal, task)
        if verdict is None:
            raise NotFound
        if isinstance(verdict, Deny):
            raise Denied(verdict.reason)
        return verdict

    async def judge(self, principal: Principal, task: TaskId) -> Verdict | None:
        """Whether the principal may open the task now; None for no such task and for not theirs alike.

        Who may not is not to learn its name, from a list or anywhere else.
        """
        place = await self._place(task, principal.user)
        if place is None or effective_role(principal, task, place.role) is None:
            return None
        return judge(principal, place, self._clock.now())

    async def role(self, principal: Principal, task: TaskId) -> Role:
        """The principal's role on the task now. Raises as ``admit`` does."""
        return (await self.admit(principal, task)).role

    async def require(self, principal: Principal, task: TaskId, least: Role) -> Role:
        """The role, if it is at least that. Raises Forbidden for a member with a lesser one, else as ``admit`` does."""
        role = await self.role(principal, task)
        if role < least:
            raise Forbidden(f"This takes the role {least.name.lower()}; yours is {role.name.lower()}.")
        return role

    async def learn(self, user: UserId, tasks: Collection[TaskId]) -> None:
        """Look the user's places up at once, if many of these are not known: a list asks for each of its tasks."""
        if sum((task, user) not in self._known for task in tasks) <= FEW:
            return
        epoch = self._epoch
        found = await self._places.places_of(user)
        if epoch == self._epoch:
            self._keep({(task, user): place for task, place in found.items()})

    def forget(self, task: TaskId, user: UserId | None = None) -> None:
        """A place on the task changed: the user's, or any (None)."""
        self._epoch += 1
        for key in [(task, user)] if user is not None else [key for key in self._known if key[0] == task]:
            self._known.pop(key, None)

    async def _place(self, task: TaskId, user: UserId) -> Place | None:
        key = (task, user)
        kept = self._known.get(key)
        if kept is not None:
            self._known.move_to_end(key)
            return kept
        epoch: int | None = None
        while epoch != self._epoch:  # whoever is told of no change has the place as it is, not as it was
            epoch = self._epoch
            found = await self._places.place(user, task)
        if found is not None:  # strangers are not cached: they could fill it with guesses
            self._keep({key: found})
        return found

    def _keep(self, places: Mapping[tuple[TaskId, UserId], Place]) -> None:
        self._known.update(places)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)


def require_door(principal: Principal, door: Door) -> None:
    """Raise Forbidden for whom the door is not for. An agent may do what names it, and nothing that does not."""
    if door != "anyone" and principal.kind not in _LET_IN[door]:
        raise Forbidden(_CLOSED[principal.kind])


class Comes(Protocol):
    """Whoever asks, or comes in."""

    @property
    def stepped_down(self) -> bool:
        """Whether they may only read until they can prove their device again."""
        ...


def require_steady(who: Comes) -> None:
    """Raise Forbidden for a browser that has stepped down: it reads, and it signs in or out."""
    if who.stepped_down:
        raise Forbidden(
            "This browser can't prove just now that it is your device; until it can, it may only read.", "stepped_down"
        )


def require_account(principal: Principal) -> None:
    """Raise Forbidden for whom is let in to one task: what concerns the whole account is not their business."""
    require_resident(principal)
    if principal.kind != "user" or (principal.token is not None and principal.task is not None):
        raise Forbidden("This bearer is for one task.")


def require_whole(principal: Principal) -> None:
    """Raise Forbidden for whom is less than their user: who is bound to one task, and a bearer with a lesser role."""
    require_account(principal)
    if principal.token is not None and principal.cap < Role.OWNER:
        raise Forbidden("This bearer may do less than its user, and takes nothing away from them.")


def require_login(principal: Principal) -> None:
    """Raise Forbidden for any bearer: one that could beget credentials would outlive its own revocation."""
    require_browser(principal)
    require_resident(principal)


def require_browser(principal: Principal) -> None:
    """Raise Forbidden for any bearer; a browser that is visiting may."""
    if principal.token is not None or principal.kind != "user":
        raise Forbidden("This takes a browser that is signed in, or the command line; a bearer can't do it.")


def require_resident(principal: Principal) -> None:
    """Raise Forbidden for a browser that came by a handoff: it has one task, and takes nothing away or further."""
    if principal.visiting:
        raise Forbidden("This device was let in to one task; keep it on another of your devices first.")
