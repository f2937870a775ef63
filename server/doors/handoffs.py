"""Handing a task to a new device: offered, claimed, matched, collected. Owns who may do which step.

The one who offers is signed in, and alone may answer, from the same login, device and session. The new device shows the
code once, and its key if it has one, and alone may collect. What it gets is the least: one task, a role, an end. A code
that is presented a second time is out of hand: what the first presentation led to is taken back. Must never say why a
code was refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from crdt_docs.ids import DeviceId, SessionId, TaskId, UserId, new_id
from server.domain.access import Principal, Proven, Role
from server.domain.audit import Deed
from server.domain.clock import Clock
from server.domain.credential import Secret, SecretHash, hash_secret, new_secret
from server.domain.device import Level
from server.domain.errors import Conflict, Forbidden, NotFound
from server.domain.handoff import (
    LIVES,
    PAUSE,
    Claim,
    Guesses,
    Handoff,
    HandoffId,
    How,
    Why,
    network_of,
    new_code,
    new_numbers,
    new_qr_secret,
    read_code,
)
from server.domain.login import Login, Visit
from server.domain.policy import pass_on
from server.domain.proof import Thumbprint
from server.doors.authority import Authority, require_login
from server.doors.links import Arrival, Entered, Threshold
from server.doors.notices import Notices
from server.doors.revocation import Revocation, deed
from server.store.handoffs import Handoffs
from server.store.sessions import Sessions

_GONE: Final = "This code was used, has expired, or never was one. Get a new one where the task is open."
_ENDS: Final[dict[Why, str]] = {
    "withdrawn": "handoff.withdrawn",
    "declined": "handoff.declined",
    "mismatched": "handoff.mismatched",
    "elsewhere": "handoff.misused",
    "expired": "handoff.expired",
    "reused": "handoff.reused",
    "guessed": "handoff.guessed",
    "known": "handoff.known",
}


class Wanted(NamedTuple):
    """What is to be handed over: a task, as what (None: as much as may be), for how many seconds, shown how."""

    task: TaskId
    role: Role | None
    ttl: float
    how: How
    session: SessionId | None


class Presented(NamedTuple):
    """A code as somebody presents it: a QR code's ``id`` and secret, or a typed one, ``id`` None."""

    id: HandoffId | None
    secret: str


class Newcomer(NamedTuple):
    """Who presents it: the browser, the address that it came from (None where that may be a proxy's), and by whom wrong
    codes of theirs are counted."""

    arrival: Arrival
    address: str | None
    guesser: str

    @property
    def key(self) -> Thumbprint | None:
        """The key that the browser has shown."""
        return self.arrival.key


class Claimed(NamedTuple):
    """The code was good: come back with ``secret``, and meanwhile show the number of the claim."""

    handoff: Handoff
    secret: Secret


class Known(NamedTuple):
    """The browser is signed in as the one who offers: it needs no more than the task's address."""

    task: TaskId


@dataclass(frozen=True, slots=True)
class Handing:
    """The stores that a handoff goes through."""

    handoffs: Handoffs
    sessions: Sessions
    threshold: Threshold


