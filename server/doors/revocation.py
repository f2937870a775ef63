"""Taking access back. Owns its order: the store commits, the cache forgets, and only then are live connections ended.

A crash in between leaves it revoked. Invariant I5: when one of these returns, nothing of the revoked party is committed
any more and nothing is handed to its transport. Must never be done in another order, or by anyone else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, get_args

from crdt_docs.ids import DeviceId, DocName, SessionId, TaskId, TokenId, UserId
from server.domain.access import Principal, Role
from server.domain.audit import Deed
from server.domain.clock import Clock
from server.domain.device import Device
from server.domain.errors import CLOSE, NotFound
from server.domain.login import Login
from server.domain.policy import Deny, Policy, Reason, judge
from server.domain.session import Session
from server.domain.share import ShareId
from server.domain.task import Member
from server.doors.authority import Authority
from server.store.audit import Audit
from server.store.devices import Devices
from server.store.policies import Policies
from server.store.sessions import Sessions
from server.store.shares import Shares
from server.store.tasks import Tasks
from server.store.tokens import Links, Logins, Tokens

_REVOKED: Final = CLOSE["forbidden"]
Matches = Callable[[Principal, DocName], bool]


class Live(Protocol):
    """What revocation needs of the rooms."""

    async def revoke(self, matches: Matches, code: int, why: str) -> None:
        """End every connection that matches, and hold the revocation against what is on its way in."""
        ...

    async def change_role(self, task: TaskId, user: UserId, role: Role, until: float | None) -> None:
        """Apply a member's new role, and its end (Unix seconds), to their live connections."""
        ...

    async def delete(self, task: TaskId) -> None:
        """Remove the task's documents from the log for good."""
        ...


@dataclass(frozen=True, slots=True)
class Revocable:
    """The stores of what can be taken back."""

    devices: Devices
    sessions: Sessions
    tasks: Tasks
    tokens: Tokens
    logins: Logins
    links: Links
    audit: Audit
    policies: Policies
    shares: Shares


