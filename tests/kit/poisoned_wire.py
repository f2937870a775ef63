"""A wire to the server on which one task's document is poisoned: who joins it is sent updates that no gate lets pass.

For what happens to a peer whose engine crashes. Owns its listening socket; passes everything else on as it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from crdt_docs.messages.vocabulary import Update
from crdt_docs.messages.ywebsocket import encode

CHUNK = 64 * 1024


class PoisonedWire:
    """``port`` leads to the server; ``poison`` maps tasks to updates that are slipped in right after the handshake."""

    def __init__(self, target_port: int) -> None:
        self.port = 0
        self.poison: dict[str, Sequence[bytes]] = {}
        self.joined = 0
        self._target = target_port
        self._wires: set[asyncio.Task[None]] = set()

    async def wire(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()
            return
        back.write(request)
        updates = next((self.poison[task] for task in self.poison if f"/sync/{task} ".encode() in request), ())
        if updates:
            self.joined += 1
            writer.write(await there.readuntil(b"\r\n\r\n"))
            for update in updates:
                writer.write(_frame(encode(Update(update))))
        await asyncio.gather(_pass(reader, back), _pass(there, writer))


@asynccontextmanager
async def poisoned_wire(target_port: int) -> AsyncIterator[PoisonedWire]:
    """Listen until the block ends."""
    wire = PoisonedWire(target_port)
    wires: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        wires.add(task)
        try:
            await wire.wire(reader, writer)
        finally:
            wires.discard(task)
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    wire.port = listening.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        listening.close()
        if wires:  # not cancelled: asyncio's stream protocol of Python 3.11 trips over a cancelled handler
            await asyncio.wait(set(wires), timeout=10)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        writer.close()


def _frame(message: bytes) -> bytes:
    """One binary WebSocket frame, as a server sends it (RFC 6455, section 5.2)."""
    size = len(message)
    head = bytes([0x82, size]) if size < 126 else b"\x82\x7e" + size.to_bytes(2, "big")
    return head + message
