"""Share links: how an owner lets others in to one task, and how they enter. Owns what a link may become.

The secret stands in the fragment, which browsers send to nobody; the page posts it. Must never let a link change what
somebody is on the task already, nor burn a use for who may not come in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from crdt_docs.ids import TaskId, UserId, new_id
from server.domain.access import Principal, Role
from server.domain.audit import Deed
from server.domain.clock import Clock
from server.domain.credential import COOKIE_LIFE, Secret
from server.domain.device import Level
from server.domain.errors import Forbidden, NotFound, Unauthenticated
from server.domain.language import Language
from server.domain.login import Login, Visit
from server.domain.policy import Denied, Deny, Place, judge
from server.domain.share import Joined, Share, ShareId
from server.doors.authority import Authority
from server.doors.links import Arrival, Entered, Threshold
from server.doors.revocation import deed
from server.store.policies import Policies
from server.store.shares import Shares

_GONE = "This link was withdrawn, has expired, was used up, or never was one. Ask whoever sent it for another."


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a new link shall be: as what it lets in, for how many seconds, how often, and whom."""

    role: Role
    life: float
    most_uses: int
    sign_in: bool
    keyed: bool


class Sharing:
    """Makes links and lets in who presents one."""

    def __init__(
        self, shares: Shares, policies: Policies, threshold: Threshold, authority: Authority, clock: Clock
    ) -> None:
        self._shares = shares
        self._policies = policies
        self._threshold = threshold
        self._authority = authority
        self._clock = clock

    async def issue(self, by: Principal, task: TaskId, wanted: Wanted) -> tuple[Share, Secret]:
        """A new link; whether they may is the caller's to ask. Raises Conflict where a task has too many."""
        now = self._clock.now()
        ends, most, sign_in, keyed = now + wanted.life, wanted.most_uses, wanted.sign_in, wanted.keyed
        share = Share(ShareId(new_id()), task, wanted.role, by.user, now, ends, most, sign_in, keyed)
        secret = await self._shares.issue(share)
        await self._threshold.audit.append("share.made", now, by=deed(by), task=task, subjects=[share.id])
        return share, secret

    async def find(self, share: ShareId, secret: str) -> Share:
        """The link, if that is its secret and it is open. Raises NotFound, in the same words whatever is wrong."""
        found = await self._shares.find(share, secret, self._clock.now())
        if found is None:
            raise NotFound(_GONE)
        return found

    async def knows(self, login: Login, share: Share) -> bool:
        """Whether who is signed in comes as who they are: not a guest whose own task is closed to them.

        Raises Forbidden for who was let in to another task alone, and would lose it.
        """
        if login.task in (None, share.task):
            return True
        place = await self._policies.place(login.user, login.task)
        if place is not None and (place.until is None or self._clock.now() < place.until):
            raise Forbidden("This browser was let in to another task; open the link in another one, or sign out first.")
        return False

    async def join(self, who: Principal, share: Share) -> Joined:
        """Let somebody who is signed in onto the task. Raises Denied where a rule of it is not met, NotFound."""
        place, now = await self._policies.place(who.user, share.task), self._clock.now()
        if place is None or (place.until is not None and now >= place.until):
            await self._check(who, share)
        joined = await self._shares.join(share, who.user, now)
        if joined is None:
            raise NotFound(_GONE)
        self._authority.forget(share.task, who.user)
        if joined.fresh:
            await self._note(deed(who), share, who.user)
        return joined

    async def welcome(self, arrival: Arrival, share: Share, language: Language) -> Entered:
        """Let somebody in whom nobody knows, as a guest with a name of ours, to this task alone.

        Raises Unauthenticated for a link that is not for guests, Denied where a rule is not met, NotFound.
        """
        if share.sign_in:
            raise Unauthenticated("This link is for people of this server: sign in, then open it again.", "sign_in")
        level = Level.NONE if arrival.key is None else Level.SOFTWARE
        await self._check(Principal(UserId(""), "", task=share.task, level=level), share)
        await self._threshold.require_own_key(UserId(""), arrival.key)
        now = self._clock.now()
        guest = await self._shares.join_as_guest(share, language, now)
        if guest is None:
            raise NotFound(_GONE)
        visit = Visit(share.task, Role.EDITOR, min(COOKIE_LIFE, share.expires_at - now))
        entered = await self._threshold.enter(guest, replace(arrival, visit=visit), now, "share.redeemed")
        await self._note(Deed(user=guest.id, device=entered.device.id), share, guest.id)
        return entered

    async def _check(self, who: Principal, share: Share) -> None:
        """Raise Denied where they could not open the task as they come: then no use is burned."""
        place = Place(share.role, await self._policies.of(share.task), share.expires_at, share.keyed)
        verdict = judge(who, place, self._clock.now())
        if isinstance(verdict, Deny):
            raise Denied(verdict.reason)

    async def _note(self, by: Deed, share: Share, user: UserId) -> None:
        subjects = [share.id, user]
        await self._threshold.audit.append("share.used", self._clock.now(), by=by, task=share.task, subjects=subjects)
