"""The threshold that everybody who comes in by a browser passes, and the one-time links by which most do first.

Owns how a new login is made, by whatever way somebody has come, and what a link may become.

There is no "first visitor is owner": the first link is printed on the operator's own terminal, and only who holds its
secret is let in, once, within ten minutes. The secret stands in the fragment, which browsers send to nobody; the page
posts it. Opening the address (by a mail scanner, a preview) changes nothing. Must never write a secret anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from crdt_docs.ids import UserId
from server.domain.access import LoginId, Proven
from server.domain.audit import Deed
from server.domain.clock import Clock, iso
from server.domain.credential import LINK_LIFE, Secret
from server.domain.device import Device
from server.domain.errors import Conflict, Unauthenticated
from server.domain.login import Login, Visit
from server.domain.proof import Thumbprint
from server.domain.user import User
from server.doors.notices import Notices
from server.store.audit import Audit
from server.store.device_keys import DeviceKeys
from server.store.devices import Devices
from server.store.tokens import Links, Logins
from server.store.users import Users


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a browser brings as it comes in: what to call it, and the login that it has and proves, if it has one.

    Who comes for a ``visit`` is let in to one task. ``key`` is what the browser has proven to hold, if it did; it
    becomes its device's. One that has *stepped down* says that it can't prove its login just now.
    """

    name: str
    kind: str
    present: Login | None = None
    visit: Visit | None = None
    key: Thumbprint | None = None
    stepped_down: bool = False


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
    keys: DeviceKeys
    notices: Notices | None = None

    async def enter(
        self, user: User, arrival: Arrival, now: float, event: str, *, proven: Proven | None = None
    ) -> Entered:
        """Sign the browser in as the user, who has shown that they may; ``event`` is how, for the audit.

        A browser that has the key of a device of theirs is that device. One without a key that is signed in as the same
        user keeps its device and gets a new login; the caller ends the old one. Raises Conflict for a key that is
        somebody else's: people who share a browser have a key each.
        ``proven`` is how the person has shown that it is them, and not only somebody with their link.
        """
        device = await self._known(user, arrival)
        if device is None or device.revoked_at is not None:
            device = await self.devices.add(user.id, arrival.name, arrival.kind, now)
        if arrival.key is not None:
            await self.keys.bind(device.id, arrival.key, now)
        login, cookie = await self.logins.issue(user.id, device.id, now, proven=proven, visit=arrival.visit)
        by = Deed(user=user.id, device=device.id)
        await self.audit.append(event, now, by=by, subjects=[device.id, login.id])
        if device.created_at == now:
            self._tell(device, login)
        return Entered(user, device, login, cookie)

    async def require_own_key(self, user: UserId, key: Thumbprint | None) -> None:
        """Raise Conflict if the key is another person's. For doors that burn something before they let in."""
        owner = await self.keys.owner(key) if key is not None else None
        if owner is not None and owner[0] != user:
            raise Conflict("This browser's key is another person's; each of you needs one of their own.", "another_key")

    async def _known(self, user: User, arrival: Arrival) -> Device | None:
        """Which of the user's devices it is, as far as it can show that. A cookie alone is nobody with a key."""
        present = arrival.present
        if arrival.key is not None:
            await self.require_own_key(user.id, arrival.key)
            owner = await self.keys.owner(arrival.key)
            if owner is not None:
                return await self.devices.get(user.id, owner[1])
        if present is None or present.user != user.id or present.key is not None:
            return None
        return await self.devices.get(user.id, present.device)

    def _tell(self, device: Device, login: Login) -> None:
        """All other devices of the person hear of it at once, so that a stranger's does not stay unnoticed."""
        if self.notices is None:
            return
        until = iso(login.expires_at) if login.task is not None else None
        joined = {"id": device.id, "name": device.name, "kind": device.kind}
        about = {"device": joined, "task": login.task, "until": until}
        self.notices.tell(device.user, "device-joined", about, except_device=device.id)


class OneTimeLinks:
    """Issues links and lets in who redeems them."""

    def __init__(self, threshold: Threshold, clock: Clock) -> None:
        self._over = threshold
        self._clock = clock

    async def issue_by_name(self, name: str | None = None) -> Secret:
        """A link for the user of that name, who is made if there is none; without one, for whose server it is.

        For the operator's terminal alone.
        """
        users, now = self._over.users, self._clock.now()
        user = await (users.ensure_owner(now) if name is None else users.ensure(name, now))
        return (await self.issue(user.id))[0]

    async def issue(self, user: UserId, login: LoginId | None = None) -> tuple[Secret, float]:
        """A link for a user who is in already, by that login, and when it expires (Unix seconds).

        Raises Unauthenticated if the login has ended meanwhile.
        """
        now = self._clock.now()
        return await self._over.links.issue(user, now, login=login), now + LINK_LIFE

    async def redeem(self, secret: str, arrival: Arrival) -> Entered:
        """Burn the link and sign the browser in.

        Raises Unauthenticated, in the same words for used, expired and unknown links.
        """
        now = self._clock.now()
        whose = await self._over.links.user(secret, now) if arrival.key is not None else None
        if whose is not None:
            await self._over.require_own_key(whose, arrival.key)
        link = await self._over.links.redeem(secret, now)
        user = await self._over.users.get(link.user) if link else None
        if user is None:
            raise Unauthenticated("This link was used, has expired, or never was one. Run `clew link` for another.")
        return await self._over.enter(user, arrival, now, "link.redeemed")


def link_url(base: str, secret: Secret) -> str:
    """The address to open. ``base`` is like ``http://localhost:8484``."""
    return f"{base}/#k={secret}"
