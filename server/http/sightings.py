"""When a device was last in use. Owns that it is noted at most once a minute; must never decide who comes in."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from starlette.datastructures import Headers

from crdt_docs.ids import DeviceId
from server.domain.access import Principal
from server.domain.clock import Clock
from server.domain.proof import Target
from server.http.endpoint import Authenticates
from server.store.devices import Devices

EVERY: Final = 60.0
_KEPT: Final = 10_000


class Sightings:
    """A door that notes which device came through it."""

    def __init__(self, door: Authenticates, devices: Devices, clock: Clock) -> None:
        self._door = door
        self._devices = devices
        self._clock = clock
        self._noted: OrderedDict[DeviceId, float] = OrderedDict()

    async def of_request(self, headers: Headers, target: Target | None = None) -> Principal:
        """Who asks, as the door says."""
        principal = await self._door.of_request(headers, target)
        device, now = principal.device, self._clock.now()
        if device is not None and now - self._noted.get(device, 0.0) >= EVERY:
            self._noted[device] = now
            self._noted.move_to_end(device)
            if len(self._noted) > _KEPT:
                self._noted.popitem(last=False)
            await self._devices.seen([device], now)
        return principal

    def nonce(self) -> str:
        """What the next proof has to repeat, as the door says."""
        return self._door.nonce()
