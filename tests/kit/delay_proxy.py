"""A TCP proxy with a long wire: every byte arrives late, and the wire can be cut, hung or mended in mid-stream.

Owns its listening socket and the pairs of streams through it. Must never reorder or lose bytes of a wire
that holds.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

CHUNK = 64 * 1024


class DelayProxy:
    """Listens on a port of 127.0.0.1 and forwards to another one, ``delay`` seconds late in each direction.

    ``cut()`` resets all connections and refuses new ones until ``mend()``; ``hang()`` keeps them open and lets nothing
    through, as a phone in a tunnel does, until ``mend()``.
    """

    def __init__(self, target_port: int, delay: float = 0.0) -> None:
        self.target_port = target_port
        self.delay = delay
        self.port = 0
        self.accepted = 0
        self._down = False
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._open: set[asyncio.StreamWriter] = set()
        self._wires: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._wire, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self.cut()
        self._flowing.set()
        if self._wires:  # not cancelled: asyncio's stream protocol of Python 3.11 trips over a cancelled handler
            await asyncio.wait(self._wires)

    def cut(self) -> None:
        """Reset every connection and refuse new ones."""
        self._down = True
        for writer in list(self._open):
            writer.transport.abort()

    def hang(self) -> None:
        """Hold every byte back, both ways; the ends notice nothing but silence."""
        self._flowing.clear()

    def mend(self) -> None:
        """Let connections and bytes through again."""
        self._down = False
        self._flowing.set()

    async def _wire(self, near_reader: asyncio.StreamReader, near_writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._wires.add(task)
        self._open.add(near_writer)
        far_writer: asyncio.StreamWriter | None = None
        try:
            if self._down:
                return
            self.accepted += 1
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
            self._open.add(far_writer)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._carry(near_reader, far_writer))
                both.create_task(self._carry(far_reader, near_writer))
        except (OSError, ExceptionGroup):
            pass  # one end broke: the finally breaks the other
        finally:
            for writer in (near_writer, far_writer):
                if writer is not None:
                    self._open.discard(writer)
                    writer.transport.abort()
            self._wires.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One direction. A reader that ends makes the writer end after the delay; broken ends raise OSError."""
        late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(maxsize=4096)
        clock = asyncio.get_running_loop().time

        async def take() -> None:
            while data := await reader.read(CHUNK):
                await late.put((clock() + self.delay, data))
            await late.put((clock() + self.delay, b""))

        async def give() -> None:
            while True:
                due, data = await late.get()
                if (wait := due - clock()) > 0:
                    await asyncio.sleep(wait)
                await self._flowing.wait()
                if not data:
                    with suppress(OSError, RuntimeError):
                        writer.write_eof()
                    return
                writer.write(data)
                await writer.drain()

        async with asyncio.TaskGroup() as halves:
            halves.create_task(take())
            halves.create_task(give())
