"""Hostile clients on both wires, before they show who they are and after: nothing falls, stalls, grows or spreads.

While they talk, two people on another task must be heard within a second, and three listen on the hostile one: a peer
that notes each update in order, a stock y-websocket client, and pycrdt. What they were handed follows from what came
before it, is applied by both engines without error or rest, and makes the document that the server has.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kit.hostile_talk import HostileTalk, real_talks
from kit.native_reader import NativeReader, plain
from kit.node_clients import NodeClients, node_clients
from kit.served import Served, serve
from kit.stalled import resident
from kit.wire import Closed, Peer
from kit.yjs_oracle import YjsOracle
from pycrdt import Doc, Text
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from crdt_docs.messages.ywebsocket import EMPTY_STEP1, EMPTY_STEP2
from crdt_docs.schema import PART_ROOTS
from crdt_docs.updates.parse import MAP_TYPE, parse
from server.rooms.gate import Gate
from server.rooms.shapes import SHAPES

pytestmark = pytest.mark.node

KINDS = {name: "map" for name, ref in PART_ROOTS["main"].items() if ref == MAP_TYPE}
PLAIN: dict[str, Any] = {"cleanup": False}
"""Yjs tidies formats after a remote transaction, so that what is deleted depends on how updates were batched."""
TALKERS = 3
VISITS = 6
"""How many sockets each opens while one document is listened to."""
WRITTEN = 150
"""How many updates of a real client are among what they say."""
PATIENCE = 1.0
"""A longer silence is a hang, if the server was busy meanwhile: who got no time from the machine did not hang."""
GROWTH = 40_000
"""kB that the serving process may hold at the end over what it held when it was warm."""
GONE = (OSError, WebSocketException, asyncio.IncompleteReadError, TimeoutError)


@dataclass
class Happened:
    """What a run of fuzz came to."""

    ends: Counter[object] = field(default_factory=Counter)
    relayed: int = 0
    documents: int = 0
    messages: int = 0
    parted: int = 0
    """Documents that yrs and yjs show differently: where a liar's links tell no order (``test_fuzz_gate``)."""
    slowest: float = 0.0
    hangs: list[str] = field(default_factory=list)


