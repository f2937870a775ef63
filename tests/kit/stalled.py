"""A WebSocket that stops reading, by hand, and traffic that it then does not read.

Owns one TCP connection over the smallest buffers. Must never read ahead.
"""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kit.served import Served
from kit.wire import Peer

from crdt_docs.messages.ywebsocket import EMPTY_STEP1, EMPTY_STEP2

VALUE = 50_000
CLOSE = 8


class RawSocket:
    """A WebSocket by hand over a small receive buffer: it reads when it is told to, and not before."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._begun: tuple[int, bytes] = (0, b"")

    async def send(self, payload: bytes) -> None:
        """One masked binary frame (RFC 6455 section 5.2); the mask is all zeroes."""
        size = len(payload)
        assert size < 126
        self._writer.write(bytes((0x82, 0x80 | size)) + b"\0\0\0\0" + payload)
        await self._writer.drain()

    async def read(self) -> tuple[int, bytes]:
        """The next message, its fragments put together: its opcode and payload."""
        while True:
            final, opcode, payload = await self._read_frame()
            if opcode >= CLOSE:
                return opcode, payload
            self._begun = (opcode or self._begun[0], self._begun[1] + payload)
            if final:
                whole, self._begun = self._begun, (0, b"")
                return whole

    async def _read_frame(self) -> tuple[bool, int, bytes]:
        first, second = await self._reader.readexactly(2)
        size = second & 127
        if size == 126:
            size = int.from_bytes(await self._reader.readexactly(2), "big")
        elif size == 127:
            size = int.from_bytes(await self._reader.readexactly(8), "big")
        return first >= 128, first & 15, await self._reader.readexactly(size)

    async def closing(self, within: float) -> int:
        """Read on until the server's close frame; its code."""
        async with asyncio.timeout(within):
            while True:
                opcode, payload = await self.read()
                if opcode == CLOSE:
                    return int.from_bytes(payload[:2], "big")


@asynccontextmanager
async def raw_socket(served: Served, task: str) -> AsyncIterator[RawSocket]:
    """Joined, and then silent: what it does not read piles up in 64 kB here, 8 kB in the kernel, then at the server."""
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


def parked(served: Served) -> int:
    """How many readers the server has parked, by its own count."""
    with urllib.request.urlopen(f"{served.server.url}/metrics", timeout=5) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("clew_connections_parked "):
                return int(float(line.split()[1]))
    raise AssertionError("no such metric")


async def until_parked(served: Served, number: int) -> None:
    """Wait until so many are: who is handed something is not found to be behind before the next."""
    async with asyncio.timeout(20):
        while await asyncio.to_thread(parked, served) != number:  # noqa: ASYNC110 (it tells nobody)
            await asyncio.sleep(0.05)


async def overwrite(peer: Peer, values: Any, number: int) -> None:
    """Set one key again and again, each time to 50 kB, no faster than the server stores it."""
    for n in range(number):
        values["draft"] = f"{n:06d}" + "v" * VALUE
        await peer.push()
        await peer.barrier()


def resident(pid: int) -> int:
    """kB of memory that the process holds now, files and shared pages left out."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise AssertionError("no RssAnon")
