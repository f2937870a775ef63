"""What people's other devices are told at once, and what is left of a device that is revoked, over loopback."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from kit.app_under_test import AppUnderTest, Browser, app_under_test, on_the_wire
from kit.handing_over import Phone, approve, hand_over, offer
from kit.raw_updates import section, string, update
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from crdt_docs.ids import DeviceId, DocName, TaskId
from crdt_docs.messages import Notice, SyncStep1, SyncStep2, Update
from crdt_docs.messages.ywebsocket import decode_reply, encode
from server.domain.access import Principal

EMPTY = b"\x00"


@dataclass
class Wire:
    """A served application, its owner's laptop, a task of theirs."""

    app: AppUnderTest
    port: int
    laptop: Browser
    task: TaskId

    @asynccontextmanager
    async def open(self, who: Browser) -> AsyncIterator[ClientConnection]:
        """A page's socket to the task, past its handshake."""
        ticket = (await who.post(f"/tasks/{self.task}/tickets", {})).json["ticket"]
        origin = Origin(f"http://127.0.0.1:{self.port}")
        offered = [Subprotocol("clew.v1"), Subprotocol(f"ticket.{ticket}")]
        url = f"ws://127.0.0.1:{self.port}/sync/{self.task}"
        async with connect(url, origin=origin, subprotocols=offered, proxy=None, close_timeout=1) as socket:
            await socket.send(encode(SyncStep1(EMPTY)))
            while not isinstance(decode_reply(await _frame(socket)), SyncStep1):
                continue
            await socket.send(encode(SyncStep2(b"\x00\x00")))
            yield socket


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    async with app_under_test(tmp_path) as app, on_the_wire(app.app) as port:
        laptop = await app.sign_in()
        yield Wire(app, port, laptop, await laptop.new_task())


async def _frame(socket: ClientConnection) -> bytes:
    frame = await socket.recv()
    assert isinstance(frame, bytes)
    return frame


async def notice(socket: ClientConnection, within: float = 10.0) -> dict[str, Any]:
    """The next notice; raises TimeoutError if there is none in time."""
    with anyio.fail_after(within):
        while True:
            message = decode_reply(await _frame(socket))
            if isinstance(message, Notice):
                told: dict[str, Any] = json.loads(message.json)
                return told


async def closed(socket: ClientConnection) -> int:
    """With which code the server closes, whatever it says before."""
    with anyio.fail_after(10):
        try:
            while True:
                await socket.recv()
        except ConnectionClosed as end:
            assert end.rcvd is not None
            return end.rcvd.code


async def test_checklist_13_every_other_device_hears_of_a_new_one_unasked_and_may_revoke_it(wire: Wire) -> None:
    tablet = await wire.app.sign_in(device="tablet")
    _, bearer = await wire.app.with_bearer(wire.laptop)
    async with wire.open(wire.laptop) as laptop, wire.open(tablet) as other:
        made, phone = await offer(wire.laptop, wire.task), Phone(wire.app)
        number = (await phone.redeem(made)).json["number"]
        claimed = await notice(laptop)
        assert (claimed["kind"], claimed["handoff"]) == ("handoff-claimed", made.id)
        await approve(wire.laptop, made, number)
        new = phone.signed_in(await phone.collect(made))
        for socket in (laptop, other):
            told = await notice(socket)
            assert (told["kind"], told["device"]["id"], told["task"]) == ("device-joined", new.device, wire.task)
            assert told["device"]["name"] == "Chrome on Android" and told["until"]
            assert "Acme" not in json.dumps(told)
        async with wire.open(new) as joined:
            assert (await tablet.delete(f"/devices/{told['device']['id']}")).status == 204
            assert await closed(joined) == 4403
        with pytest.raises(TimeoutError):
            await notice(other, 0.2)  # one's own offer is asked about where it was made, and nowhere else
    assert (await new.get(f"/tasks/{wire.task}")).status == 401 and bearer


async def test_attack_08_a_revoked_device_is_closed_at_once_and_what_it_sent_before_is_not_applied(wire: Wire) -> None:
    tablet, _ = await hand_over(wire.app, wire.laptop, wire.task)
    name, rooms = DocName(wire.task), wire.app.rooms
    async with wire.open(wire.laptop) as witness, wire.open(tablet) as revoked:
        first = section(7, 0, string("a", parent="notes"))
        await revoked.send(encode(Update(update(first))))
        with anyio.fail_after(10):
            while not isinstance(decode_reply(await _frame(witness)), Update):
                continue
        sent = 0

        async def type_on() -> None:
            nonlocal sent
            try:
                for n in range(1, 20_000):
                    await anyio.lowlevel.checkpoint()
                    await revoked.send(encode(Update(update(section(7, n, string("x", origin=(7, n - 1)))))))
                    sent = n
            except ConnectionClosed:
                return

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(type_on)
            while (await rooms.read(name)).seq < 20:  # noqa: ASYNC110 - a room tells nobody
                await anyio.sleep(0.001)
            await wire.app.doors.revocation.device(Principal(wire.laptop.user, ""), DeviceId(tablet.device))
            returned, head = time.monotonic(), (await rooms.read(name)).seq
            assert await closed(revoked) == 4403
            took = time.monotonic() - returned
        await anyio.sleep(0.2)
        assert (await rooms.read(name)).seq == head < sent  # what was in the kernel's buffer came too late
        assert took < 2  # some milliseconds, and what a busy machine adds
