"""Programs without a browser, such as the command line and agents, come in by a person's word (RFC 8628).

Owns that the person is signed in before they see what is asked, that guessing codes leads nowhere, and that what is
given is never more than they have. Must never approve by a GET, a link, or a code that nobody typed or compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from crdt_docs.ids import TaskId, UserId
from server.domain.access import Principal, Role
from server.domain.clock import Clock
from server.domain.credential import Secret, Token
from server.domain.device_grant import CODE_LIFE, Answer, DeviceGrant, clean_code
from server.domain.errors import NotFound
from server.doors.attempts import Attempts
from server.doors.authority import Authority
from server.doors.revocation import deed
from server.store.agents import Agents
from server.store.audit import Audit
from server.store.device_grants import DeviceGrants
from server.store.devices import Devices
from server.store.tokens import Tokens

WRONG_TRIES: Final = 5
"""Of one account, within a code's life: P(guess) stays under 2^-32 for one code."""
WRONG_THERE: Final = 50
"""Of one address: many people may share one, and nobody alone shuts the others out."""
QUESTIONS: Final = 30
"""Of one address, within the same time: nobody alone takes all the codes that there are."""


@dataclass(frozen=True, slots=True)
class Grantable:
    """The stores of what a grant becomes."""

    grants: DeviceGrants
    tokens: Tokens
    devices: Devices
    agents: Agents
    audit: Audit


@dataclass(frozen=True, slots=True)
class Given:
    """A bearer for the program. The secret is nowhere else."""

    token: Token
    secret: Secret


class DeviceGrantDoor:
    """From a program's question to its bearer."""

    def __init__(self, over: Grantable, authority: Authority, clock: Clock) -> None:
        self._over = over
        self._authority = authority
        self._clock = clock
        self._wrong = Attempts(WRONG_TRIES, CODE_LIFE, clock, "Too many wrong codes; wait a few minutes.")
        self._wrong_there = Attempts(WRONG_THERE, CODE_LIFE, clock, "Too many wrong codes from there.")
        self._asked = Attempts(QUESTIONS, CODE_LIFE, clock, "Too many programs have asked from there.")

    async def ask(
        self, address: str | None, client: str, agent: str | None, role: Role, ttl: int
    ) -> tuple[DeviceGrant, Secret, str]:
        """A program asks: the grant, its device code, its user code. Raises TooMany, TooOften."""
        self._asked.require(f"address {address}")
        self._asked.note(f"address {address}")
        least = Role.EDITOR if agent is not None else role
        return await self._over.grants.ask(client, agent, least, ttl, self._clock.now())

    async def show(self, who: Principal, address: str | None, typed: str) -> DeviceGrant:
        """What the program with that code asks for. Raises NotFound for any wrong code, TooOften after some."""
        account, place = f"user {who.user}", f"address {address}"
        self._wrong.require(account)
        self._wrong_there.require(place)
        grant = await self._over.grants.find(clean_code(typed), self._clock.now())
        if grant is None:
            self._wrong.note(account)
            self._wrong_there.note(place)
            raise NotFound("No program waits with that code.")
        return grant

    async def decide(
        self,
        who: Principal,
        address: str | None,
        typed: str,
        verdict: Literal["approve", "decline"],
        bounds: tuple[Role, int, TaskId | None],
    ) -> DeviceGrant:
        """Give what is asked for within those bounds (role, seconds, task), or refuse; what was given.

        Never more than was asked for. Raises NotFound, TooOften.
        """
        grant, now = await self.show(who, address, typed), self._clock.now()
        role, ttl, task = min(bounds[0], grant.role), min(bounds[1], grant.ttl), bounds[2]
        if verdict == "decline":
            done = await self._over.grants.deny(grant.id, now)
        else:
            if task is not None:
                await self._authority.role(who, task)
            done = await self._over.grants.approve(grant.id, who.user, role, ttl, task, now, who.login)
        if not done:
            raise NotFound("No program waits with that code.")
        event = "device_grant.approved" if verdict == "approve" else "device_grant.declined"
        await self._over.audit.append(event, now, by=deed(who), task=task, subjects=[grant.id])
        return replace(grant, role=role, ttl=ttl, task=task)

    async def poll(self, secret: str) -> Answer | Given | None:
        """What a program is told; None for a device code that is none. A bearer is made when it is collected."""
        now = self._clock.now()
        polled = await self._over.grants.poll(secret, now)
        if polled is None:
            return None
        told, grant = polled
        if told != "approved" or grant.user is None:
            return told
        try:
            return await self._give(grant, grant.user, now)
        except NotFound:  # the person has lost the task since
            return "access_denied"

    async def _give(self, grant: DeviceGrant, user: UserId, now: float) -> Given:
        agent = await self._over.agents.ensure(user, grant.agent, now) if grant.agent is not None else None
        device = await self._over.devices.add(user, grant.client, "cli" if agent is None else "script", now)
        token, secret = await self._over.tokens.issue(
            user,
            role=grant.role,
            at=now,
            expires_at=now + grant.ttl,
            task=grant.task,
            device=device.id,
            agent=agent.id if agent is not None else None,
        )
        by = deed(Principal(user, "", device=device.id))
        await self._over.audit.append("token.made", now, by=by, task=grant.task, subjects=[token.id, grant.id])
        return Given(token, secret)