class Handover:
    """Each method is one step of one side."""

    def __init__(
        self, handing: Handing, authority: Authority, revocation: Revocation, notices: Notices, clock: Clock
    ) -> None:
        self._handoffs = handing.handoffs
        self._sessions = handing.sessions
        self._threshold = handing.threshold
        self._authority = authority
        self._revocation = revocation
        self._notices = notices
        self._clock = clock
        self._guesses = Guesses(clock)

    # -- where the task is open

    async def offer(self, who: Principal, wanted: Wanted, address: str | None) -> tuple[Handoff, str]:
        """Offer a task; the handoff, and the code that shows it, which is nowhere else.

        Raises NotFound, Forbidden for a role over one's own, TooOften.
        """
        require_login(who)
        if who.login is None or who.device is None:
            raise Forbidden("This takes a browser that is signed in.")
        role = await self._authority.role(who, wanted.task)
        most = min(role, Role.EDITOR)
        if wanted.role is not None and wanted.role > most:
            raise Forbidden("Nobody hands over more than they have, nor the task itself.")
        if wanted.session is not None and await self._sessions.get(who.user, wanted.session) is None:
            raise NotFound
        now = self._clock.now()
        await self._expire(now)
        code = new_qr_secret() if wanted.how == "qr" else new_code()
        offered = Handoff(
            HandoffId(new_id()),
            wanted.how,
            who.user,
            wanted.task,
            who.device,
            who.login,
            wanted.session,
            network_of(address),
            wanted.role or most,
            wanted.ttl,
            "offered",
            None,
            now,
            now + LIVES[wanted.how],
        )
        before = await self._handoffs.offer(offered, hash_secret(code))
        if before is not None:
            await self._note(before, _ENDS["withdrawn"], who)
        await self._note(offered, "handoff.offered", who)
        return offered, code

    async def look(self, who: Principal, id: HandoffId, session: SessionId | None) -> Handoff:
        """How it stands, for the one who offered it. Raises NotFound."""
        require_login(who)
        await self._expire(self._clock.now())
        handoff = await self._handoffs.get(id, who.user)
        if handoff is None or not _offers(who, session, handoff):
            raise NotFound
        return handoff

    async def approve(self, who: Principal, id: HandoffId, number: int, session: SessionId | None) -> Handoff:
        """Let the device in that shows this number. There is one try, and nobody else's counts.

        Raises NotFound, Forbidden from anywhere but where it was offered, Conflict for a wrong number or what is over.
        """
        require_login(who)
        now = self._clock.now()
        await self._expire(now)
        handoff = await self._handoffs.get(id, who.user)
        if handoff is None:
            raise NotFound
        if not _offers(who, session, handoff):
            await self._end(handoff, "elsewhere", who)
            raise Forbidden("Only where it was offered can it be approved. Nobody was let in.")
        if handoff.state != "claimed" or handoff.claim is None:
            raise Conflict("There is nobody to let in.")
        await self._authority.role(who, handoff.task)
        approved = await self._handoffs.approve(id, number, now)
        if approved is None:
            await self._end(handoff, "mismatched", who)
            raise Conflict("The other device shows another number. Nobody was let in.")
        await self._note(approved, "handoff.approved", who)
        return approved

    async def decline(self, who: Principal, id: HandoffId) -> None:
        """Let nobody in, or take the offer back; on any of one's devices. Raises NotFound."""
        require_login(who)
        handoff = await self._handoffs.get(id, who.user)
        if handoff is None:
            raise NotFound
        await self._end(handoff, "withdrawn" if handoff.state == "offered" else "declined", who)

    async def pause(self, who: Principal) -> float:
        """Be asked nothing for an hour; until when (Unix seconds)."""
        require_login(who)
        until = self._clock.now() + PAUSE
        for handoff in await self._handoffs.pause(who.user, until):
            await self._note(handoff, _ENDS["declined"], who)
        return until

    async def resume(self, who: Principal) -> None:
        """End the pause."""
        require_login(who)
        await self._handoffs.resume(who.user)

    async def keep(self, who: Principal, device: DeviceId) -> None:
        """Let a device that is visiting stay, as one of the person's own, confirmed no better than where one asks from.

        Raises NotFound.
        """
        require_login(who)
        now = self._clock.now()
        found = await self._threshold.devices.get(who.user, device)
        if found is None or found.revoked_at is not None:
            raise NotFound
        if not await self._threshold.logins.keep(who.user, device, now, pass_on(who, now)):
            return  # it is one of theirs already
        await self._threshold.audit.append("device.kept", now, by=deed(who), subjects=[device])

    # -- on the new device

    async def redeem(self, presented: Presented, newcomer: Newcomer) -> Claimed | Known:
        """Present a code. Raises NotFound for all that is not good, Denied if the task's policy wants more of a device,
        Conflict if somebody else is signed in there, TooOften for who has guessed enough."""
        now = self._clock.now()
        code = presented.secret if presented.id else read_code(presented.secret)
        if presented.id is None:
            self._guesses.check(newcomer.guesser)
        await self._expire(now)
        secret = hash_secret(code or "")
        handoff = await self._handoffs.presented(secret, presented.id)
        if handoff is not None and handoff.state == "offered":
            known = await self._receive(handoff, newcomer)
            if known is not None:
                return known
            claimed = await self._claim(secret, presented, newcomer, handoff, now)
            if claimed is not None:
                return claimed
            handoff = await self._handoffs.presented(secret, presented.id)
        if handoff is not None:
            await self._presented_again(handoff)
        elif presented.id is None:
            await self._missed(newcomer.guesser, now)
        raise NotFound(_GONE)

    async def collect(self, id: HandoffId, secret: str, newcomer: Newcomer) -> Entered | Handoff:
        """Fetch the login, once it is approved; till then the handoff as it stands. Raises NotFound when it is over.

        Anybody else who tries, by another key or secret, ends it.
        """
        now = self._clock.now()
        await self._expire(now)
        key = hash_secret(secret)
        handoff = await self._handoffs.get(id)
        if handoff is None or handoff.state not in ("claimed", "approved"):
            raise NotFound(_GONE)
        if not await self._handoffs.holds(id, key, newcomer.key):
            await self._end(handoff, "elsewhere", None)
            raise NotFound(_GONE)
        if handoff.state == "claimed":
            return handoff
        await self._judge(handoff, newcomer, now)
        collected = await self._handoffs.collect(id, key, newcomer.key, now)
        user = await self._threshold.users.get(handoff.user)
        if collected is None or user is None:
            raise NotFound(_GONE)
        visit = Visit(collected.task, collected.role, collected.ttl)
        arrival, proven = replace(newcomer.arrival, visit=visit), await self._passed_on(collected, now)
        entered = await self._threshold.enter(user, arrival, now, "handoff.entered", proven=proven)
        await self._handoffs.note_made(id, entered.device.id)
        await self._note(replace(collected, made=entered.device.id), "handoff.collected", None)
        return entered

    # -- what both go by

    async def _receive(self, handoff: Handoff, newcomer: Newcomer) -> Known | None:
        """Whether the browser is one of the person's own; raises Conflict if it is somebody else's."""
        present = newcomer.arrival.present
        if present is None:
            return None
        if present.user != handoff.user:
            raise Conflict("Somebody else is signed in on this device. Sign out here first.")
        if present.task is not None:
            return None
        await self._end(handoff, "known", _principal(present))
        return Known(handoff.task)

    async def _claim(
        self, secret: SecretHash, presented: Presented, newcomer: Newcomer, offered: Handoff, now: float
    ) -> Claimed | None:
        await self._judge(offered, newcomer, now)
        await self._threshold.require_own_key(offered.user, newcomer.key)
        number, numbers = new_numbers()
        place = network_of(newcomer.address)
        near = None if place is None or offered.place is None else place == offered.place
        arrival = newcomer.arrival
        claim = Claim(arrival.name, arrival.kind, near, newcomer.key, number, numbers)
        key = new_secret()
        claimed = await self._handoffs.claim(secret, presented.id, claim, hash_secret(key), now)
        if claimed is None:
            return None
        await self._note(claimed, "handoff.claimed", None)
        self._notices.tell_login(claimed.login, "handoff-claimed", {"handoff": claimed.id})
        return Claimed(claimed, key)

    async def _judge(self, handoff: Handoff, newcomer: Newcomer, now: float) -> None:
        """Whether the task would open to the device that is to come in. Raises NotFound, or Denied by its policy."""
        level = Level.NONE if newcomer.key is None else Level.SOFTWARE
        proven = await self._passed_on(handoff, now)
        visitor = Principal(
            handoff.user,
            "",
            task=handoff.task,
            cap=handoff.role,
            level=level,
            proven_at=proven.at if proven is not None else None,
            proven_by=proven.by if proven is not None else None,
            visiting=True,
        )
        await self._authority.role(visitor, handoff.task)

    async def _passed_on(self, handoff: Handoff, now: float) -> Proven | None:
        """What the number match is worth: what the login holds that offers, and alone may answer."""
        offering = await self._threshold.logins.get(handoff.user, handoff.login)
        return pass_on(offering, now) if offering is not None else None

    async def _presented_again(self, handoff: Handoff) -> None:
        """A used code has come a second time: somebody has it who should not, and nobody knows which of the two."""
        if handoff.state in ("claimed", "approved"):
            await self._end(handoff, "reused", None)
        elif handoff.state == "collected" and handoff.made is not None:
            await self._note(handoff, _ENDS["reused"], None)
            await self._revocation.device(Principal(handoff.user, ""), handoff.made)

    async def _missed(self, guesser: str, now: float) -> None:
        self._guesses.miss(guesser)
        await self._note_all(await self._handoffs.miss(now), "guessed")

    async def _expire(self, now: float) -> None:
        await self._note_all(await self._handoffs.expire(now), "expired")

    async def _end(self, handoff: Handoff, why: Why, by: Principal | None) -> None:
        ended = await self._handoffs.end(handoff.id, why)
        if ended is not None:
            await self._note(ended, _ENDS[why], by)

    async def _note_all(self, handoffs: Iterable[Handoff], why: Why) -> None:
        for handoff in handoffs:
            await self._note(handoff, _ENDS[why], None)

    async def _note(self, handoff: Handoff, event: str, by: Principal | None) -> None:
        """The handoff, the device that it came from and, as far as it is known, the other one: its key, then its id."""
        other = handoff.made or (handoff.claim.thumbprint if handoff.claim is not None else None)
        subjects = [handoff.id, handoff.device, *([other] if other is not None else [])]
        actor = deed(by) if by is not None else Deed(user=handoff.user)
        await self._threshold.audit.append(event, self._clock.now(), by=actor, task=handoff.task, subjects=subjects)


def _offers(who: Principal, session: SessionId | None, handoff: Handoff) -> bool:
    """Whether this is the very login, device and session that offered it."""
    return (who.login, who.device, session) == (handoff.login, handoff.device, handoff.session)


def _principal(login: Login) -> Principal:
    return Principal(UserId(login.user), "", device=login.device, login=login.id)