class Revocation:
    """Each method takes one thing back from its user; NotFound for what is not there and what is not theirs alike."""

    def __init__(self, revocable: Revocable, authority: Authority, live: Live, clock: Clock) -> None:
        self._of = revocable
        self._authority = authority
        self._live = live
        self._clock = clock

    async def token(self, by: Principal, token: TokenId) -> None:
        """End a bearer, its tickets and its connections."""
        if await self._of.tokens.revoke(by.user, token, self._clock.now()) is None:
            raise NotFound
        ended = {token, *await self._of.tokens.given_by(token)}
        await self._live.revoke(lambda who, _: who.token in ended, _REVOKED, "this token was revoked")
        await self._note("token.revoked", by, token)

    async def grant(self, user: UserId, grant: TokenId, why: str) -> None:
        """End what an agent was given for the user's turn, and its connections, also where the store fails.

        The turn itself has ended already, and the grant with it: nobody comes back by it.
        """
        try:
            await self._of.tokens.revoke(user, grant, self._clock.now())
        finally:
            await self._live.revoke(lambda who, _: who.token == grant, _REVOKED, why)

    async def device(self, by: Principal, device: DeviceId) -> Device:
        """End a device: its logins, tokens, tickets, sessions and connections."""
        revoked = await self._of.devices.revoke(by.user, device, self._clock.now())
        if revoked is None:
            raise NotFound
        await self._of.links.void(by.user)  # it may have made one, to come back by
        await self._live.revoke(lambda who, _: who.device == device, _REVOKED, "this device was revoked")
        await self._note("device.revoked", by, device)
        return revoked

    async def session(self, by: Principal, session: SessionId) -> Session:
        """End a session and its connections; the task stays as it is."""
        ended = await self._of.sessions.end(by.user, session, self._clock.now())
        if ended is None:
            raise NotFound
        await self._live.revoke(lambda who, _: who.session == session, _REVOKED, "this session has ended")
        return ended

    async def login(self, login: Login) -> None:
        """Sign a browser out: its cookie, its tickets and its connections. Bearers of the same device live on."""
        await self._of.logins.revoke(login.user, login.id)

        def matches(who: Principal, _: DocName) -> bool:
            return who.user == login.user and who.device == login.device and who.token is None

        await self._live.revoke(matches, _REVOKED, "this browser was signed out")
        await self._note("login.ended", Principal(login.user, "", device=login.device), login.id)

    async def member(self, by: Principal, task: TaskId, user: UserId) -> None:
        """Take a member off the task, for good where it is not they who leave. Raises Conflict for its last owner."""
        now = self._clock.now()
        if not await self._of.tasks.remove_member(task, user, None if user == by.user else now):
            raise NotFound
        await self._of.tokens.revoke_grants(task, user, now)
        self._authority.forget(task, user)
        await self._live.revoke(
            lambda who, name: who.user == user and name.task == task, _REVOKED, "you are not on this task any more"
        )
        await self._note("member.removed", by, user, task=task)

    async def role(
        self, by: Principal, task: TaskId, user: UserId, role: Role, until: float | None = None, *, own: bool = False
    ) -> Member:
        """Give a member another role, and an end or none, at once also on live connections.

        Who may not write has no agent that does. ``own``: who came by a link stays when that is withdrawn. Raises
        Conflict for the last owner.
        """
        changed = await self._of.tasks.set_role(task, user, role, self._clock.now(), until, own=own)
        if changed is None:
            raise NotFound
        if role < Role.EDITOR:
            await self._of.tokens.revoke_grants(task, user, self._clock.now())
        self._authority.forget(task, user)
        await self._live.change_role(task, user, role, until)
        if role < Role.EDITOR:
            await self._live.revoke(
                lambda who, name: who.kind == "agent" and who.user == user and name.task == task,
                _REVOKED,
                "who asked may not write here any more",
            )
        if role < Role.OWNER and (await self._of.policies.of(task)).resume == "owner":
            await self._live.revoke(lambda who, name: who.user == user and name.task == task, _REVOKED, "policy_resume")
        await self._note("member.changed", by, user, task=task)
        return changed

    async def policy(self, by: Principal | None, task: TaskId, policy: Policy) -> None:
        """Ask something else of whoever opens the task; who does not meet it is out at once, and told which rule.

        None stands for the operator.
        """
        await self._of.policies.set(task, policy, self._clock.now())
        self._authority.forget(task)
        places, now = await self._of.policies.places(task), self._clock.now()

        def fails(reason: Reason) -> Matches:
            def matches(who: Principal, name: DocName) -> bool:
                if name.task != task or who.kind == "host" or (place := places.get(who.user)) is None:
                    return False
                verdict = judge(who, place, now)
                return isinstance(verdict, Deny) and verdict.reason == reason

            return matches

        for reason in get_args(Reason):
            await self._live.revoke(fails(reason), _REVOKED, reason)
        await self._note("policy.changed", by, task, task=task)

    async def share(self, by: Principal, task: TaskId, share: ShareId) -> None:
        """Withdraw a share link: whoever came by it is off the task, with their connections."""
        users = await self._of.shares.revoke(task, share, self._clock.now())
        if users is None:
            raise NotFound
        gone = frozenset(users)
        for user in gone:
            await self._of.tokens.revoke_grants(task, user, self._clock.now())
            self._authority.forget(task, user)
        if gone:
            why = "the link that you came by was withdrawn"
            await self._live.revoke(lambda who, name: who.user in gone and name.task == task, _REVOKED, why)
        await self._note("share.revoked", by, share, task=task)

    async def task(self, by: Principal, task: TaskId) -> None:
        """Delete a task: its row and all that hangs on it, its connections, and its documents."""
        if not await self._of.tasks.delete(by.user, task):
            raise NotFound
        self._authority.forget(task)
        await self._live.revoke(lambda _, name: name.task == task, CLOSE["not_found"], "this task was deleted")
        await self._live.delete(task)
        await self._note("task.deleted", by, task, task=task)

    async def _note(self, event: str, by: Principal | None, subject: str, task: TaskId | None = None) -> None:
        await self._of.audit.append(event, self._clock.now(), by=deed(by), task=task, subjects=[subject])


def deed(by: Principal | None) -> Deed:
    """The principal as the audit trail names it; the operator, who has none, as nobody."""
    if by is None:
        return Deed()
    return Deed(by.user, by.agent, by.device, by.session, by.token)
