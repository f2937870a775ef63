"""People who look at a task over a real socket. Owns how they come in and how they are shown out; asserts nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from kit.app_under_test import AppUnderTest, Browser, app_under_test, on_the_wire
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from crdt_docs.lib0 import varstring

STEP1 = b"\x00\x00\x01\x00"


@dataclass
class Wire:
    """A served application."""

    app: AppUnderTest
    port: int

    async def watch(self, who: Browser, task: str, part: str = "") -> ClientConnection:
        """A socket by a ticket of theirs, which has heard the document and has come in."""
        ticket = (await who.post(f"/tasks/{task}/tickets", {})).json["ticket"]
        socket = await self.by(f"ticket.{ticket}", task, part)
        assert await is_open(socket), "a barrier is not answered while it may still be on its way in"
        return socket

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


async def closing(socket: ClientConnection, within: float = 20) -> tuple[int, str]:
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
    with anyio.fail_after(20):
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