class Canary:
    """Two people on another task, who say something to each other again and again."""

    def __init__(self, served: Served, happened: Happened) -> None:
        self._served = served
        self._happened = happened

    async def sing(self) -> None:
        """Until cancelled."""
        one, other = Doc[Any](), Doc[Any]()
        task = await asyncio.to_thread(self._served.new_task, "Bystanders")
        async with self._served.join(task, one) as speaker, self._served.join(task, other) as hearer:
            text, there = one.get("notes", type=Text), other.get("notes", type=Text)
            while True:
                await self._say(speaker, hearer, text, there)
                await asyncio.sleep(0.05)

    async def _say(self, speaker: Peer, hearer: Peer, text: Text, there: Text) -> None:
        began, busy = time.monotonic(), cpu_seconds(self._served.server.pid)
        text.insert(0, "x")
        if len(text) > 100:
            del text[50:]
        await speaker.push()
        await hearer.until(lambda: str(there) == str(text), 30)
        took, worked = time.monotonic() - began, cpu_seconds(self._served.server.pid) - busy
        self._happened.slowest = max(self._happened.slowest, took)
        if took > PATIENCE and worked > PATIENCE * 0.7:
            self._happened.hangs.append(f"{took:.2f} s, of which the server worked {worked:.2f} s")


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Fuzz:
    """One server, its listeners and its hostile clients."""

    def __init__(self, served: Served, clients: NodeClients, yjs: YjsOracle, pycrdt: NativeReader, seed: int) -> None:
        self.served = served
        self.clients = clients
        self.yjs = yjs
        self.pycrdt = pycrdt
        self.seed = seed
        self.real = real_talks()
        self.happened = Happened()

    async def document(self) -> None:
        """One task: listen, let them talk, compare."""
        number = self.happened.documents
        task = await asyncio.to_thread(self.served.new_task)
        known = Gate(SHAPES["main"])
        r = random.Random(f"{self.seed}/{number}")
        said: list[bytes] = []
        credentials = [self.served.token, "A" * 43]
        talks = [HostileTalk(random.Random(r.random()), said, known, task, credentials) for _ in range(TALKERS)]
        await self.clients.open("listener", self.served.server.port, task, self.served.token)
        await self.clients.until("listener", lambda seen: bool(seen["synced"]))
        async with self.served.join(task) as witness:
            for update in witness.heard:
                known.restore(parse(update))
            witness.on_update = lambda update: known.restore(parse(update))  # raises at what does not follow
            hostile = (self.talk(random.Random(r.random()), one, task) for one in talks)
            await asyncio.gather(self.write(task, r.choice(self.real)[:WRITTEN], said), *hostile)
            await witness.barrier()
            assert not witness.closed.done()
            await self.compare(task, witness)
        seen = await self.clients.read("listener")
        assert (seen["connects"], seen["codes"]) == (1, []), f"seed {self.seed}, document {number}"
        await self.clients.do("close", "listener")
        self.happened.documents += 1

    async def compare(self, task: str, witness: Peer) -> None:
        """Everybody has the server's document."""
        where = f"seed {self.seed}, document {self.happened.documents}"
        heard, stored = witness.heard, await asyncio.to_thread(self.served.api.export, task)
        live, joined = await asyncio.to_thread(partial(self.yjs.load_each, [heard, [stored]], KINDS, **PLAIN))
        native = await asyncio.to_thread(self.pycrdt.load, heard, KINDS)
        assert not live.pending and not joined.pending, where
        assert live.state_vector == joined.state_vector == native.state_vector, where
        self.happened.parted += plain(native.json) != plain(live.json)
        wanted = {str(client): clock for client, clock in live.state_vector.items()}
        seen = await self.clients.until("listener", lambda seen: seen["vector"] == wanted)
        assert not seen["pending"], where
        self.happened.relayed += len(heard)

    async def write(self, task: str, real: list[bytes], said: list[bytes]) -> None:
        """Say what was really written once, until it does not fit what others have made of the document."""
        with suppress(Closed):
            async with self.served.join(task) as writer:
                for update in real:
                    await writer.update(update)
                    said.append(update)
                    await asyncio.sleep(0.005)

    async def talk(self, r: random.Random, talk: HostileTalk, task: str) -> None:
        """One hostile client, visit after visit."""
        for _ in range(VISITS):
            way = r.choices((self.by_y_websocket, self.by_hocuspocus, self.by_hand), (5, 5, 1))[0]
            with suppress(*GONE):
                await way(r, talk, task)

    async def by_y_websocket(self, r: random.Random, talk: HostileTalk, task: str) -> None:
        token = r.choices((self.served.token, "A" * 43), (12, 1))[0]
        protocols = [Subprotocol("clew.v1"), Subprotocol(f"token.{token}")]
        async with self.connected(f"sync/{task}", protocols) as socket:
            await socket.send(EMPTY_STEP1)
            await socket.send(EMPTY_STEP2)
            await self.send_all(r, socket, talk, talk.plain)
            await self.until_heard(socket, EMPTY_STEP1, b"\x00\x01")

    async def by_hocuspocus(self, r: random.Random, talk: HostileTalk, task: str) -> None:
        async with self.connected("hocuspocus", []) as socket:
            if r.random() < 0.85:
                for _ in range(r.choice((0, 0, 2))):  # before it has shown who it is
                    await socket.send(talk.addressed())
                await socket.send(talk.auth())
            await self.send_all(r, socket, talk, talk.addressed)
            await self.until_heard(socket, talk.auth(), b"")

    async def by_hand(self, r: random.Random, talk: HostileTalk, task: str) -> None:
        """Past every library: bytes that are mostly no frames."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.served.server.port)
        writer.write(
            f"GET /sync/{task} HTTP/1.1\r\nHost: 127.0.0.1:{self.served.server.port}\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            f"Sec-WebSocket-Protocol: clew.v1, token.{self.served.token}\r\n\r\n".encode()
        )
        try:
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
            for _ in range(r.randint(1, 10)):
                writer.write(talk.junk())
                await asyncio.sleep(0)
                self.happened.messages += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    while await reader.read(65536):
                        pass
            self.happened.ends["by hand"] += 1
        finally:
            writer.transport.abort()

    def connected(self, path: str, protocols: list[Subprotocol]) -> connect:
        return connect(
            f"ws://127.0.0.1:{self.served.server.port}/{path}", subprotocols=protocols or None, compression=None,
            max_size=None, ping_interval=None, close_timeout=2, proxy=None,
        )  # fmt: skip

    async def send_all(self, r: random.Random, socket: ClientConnection, talk: HostileTalk, draw: Any) -> None:
        """Some messages; a few of them as text, or in fragments. Until the server has had enough."""
        for _ in range(r.choice((1, 5, 20, 40))):
            message = draw()
            self.happened.messages += 1
            with suppress(WebSocketException):
                if r.random() < 0.02:
                    await socket.send(message.hex())
                elif r.random() < 0.1:
                    await socket.send(talk.shreds(message))
                else:
                    await socket.send(message)
            if socket.close_code is not None:
                break

    async def until_heard(self, socket: ClientConnection, question: bytes, answer: bytes) -> None:
        """Until the server answers a question, which comes after all that was said, or has closed."""
        try:
            await socket.send(question)
            async with asyncio.timeout(20):
                while not bytes(await socket.recv(decode=False)).startswith(answer):
                    pass
            self.happened.ends["stays"] += 1
        except TimeoutError:
            self.happened.ends["unanswered"] += 1
        except WebSocketException:
            self.happened.ends[socket.close_code] += 1


async def fuzz(folder: Path, yjs: YjsOracle, pycrdt: NativeReader, seed: int, seconds: float) -> Happened:
    """Fuzz a server of its own for so long; what happened. Raises AssertionError."""
    with serve(folder) as served:
        async with node_clients() as clients:
            run = Fuzz(served, clients, yjs, pycrdt, seed)
            canary = asyncio.ensure_future(Canary(served, run.happened).sing())
            try:
                await run.document()
                warm, end, pid = 0, time.monotonic() + seconds, served.server.pid
                while time.monotonic() < end:
                    await run.document()
                    assert not canary.done()
                    if not warm and time.monotonic() > end - seconds * 0.8:
                        warm = resident(pid)
                grown = resident(pid) - warm
            finally:
                canary.cancel()
                with suppress(asyncio.CancelledError):
                    await canary
            assert served.server.pid == pid and served.server.process is not None
            assert served.server.process.poll() is None
    print(f"seed {seed}: {run.happened}, grown by {grown} kB")
    assert run.happened.hangs == [] and not run.happened.ends["unanswered"]
    assert run.happened.parted * 100 <= run.happened.documents, run.happened
    assert grown < GROWTH
    return run.happened


@pytest.fixture(scope="module")
def pycrdt() -> Iterator[NativeReader]:
    with NativeReader() as reader:
        yield reader


async def test_hostile_clients_on_both_wires_harm_nobody(tmp_path: Path, yjs: YjsOracle, pycrdt: NativeReader) -> None:
    happened = await fuzz(tmp_path, yjs, pycrdt, 1, 5)
    assert happened.ends["stays"] and happened.ends[4400], happened
    assert happened.relayed > 10 * happened.documents, happened


@pytest.mark.soak
@pytest.mark.timeout(0)
async def test_hostile_clients_on_both_wires_harm_nobody_for_half_an_hour(
    tmp_path: Path, yjs: YjsOracle, pycrdt: NativeReader, fuzz_minutes: float
) -> None:
    await fuzz(tmp_path, yjs, pycrdt, random.SystemRandom().randrange(2**32), 60 * fuzz_minutes)
