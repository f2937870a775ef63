"""What a document's peers may rely on, whether the server hands sockets over or any other ASGI server serves them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import AppUnderTest, Browser, app_under_test, on_the_wire
from kit.rooms import until
from pycrdt import Doc, Text
from starlette.types import ASGIApp, Receive, Scope, Send
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from crdt_docs.ids import TaskId
from crdt_docs.messages import Awareness, Barrier
from crdt_docs.messages.vocabulary import State
from crdt_docs.messages.ywebsocket import EMPTY_STEP1, EMPTY_STEP2, encode, update_frame
from server.sync.protocol import EXTENSION


def plain(app: ASGIApp) -> ASGIApp:
    """The same on a server that hands nothing over."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        scope.get("extensions", {}).pop(EXTENSION, None)
        await app(scope, receive, send)

    return call


@dataclass
class Site:
    """A served application, its owner, a task of theirs."""

    app: AppUnderTest
    port: int
    owner: Browser
    task: TaskId

    async def refused(self, task: str, ticket: str) -> int:
        socket = await self.open(task, ticket)
        async with socket:
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(socket.recv(), 30)
            return socket.close_code or 0

    async def open(self, task: str, ticket: str) -> ClientConnection:
        offered = [Subprotocol("clew.v1"), Subprotocol(f"ticket.{ticket}")]
        origin = {"Origin": f"http://127.0.0.1:{self.port}"}
        return await connect(
            f"ws://127.0.0.1:{self.port}/sync/{task}",
            subprotocols=offered, additional_headers=origin, proxy=None, max_size=None, compression=None,
        )  # fmt: skip

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[ClientConnection]:
        answer = await self.owner.post(f"/tasks/{self.task}/tickets", {"session": None})
        async with await self.open(self.task, answer.json["ticket"]) as socket:
            await socket.send(EMPTY_STEP1)
            await hear(socket, lambda frame: frame[:2] == b"\0\1")
            await socket.send(EMPTY_STEP2)
            yield socket


@pytest.fixture(params=["handed over", "plain"])
async def site(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Site]:
    async with app_under_test(tmp_path) as app:
        over = request.param == "handed over"
        async with on_the_wire(app.app if over else plain(app.app), short=over) as port:
            owner = await app.sign_in()
            yield Site(app, port, owner, await owner.new_task())


async def hear(socket: ClientConnection, wanted: Any) -> list[bytes]:
    """What comes, up to what is wanted."""
    heard: list[bytes] = []
    async with asyncio.timeout(20):
        async for frame in socket:
            assert isinstance(frame, bytes)
            heard.append(frame)
            if wanted(frame):
                return heard
    raise AssertionError(f"closed with {socket.close_code}")


async def test_a_socket_from_its_handshake_to_its_end(site: Site) -> None:
    assert await site.refused(site.task, "none") == 4401
    async with site.enter() as ann, site.enter() as wei:
        doc = Doc[Any]()
        doc["t"] = text = Text()
        text += "word"
        first = update_frame(doc.get_update())
        before = doc.get_state()
        text += "x" * 40_000
        long = update_frame(doc.get_update(before))
        before = doc.get_state()
        text += "!"
        last = update_frame(doc.get_update(before))
        barrier = encode(Barrier(7))
        for frame in (first, long, last, barrier):
            await ann.send(frame)
        heard = await hear(ann, lambda frame: frame == barrier)
        assert [frame for frame in heard if frame in (first, long, last, barrier)] == [first, long, last, barrier]
        heard = await hear(wei, lambda frame: frame == last)
        assert [frame for frame in heard if frame in (first, long, last)] == [first, long, last]

        here = encode(Awareness((State(4711, 1, '{"user":{}}'),)))
        await ann.send(here)
        await hear(wei, lambda frame: frame[:1] == b"\1" and b"user" in frame)
        await ann.close()
        await hear(wei, lambda frame: frame[:1] == b"\1" and b"null" in frame)

        await wei.send("text")
        with pytest.raises(ConnectionClosed):
            while True:
                await asyncio.wait_for(wei.recv(), 30)
        assert wei.close_code == 4400
    await until(lambda: not any(room.connections for room in site.app.rooms.live()))


async def test_a_long_document_comes_whole_and_who_is_revoked_is_closed(site: Site) -> None:
    async with site.enter() as ann:
        doc = Doc[Any]()
        doc["t"] = text = Text()
        text += "x" * 400_000
        sent = update_frame(doc.get_update())
        await ann.send([sent[:100_000], sent[100_000:]])  # in fragments
        await hear(ann, lambda frame: frame == sent)
        async with site.enter() as wei:
            await wei.send(EMPTY_STEP1)
            (*_, whole) = await hear(wei, lambda frame: frame[:2] == b"\0\1")
            assert len(whole) > 400_000
            await site.app.rooms.revoke(lambda who, name: True, 4403, "revoked")
            for socket in (ann, wei):
                with pytest.raises(ConnectionClosed):
                    while True:
                        await asyncio.wait_for(socket.recv(), 30)
                assert socket.close_code == 4403
