"""People who look at a task over a real socket, and devices that have a key. Owns how they come in; asserts nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from joserfc.jwk import ECKey
from kit.app_under_test import ORIGIN, Answered, AppUnderTest, Browser, app_under_test, on_the_wire
from kit.handing_over import prove
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from crdt_docs.ids import UserId
from crdt_docs.lib0 import varstring
from server.http.endpoint import PREFIX

STEP1 = b"\x00\x00\x01\x00"


class Keyed(Browser):
    """A browser whose device has a key, and proves it on every request."""

    whose: AppUnderTest
    key: ECKey

    async def ask(self, method: str, path: str, body: object = None, **extra: str | None) -> Answered:
        """One request, with a proof of its own."""
        proof = prove(self.whose, self.key, method, PREFIX + path.partition("?")[0])
        return await super().ask(method, path, body, dpop=proof, **extra)


async def keyed(app: AppUnderTest, name: str) -> Keyed:
    """Sign somebody in on a device with a key."""
    browser = Keyed(app.app, {"origin": ORIGIN})
    browser.whose, browser.key = app, ECKey.generate_key("P-256", private=True)
    answer = await browser.post("/signin", {"key": await app.doors.links.issue_by_name(name), "device": "keyed"})
    browser.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
    browser.user, browser.device = UserId(answer.json["user"]["id"]), answer.json["device"]["id"]
    return browser


@dataclass
class Wire:
    """A served application."""

    app: AppUnderTest
    port: int

    async def watch(self, who: Browser, task: str, part: str = "") -> ClientConnection:
        """A socket by a ticket of theirs, which has heard the document."""
        ticket = (await who.post(f"/tasks/{task}/tickets", {})).json["ticket"]
        return await self.by(f"ticket.{ticket}", task, part)

    async def hocuspocus(self, credential: str, name: str) -> tuple[bytes, str]:
        """What the other wire answers to an Auth: its two bytes, and its words."""
        async with connect(f"ws://127.0.0.1:{self.port}/hocuspocus", proxy=None) as socket:
            await socket.send(varstring(name) + b"\x02\x00" + varstring(credential) + varstring("4.0.0"))
            said = await socket.recv()
        assert isinstance(said, bytes)
        body = said.removeprefix(varstring(name))
        return body[:2], body[3:].decode()

    async def by(self, credential: str, task: str, part: str = "") -> ClientConnection:
        """A socket by a credential."""
        socket = await connect(
            f"ws://127.0.0.1:{self.port}/sync/{task}{part}",
            origin=Origin(f"http://127.0.0.1:{self.port}") if credential.startswith("ticket.") else None,
            subprotocols=[Subprotocol("clew.v1"), Subprotocol(credential)],
            proxy=None,
        )
        await socket.send(STEP1)
        return socket


async def closing(socket: ClientConnection, within: float = 5) -> tuple[int, str]:
    """How the server closes the socket: the code and the reason."""
    with anyio.fail_after(within):
        try:
            while True:
                await socket.recv()
        except ConnectionClosed as closed:
            assert closed.rcvd is not None
            return closed.rcvd.code, closed.rcvd.reason


async def is_open(socket: ClientConnection) -> bool:
    """Whether the server still answers a barrier."""
    await socket.send(b"\x00\x01\x02\x00\x00")
    await socket.send(b"\x64\x2a")
    with anyio.fail_after(5):
        try:
            while await socket.recv() != b"\x64\x2a":
                pass
        except ConnectionClosed:
            return False
    return True


@asynccontextmanager
async def wire_in(folder: Path) -> AsyncIterator[Wire]:
    """An application over a fresh folder, served on loopback."""
    async with app_under_test(folder) as app, on_the_wire(app.app) as port:
        yield Wire(app, port)
