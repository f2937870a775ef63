"""Devices: what a user's sessions run on. A revoked one loses all that it opened, at once."""

from __future__ import annotations

from crdt_docs.ids import DeviceId
from server.domain.clock import iso
from server.domain.device import Device
from server.domain.errors import NotFound
from server.doors.authority import require_account
from server.doors.revocation import Revocation
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.shapes import Name
from server.store.devices import Devices


class DeviceChange(Input):
    """What to call it."""

    name: Name


class DeviceAnswer(Answer):
    """A device of whoever asks. ``current`` is the one that they ask from."""

    id: str
    name: str
    kind: str
    current: bool
    created_at: str
    seen_at: str


class DeviceList(Answer):
    """Devices that are not revoked, the one last seen first."""

    devices: list[DeviceAnswer]


def routes(devices: Devices, revocation: Revocation) -> list[Row]:
    """The endpoints of devices."""

    async def list_(call: Call, _: Nothing) -> DeviceList:
        require_account(call.principal)
        found = await devices.of_user(call.principal.user)
        return DeviceList(devices=[_answer(device, call) for device in found])

    async def rename(call: Call, change: DeviceChange) -> DeviceAnswer:
        require_account(call.principal)
        renamed = await devices.rename(call.principal.user, DeviceId(call.ids["id"]), change.name)
        if renamed is None:
            raise NotFound
        return _answer(renamed, call)

    async def revoke(call: Call, _: Nothing) -> None:
        require_account(call.principal)
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


def _answer(device: Device, call: Call) -> DeviceAnswer:
    return DeviceAnswer(
        id=device.id,
        name=device.name,
        kind=device.kind,
        current=device.id == call.principal.device,
        created_at=iso(device.created_at),
        seen_at=iso(device.seen_at),
    )
