"""The threshold that everybody who comes in by a browser passes, and the one-time links by which most do first.

Owns how a new login is made, by whatever way somebody has come, and what a link may become.

There is no "first visitor is owner": the first link is printed on the operator's own terminal, and only who holds its
secret is let in, once, within ten minutes. The secret stands in the fragment, which browsers send to nobody; the page
posts it. Opening the address (by a mail scanner, a preview) changes nothing. Must never write a secret anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from crdt_docs.ids import UserId
from server.domain.audit import Deed
from server.domain.clock import Clock
from server.domain.credential import LINK_LIFE, Secret
from server.domain.device import Device
from server.domain.errors import Unauthenticated
from server.domain.login import Login, Visit
from server.domain.user import User
from server.store.audit import Audit
from server.store.devices import Devices
from server.store.tokens import Links, Logins
from server.store.users import Users

OWNER: Final = "owner"
"""The name of the user who is made on the first run."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a browser brings as it comes in: what to call it, and the login that it has, if it has one.

    Who comes for a ``visit`` is let in to one task.
    """

    name: str
    kind: str
    present: Login | None = None
    visit: Visit | None = None


@dataclass(frozen=True, slots=True)
class Entered:
    """A browser that was just signed in. ``secret`` is its cookie's, and is nowhere else."""

    user: User
    device: Device
    login: Login
    secret: Secret


@dataclass(frozen=True, slots=True)
class Threshold:
    """The stores that a person passes on the way in."""

    users: Users
    devices: Devices
    links: Links
    logins: Logins
    audit: Audit

    async def enter(self, user: User, arrival: Arrival, now: float, event: str, *, proven: bool = False) -> Entered:
        """Sign the browser in as the user, who has shown that they may; ``event`` is how, for the audit.

        A browser that is signed in as the same user keeps its device and gets a new login; the caller ends the old one.
        ``proven`` says that the person has just shown that it is them, and not only somebody with their link.
        """
        device, present = None, arrival.present
        if present is not None and present.user == user.id:
            device = await self.devices.get(user.id, present.device)
        if device is None or device.revoked_at is not None:
            device = await self.devices.add(user.id, arrival.name, arrival.kind, now)
        login, cookie = await self.logins.issue(user.id, device.id, now, proven=proven, visit=arrival.visit)
        by = Deed(user=user.id, device=device.id)
        await self.audit.append(event, now, by=by, subjects=[device.id, login.id])
        return Entered(user, device, login, cookie)


class OneTimeLinks:
    """Issues links and lets in who redeems them."""

    def __init__(self, threshold: Threshold, clock: Clock) -> None:
        self._over = threshold
        self._clock = clock

    async def issue_by_name(self, name: str = OWNER) -> Secret:
        """A link for the user of that name, who is made if there is none. For the operator's terminal alone."""
        user = await self._over.users.ensure(name, self._clock.now())
        return (await self.issue(user.id))[0]

    async def issue(self, user: UserId) -> tuple[Secret, float]:
        """A link for a user who is in already, and when it expires (Unix seconds)."""
        now = self._clock.now()
        return await self._over.links.issue(user, now), now + LINK_LIFE

    async def redeem(self, secret: str, arrival: Arrival) -> Entered:
        """Burn the link and sign the browser in.

        Raises Unauthenticated, in the same words for used, expired and unknown links.
        """
        now = self._clock.now()
        link = await self._over.links.redeem(secret, now)
        user = await self._over.users.get(link.user) if link else None
        if user is None:
            raise Unauthenticated("This link was used, has expired, or never was one. Run `clew link` for another.")
        return await self._over.enter(user, arrival, now, "link.redeemed")


def link_url(base: str, secret: Secret) -> str:
    """The address to open. ``base`` is like ``http://localhost:8484``."""
    return f"{base}/#k={secret}"
