"""Devices: what a user's sessions run on. A revoked one loses all that it opened, at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from crdt_docs.ids import DeviceId, TaskId
from server.domain.clock import Clock, iso
from server.domain.device import Device, Level
from server.domain.errors import NotFound
from server.doors.authority import require_account, require_whole
from server.doors.revocation import Revocation
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.shapes import Name
from server.store.devices import Devices
from server.store.sessions import Sessions
from server.store.tokens import Logins

Visits = Mapping[DeviceId, tuple[TaskId, float]]

_LEVELS: Final[Mapping[Level, Literal["none", "software", "hardware"]]] = {
    Level.NONE: "none",
    Level.SOFTWARE: "software",
    Level.HARDWARE: "hardware",
}


class DeviceChange(Input):
    """What to call it."""

    name: Name


class Visiting(Answer):
    """To what a device was let in that is not its person's own."""

    task: str
    until: str


class DeviceAnswer(Answer):
    """A device of whoever asks. ``current`` is the one that they ask from.

    ``level`` is how far it proves that it is itself: ``hardware``, ``software`` or ``none``. ``sessions`` says how many
    of its sessions are not over. One that is ``visiting`` came by a handoff: it has that one task, until then.
    """

    id: str
    name: str
    kind: str
    level: Literal["none", "software", "hardware"]
    current: bool
    sessions: int
    created_at: str
    seen_at: str
    visiting: Visiting | None


class DeviceList(Answer):
    """Devices that are not revoked, the one last seen first."""

    devices: list[DeviceAnswer]


def routes(devices: Devices, sessions: Sessions, logins: Logins, revocation: Revocation, clock: Clock) -> list[Row]:
    """The endpoints of devices."""

    async def list_(call: Call, _: Nothing) -> DeviceList:
        require_account(call.principal)
        found = await devices.of_user(call.principal.user)
        open_ = await sessions.open_by_device(call.principal.user)
        visits = await logins.visits(call.principal.user, clock.now())
        return DeviceList(devices=[_answer(device, call, open_, visits) for device in found])

    async def rename(call: Call, change: DeviceChange) -> DeviceAnswer:
        require_whole(call.principal)
        renamed = await devices.rename(call.principal.user, DeviceId(call.ids["id"]), change.name)
        if renamed is None:
            raise NotFound
        visits = await logins.visits(call.principal.user, clock.now())
        return _answer(renamed, call, await sessions.open_by_device(call.principal.user), visits)

    async def revoke(call: Call, _: Nothing) -> None:
        require_whole(call.principal)
        await revocation.device(call.principal, DeviceId(call.ids["id"]))

    return [
        Endpoint("GET", "/devices", list_, Nothing, DeviceList, "Your devices.", errors=("forbidden",)),
        Endpoint(
            "PATCH",
            "/devices/{id}",
            rename,
            DeviceChange,
            DeviceAnswer,
            "Rename a device.",
            errors=("forbidden", "not_found"),
        ),
        Endpoint(
            "DELETE",
            "/devices/{id}",
            revoke,
            Nothing,
            None,
            "Revoke a device and all that it opened.",
            errors=("forbidden", "not_found"),
        ),
    ]


def _answer(device: Device, call: Call, open_: Mapping[DeviceId, int], visits: Visits) -> DeviceAnswer:
    task, until = visits.get(device.id, (None, 0.0))
    return DeviceAnswer(
        id=device.id,
        name=device.name,
        kind=device.kind,
        level=_LEVELS[device.level],
        current=device.id == call.principal.device,
        sessions=open_.get(device.id, 0),
        created_at=iso(device.created_at),
        seen_at=iso(device.seen_at),
        visiting=Visiting(task=task, until=iso(until)) if task is not None else None,
    )
