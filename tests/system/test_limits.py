"""Floods over real sockets: each ends at its limit, says so, and nobody else notices."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import struct
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, closing
from typing import Any

import pytest
from kit.running_server import running_server
from kit.served import Served
from kit.stalled import raw_socket, resident, until_parked
from pycrdt import Doc, Text

from crdt_docs.messages import QueryAwareness, SyncStep1
from crdt_docs.messages.ywebsocket import encode
from server.doors.turnstile import PROMPT
from server.sync.inflow import ANSWERED

STRANGERS = 12
OPEN = 8


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("limits")
    settings = folder / "clew.toml"
    settings.write_text(f"address_connections = {STRANGERS}\nuser_connections = {OPEN}\n")
    with running_server(folder / "data", ("--config", str(settings))) as server:
        yield Served(server, str(server.new_token("owner", "--role", "owner")["token"]))


def counted(served: Served, name: str) -> int:
    with urllib.request.urlopen(f"{served.server.url}/metrics", timeout=20) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(f"{name} "):
                return int(float(line.split()[1]))
    raise AssertionError(f"no metric {name}")


def dial(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.server.port), timeout=20)


async def says_hello(served: Served, task: str) -> None:
    """Somebody types and another one reads it, while whatever else goes on."""
    one, other = Doc[Any](), Doc[Any]()
    other.get("t", type=Text)
    async with served.join(task, one) as writer, served.join(task, other) as reader:
        text = one.get("t", type=Text)
        text += "hello"
        await writer.push()
        await writer.barrier()
        await reader.until(lambda: str(other.get("t", type=Text)).endswith("hello"))


@pytest.mark.parametrize(
    ("kind", "frame"),
    [
        ("SyncStep1", encode(SyncStep1(b"\0"))),
        ("QueryAwareness", encode(QueryAwareness())),
    ],
)
async def test_a_flood_of_questions_ends_4429_and_nobody_else_notices(served: Served, kind: str, frame: bytes) -> None:
    """Attack 34."""
    task = served.new_task()
    async with served.join(task) as flooder:
        for _ in range(ANSWERED[kind][0] + 200):  # type: ignore[index]
            await flooder.send(frame)
        end = await flooder.end()
        assert (end.code, end.reason) == (4429, f"too many {kind}")
    await says_hello(served, task)
    assert counted(served, "clew_refused_too_fast_total") > 0


async def test_a_user_has_so_many_documents_open_and_another_user_as_many_of_their_own(served: Served) -> None:
    """Attack 39."""
    task = served.new_task()
    token = str(served.server.new_token("owner", "--role", "owner")["token"])
    tokens = [served.token] * (OPEN // 2) + [token] * (OPEN // 2)
    async with AsyncExitStack() as stack:
        for bearer in tokens:
            await stack.enter_async_context(served.join(task, token=bearer))
        for bearer, why in ((served.token, f"over {OPEN} open documents of one user"), (token, "over")):
            async with served.join(task, token=bearer, wait=False) as refused:
                end = await refused.end()
                assert end.code == 4429
                assert end.reason.startswith(why)
        wei = served.new_user("wei")
        served.api.add_member(task, "wei", "editor")
        async with served.join(task, token=wei) as welcome:
            assert not welcome.closed.done()
    await says_hello(served, task)


def test_strangers_of_one_address_are_bounded_and_told_503(served: Served) -> None:
    """Attack 38."""
    with ExitStack() as stack:
        silent = [stack.enter_context(dial(served)) for _ in range(STRANGERS)]  # accepted in this order
        refused = stack.enter_context(dial(served))
        assert refused.recv(4096).startswith(b"HTTP/1.1 503 ")
        assert refused.recv(4096) == b""
        for connection in silent:
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(4096) == b"", "the server has closed it, too"
        assert counted(served, "clew_refused_address_total") == 1


def test_who_hammers_is_held_back_a_little(served: Served) -> None:
    task = served.new_task()
    begun = time.monotonic()
    ends = [
        upgrade_refused(served, task) for _ in range(2 * PROMPT + 30)
    ]  # what came in while nobody was refused is there too
    assert set(ends) == {4401}
    assert time.monotonic() - begun > 1


def upgrade_refused(served: Served, task: str) -> int:
    with dial(served) as connection:
        connection.sendall(
            f"GET /sync/{task} HTTP/1.1\r\nHost: 127.0.0.1:{served.server.port}\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            "Sec-WebSocket-Protocol: clew.v1, token.nobody\r\n\r\n".encode()
        )
        heard = b""
        while (at := heard.find(b"\r\n\r\n")) < 0 or len(heard) < at + 8:
            more = connection.recv(4096)
            assert more
            heard += more
        code: int = struct.unpack(">H", heard[at + 6 : at + 8])[0]
        return code


STORED = "SELECT doc FROM pieces JOIN snapshots USING (doc, seq) GROUP BY doc HAVING sum(length(data)) > ?"


async def compacted(served: Served, size: int) -> None:
    """Wait until the log holds a snapshot of that size, for making one takes memory too."""
    async with asyncio.timeout(30):
        while True:
            with closing(sqlite3.connect(served.server.data / "log.db")) as log:
                if log.execute(STORED, (size,)).fetchone():
                    return
            await asyncio.sleep(0.1)


async def at_rest(pid: int) -> int:
    """What the process holds once that changes no more, kB."""
    before, now = 0, resident(pid)
    async with asyncio.timeout(30):
        while abs(now - before) > 500:
            await asyncio.sleep(1)
            before, now = now, resident(pid)
    return now


async def test_many_who_never_read_a_large_document_cost_next_to_nothing_and_others_get_it(served: Served) -> None:
    task, large = served.new_task(), Doc[Any]()
    text = large.get("free", type=Text)
    for n in range(200):
        text += chr(97 + n % 26) * 100_000
    async with served.join(task, large) as offline:  # back with 20 MB that nobody else has
        await offline.barrier()
        assert not offline.closed.done()
    await compacted(served, 20_000_000)
    before = await at_rest(served.server.pid)
    async with AsyncExitStack() as stack:
        stalled = [await stack.enter_async_context(raw_socket(served, task)) for _ in range(OPEN // 2)]
        wei = served.new_user("unread")
        served.api.add_member(task, "unread", "editor")
        async with served.join(task, token=wei) as reader:
            assert len(reader.heard[0]) > 20_000_000
        await until_parked(served, len(stalled))
        assert await at_rest(served.server.pid) - before < 30_000
        opcode, message = await stalled[0].read()
        assert (opcode, message[:2]) == (2, b"\0\1")
        assert len(message) > 20_000_000


async def test_a_hundred_megabytes_begun_by_nobody_in_particular_are_not_kept(served: Served) -> None:
    """Attack 37. The other wire shows who it is in a message: until then no message may be long."""
    before = resident(served.server.pid)
    head = b"\x82\xff" + struct.pack(">Q", 20_000_000) + bytes(4)
    with ExitStack() as stack:
        ends = []
        for _ in range(STRANGERS // 2):
            connection = stack.enter_context(dial(served))
            connection.sendall(
                f"GET /hocuspocus HTTP/1.1\r\nHost: 127.0.0.1:{served.server.port}\r\nConnection: Upgrade\r\n"
                "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
            )
            heard = b""
            while b"\r\n\r\n" not in heard:
                heard += connection.recv(4096)
            connection.sendall(head + bytes(50_000))
            frame = heard.partition(b"\r\n\r\n")[2] or connection.recv(4096)
            ends.append((frame[0], struct.unpack(">H", frame[2:4])[0]))
        assert set(ends) == {(0x88, 4413)}
        assert resident(served.server.pid) - before < 8_000
