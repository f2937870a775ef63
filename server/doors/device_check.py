"""Is it the device that was signed in, or a copy of its cookie? Owns what a cookie must come with, and what it earns.

A device that has a key shows it on every request; one that its browser has bound holds the bound cookie as well. Must
never tell which of it was missing; the audit trail is told, once a minute for each login.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers

from server.domain.audit import Deed
from server.domain.bound_session import Fresh, Lost, Standing, SteppedDown
from server.domain.clock import Clock
from server.domain.device import Level
from server.domain.login import Login, LoginId
from server.domain.proof import Target, Thumbprint
from server.doors.bound import Bound
from server.doors.proofs import Proofs, Unproven
from server.store.audit import Audit

EVERY: Final = 60.0
_KEPT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Shown:
    """What the device has proven. ``reads_until`` (Unix seconds): it may only read, and only until then."""

    level: Level
    reads_until: float | None = None


class DeviceCheck:
    """Checks a login's device."""

    def __init__(self, proofs: Proofs, bound: Bound, audit: Audit, clock: Clock) -> None:
        self.proofs = proofs
        self._bound = bound
        self._audit = audit
        self._clock = clock
        self._noted: OrderedDict[LoginId, float] = OrderedDict()

    async def of(self, login: Login, headers: Headers, target: Target | None) -> Shown:
        """What the login's device proves by this request. Raises Unproven where that is less than it must."""
        level = Level.NONE
        if login.key is not None:
            try:
                self.proofs.require(headers, target, login.key)
            except Unproven as refusal:
                if refusal.suspicious:
                    await self._note(login)
                raise
            level = Level.SOFTWARE
        if not login.bound:
            return Shown(level)
        match await self._bound.stand(login, headers):
            case Fresh():
                return Shown(Level.HARDWARE)
            case SteppedDown(until=until):
                return Shown(level, until)
            case Lost():
                await self._note(login)
                raise self.proofs.refusal()
        return Shown(level)

    async def stand(self, login: Login, headers: Headers, key: Thumbprint | None) -> Standing:
        """What a login is worth that somebody presents who comes in and has shown this key, or none."""
        if login.key is not None and login.key != key:
            return Lost()
        return await self._bound.stand(login, headers) if login.bound else Fresh()

    async def _note(self, login: Login) -> None:
        now = self._clock.monotonic()
        if now - self._noted.get(login.id, float("-inf")) < EVERY:
            return
        self._noted[login.id] = now
        self._noted.move_to_end(login.id)
        if len(self._noted) > _KEPT:
            self._noted.popitem(last=False)
        by = Deed(user=login.user, device=login.device)
        await self._audit.append("device.unproven", self._clock.now(), by=by, subjects=[login.id])
