"""A reader that stops reading costs the server nothing, loses nothing, harms nobody, and is told to come back."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from kit.served import Served, serve
from kit.wire import Peer
from pycrdt import Doc, Map

from crdt_docs.messages.vocabulary import SyncStep1, SyncStep2, Update
from crdt_docs.messages.ywebsocket import EMPTY_STEP1, EMPTY_STEP2, decode_reply

VALUE = 50_000
VALUES = 3_000
ALLOWED = 25_000
"""kB that the serving process may grow while 150 MB pass a socket that nobody reads."""


class RawSocket:
    """A WebSocket by hand over a small receive buffer: it reads when it is told to, and not before."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, payload: bytes) -> None:
        """One masked binary frame (RFC 6455 section 5.2); the mask is all zeroes."""
        size = len(payload)
        assert size < 126
        self._writer.write(bytes((0x82, 0x80 | size)) + b"\0\0\0\0" + payload)
        await self._writer.drain()

    async def read(self) -> tuple[int, bytes]:
        """The next frame: its opcode and payload."""
        first, second = await self._reader.readexactly(2)
        size = second & 127
        if size == 126:
            size = int.from_bytes(await self._reader.readexactly(2), "big")
        elif size == 127:
            size = int.from_bytes(await self._reader.readexactly(8), "big")
        return first & 15, await self._reader.readexactly(size)


@asynccontextmanager
async def raw_socket(served: Served, task: str) -> AsyncIterator[RawSocket]:
    """Joined, with the first Step2 read, and then silent: the stream's own buffer holds 64 kB, the kernel's 8."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", served.server.port))
    reader, writer = await asyncio.open_connection(sock=raw, limit=32 * 1024)
    try:
        key = base64.b64encode(os.urandom(16)).decode()
        writer.write(
            f"GET /sync/{task} HTTP/1.1\r\nHost: 127.0.0.1:{served.server.port}\r\nConnection: Upgrade\r\n"
            f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
            f"Sec-WebSocket-Protocol: clew.v1, token.{served.token}\r\n\r\n".encode()
        )
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
        connection = RawSocket(reader, writer)
        await connection.send(EMPTY_STEP1)
        await connection.send(EMPTY_STEP2)
        yield connection
    finally:
        writer.transport.abort()


def resident(pid: int) -> int:
    """kB of memory that the process holds now, shared pages left out."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise AssertionError("no RssAnon")


def parked(served: Served) -> int:
    """How many readers the server has parked, by its own count."""
    with urllib.request.urlopen(f"{served.server.url}/metrics", timeout=5) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("clew_connections_parked "):
                return int(float(line.split()[1]))
    raise AssertionError("no such metric")


async def overwrite(peer: Peer, values: Any, number: int) -> None:
    """Set one key again and again, each time to 50 kB, no faster than the server stores it."""
    for n in range(number):
        values["draft"] = f"{n:06d}" + "v" * VALUE
        await peer.push()
        await peer.barrier()


async def drain(stalled: RawSocket, until: str) -> Doc[Any]:
    """Read on, from where it stopped, until the document says that; the document."""
    doc = Doc[Any]()
    values = doc.get("free", type=Map)
    async with asyncio.timeout(30):
        while not str(values.get("draft", "")).startswith(until):
            opcode, payload = await stalled.read()
            if opcode != 2:
                continue
            match decode_reply(payload):
                case SyncStep2(update) | Update(update):
                    doc.apply_update(update)
                case SyncStep1():
                    await stalled.send(EMPTY_STEP2)
    return doc


@pytest.mark.timeout(180)
async def test_a_stalled_reader_is_parked_healed_and_at_last_closed(tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        task = served.new_task()
        doc, read = Doc[Any](), Doc[Any]()
        values, seen = doc.get("free", type=Map), read.get("free", type=Map)
        async with (
            served.join(task, doc) as writer,
            served.join(task, read) as reader,
            raw_socket(served, task) as healed,
            raw_socket(served, task) as lost,
        ):
            await overwrite(writer, values, 100)  # caches, buffers, the first compaction
            stalled_at = time.monotonic()
            before, most = resident(served.server.pid), 0
            began = time.monotonic()
            for n in range(30):
                await overwrite(writer, values, VALUES // 30)
                most = max(most, resident(served.server.pid))
                if n == 8:
                    assert parked(served) == 2
                if n == 9:
                    last = str(values["draft"])[:6]
                    document = await drain(healed, last)
                    assert document.get("free", type=Map)["draft"] == values["draft"]
            print(f"150 MB in {time.monotonic() - began:.0f} s, grew {(most - before) / 1000:.1f} MB")
            assert most - before < ALLOWED

            await reader.until(lambda: seen.get("draft") == values["draft"])
            assert not reader.closed.done()
            await told_to_come_back(lost, stalled_at)
        async with served.join(task, Doc[Any]()) as newcomer:
            assert newcomer.doc is not None
            assert newcomer.doc.get("free", type=Map)["draft"] == values["draft"]


async def told_to_come_back(lost: RawSocket, since: float) -> None:
    """Closed 1013, about a minute after it stopped reading."""
    await asyncio.sleep(max(0.0, since + 64 - time.monotonic()))
    async with asyncio.timeout(20):
        while True:
            opcode, payload = await lost.read()
            if opcode == 8:
                assert int.from_bytes(payload[:2], "big") == 1013
                return
