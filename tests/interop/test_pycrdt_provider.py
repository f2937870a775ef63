"""pycrdt's own Provider, and pycrdt-websocket's channel under it, as peers of a running server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest
from kit.node_clients import node_clients
from kit.served import Served
from pycrdt import Channel, Doc, Provider, Text
from pycrdt.websocket.websocket import HttpxWebsocket
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from crdt_docs import client

Kind = Literal["crdt_docs", "pycrdt-websocket"]
KINDS = pytest.mark.parametrize("kind", ["crdt_docs", "pycrdt-websocket"])


class Httpx:
    """The two methods of an httpx-ws session that pycrdt-websocket's channel calls."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send_bytes(self, message: bytes) -> None:
        await self._socket.send(message)

    async def receive_bytes(self) -> bytes:
        return await self._socket.recv(decode=False)


@asynccontextmanager
async def provided(served: Served, task: str, kind: Kind, doc: Doc[Any]) -> AsyncIterator[Provider]:
    """A document that pycrdt's Provider keeps in sync with a task."""
    uri = f"ws://127.0.0.1:{served.server.port}/sync/{task}"
    protocols = [Subprotocol("clew.v1"), Subprotocol(f"token.{served.token}")]
    async with connect(uri, subprotocols=protocols, proxy=None) as socket:
        channel: Channel = client.Channel(socket, task) if kind == "crdt_docs" else HttpxWebsocket(Httpx(socket), task)
        provider = Provider(doc, channel)
        async with provider:
            async with asyncio.timeout(10):
                await provider.synced.wait()
            yield provider


async def until(text: Text, wanted: str) -> None:
    for _ in range(1000):
        if str(text) == wanted:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{str(text)!r} is not {wanted!r}")


@KINDS
async def test_a_stock_provider_syncs_both_ways(served: Served, kind: Kind) -> None:
    task = served.new_task()
    mine = Doc[Any]()
    text = mine.get("notes", type=Text)
    text += "written before. "
    async with served.join(task, Doc[Any]()) as other, provided(served, task, kind, mine):
        assert other.doc is not None
        theirs = other.doc.get("notes", type=Text)
        await until(theirs, "written before. ")
        theirs.insert(0, "合同😀 ")
        await other.push()
        await until(text, "合同😀 written before. ")
        for word in "and many words one after the other".split():
            text += word + " "
        await until(theirs, "合同😀 written before. and many words one after the other ")
    fresh = Doc[Any]()
    async with provided(served, task, kind, fresh):
        assert str(fresh.get("notes", type=Text)) == str(text)


@pytest.mark.node
@KINDS
async def test_a_stock_provider_meets_stock_browsers_code(served: Served, kind: Kind) -> None:
    task = served.new_task()
    doc = Doc[Any]()
    text = doc.get("notes", type=Text)
    async with node_clients() as clients, provided(served, task, kind, doc):
        await clients.open("ann", served.server.port, task, served.token)
        await clients.until("ann", lambda seen: bool(seen["synced"]))
        await asyncio.gather(clients.do("type", "ann", text="from yjs 😀 ", every=3), _type(text, "from pycrdt 合同 "))
        seen = await clients.until("ann", lambda seen: len(seen["text"]) == len("from yjs 😀 from pycrdt 合同 "))
        await until(text, seen["text"])
        await clients.do("barrier", "ann", number=1)


async def _type(text: Text, words: str) -> None:
    for letter in words:
        text += letter
        await asyncio.sleep(0.003)


@KINDS
async def test_providers_that_send_a_little_and_leave_lose_nothing_and_harm_nobody(served: Served, kind: Kind) -> None:
    """One update followed by a prompt close is what stops a stock pycrdt-websocket server."""
    task = served.new_task()
    async with served.join(task, Doc[Any]()) as witness:
        for n in range(40):
            doc = Doc[Any]()
            async with provided(served, task, kind, doc):
                text = doc.get("notes", type=Text)
                text += f"{n} "
        assert witness.doc is not None
        seen = witness.doc.get("notes", type=Text)
        await witness.until(lambda: len(str(seen).split()) == 40)
        assert sorted(map(int, str(seen).split())) == list(range(40))
