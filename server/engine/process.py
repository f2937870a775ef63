"""One worker process, from the server's side.

Owns starting, speaking to and ending it. Must never fork the server's state into it (the child is a fresh interpreter
that inherits one socket), block the event loop, or leave a zombie.
"""

from __future__ import annotations

import asyncio
import json
import marshal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from crdt_docs.lib0 import Bytes
from crdt_docs.rope import Rope
from server.engine.worker import DONE, REPLY, REQUEST

MAX_REPLY: Final = 1 << 29
SLICE: Final = 64 * 1024
"""Bytes of what is long that are handed over at a time, and after half as many of which no more is read ahead."""
PART: Final = 256 * 1024
"""Bytes of each part of a reply but the last."""
START_WITHIN: Final = 60.0
_BOOT: Final = (
    "import json, sys; path, fd, jobs, memory = json.loads(sys.argv[1]); sys.path[:] = path; "
    "from server.engine.worker import main; main(fd, jobs, memory)"
)


class Died(Exception):
    """The process ended, or said something that no worker says, before it answered."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: a status of ``worker``, the memory the process holds in kB, and bytes, as they came in parts."""

    status: int
    resident: int
    parts: list[bytes]

    @property
    def data(self) -> bytes:
        """All of it, for what is short."""
        return b"".join(self.parts)


class WorkerProcess:
    """Made by ``start``; after ``end`` the process is gone and waited for."""

    def __init__(
        self, child: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.pid = child.pid
        self._child = child
        self._reader = reader
        self._writer = writer

    @classmethod
    async def start(cls, jobs: Mapping[str, str], memory: int) -> WorkerProcess:
        """Start a fresh interpreter that knows only these jobs (name → ``module:function``), and await that it does.

        Raises OSError where it can't be had: then nothing is known about any document.
        """
        ours, theirs = socket.socketpair()
        spawning = asyncio.get_running_loop().run_in_executor(None, _spawn, theirs, jobs, memory)
        try:
            child = await asyncio.shield(spawning)
        except asyncio.CancelledError:
            ours.close()
            # The thread can't be stopped; what it starts finds its pipe closed and ends.
            child = await spawning
            await asyncio.to_thread(child.wait)
            raise
        except OSError:
            ours.close()
            raise
        ours.setblocking(False)
        try:
            # over twice the limit it is read no further, so that one turn brings little of what is long
            reader, writer = await asyncio.open_connection(sock=ours, limit=SLICE)
        except BaseException:  # cancelled between the start and the first word
            ours.close()
            child.kill()
            await asyncio.to_thread(child.wait)
            raise
        made = cls(child, reader, writer)
        try:
            async with asyncio.timeout(START_WITHIN):  # wait_for of Python 3.11 can swallow a cancellation
                ready = await made._reply()
        except (Died, TimeoutError) as error:
            raise OSError(f"worker ended at its start: {await made.end()}") from error
        except BaseException:
            await made.end()
            raise
        if ready.status != DONE:
            await made.end()
            raise OSError(f"worker cannot load its jobs: {ready.data.decode()}")
        return made

    async def ask(self, job: str, seconds: float, arguments: Sequence[Any]) -> Reply:
        """Run one job and await its reply; one at a time. Raises Died. The caller bounds the time."""
        try:
            long = [argument for argument in arguments if _is_long(argument)]
            brief = [len(argument) if _is_long(argument) else (argument,) for argument in arguments]
            request = marshal.dumps((job, seconds, brief))
            self._writer.write(REQUEST.pack(len(request)))
            self._writer.write(request)
            for argument in long:
                for part in _slices(argument):
                    await self._writer.drain()
                    self._writer.write(part)
            await self._writer.drain()
        except OSError as error:
            raise Died(str(error)) from None
        return await self._reply()

    async def _reply(self) -> Reply:
        try:
            status, resident, length = REPLY.unpack(await self._reader.readexactly(REPLY.size))
            if length > MAX_REPLY:
                raise Died("the reply is too large")
            return Reply(status, resident, await self._read(length))
        except (OSError, EOFError) as error:
            raise Died(str(error)) from None

    async def _read(self, length: int) -> list[bytes]:
        """As it comes: to copy all of it at once would hold everybody up, and so would all that has come meanwhile."""
        parts: list[bytes] = []
        while length:
            parts.append(await self._reader.readexactly(min(PART, length)))
            length -= len(parts[-1])
            if length:
                await asyncio.sleep(0)
        return parts

    async def end(self) -> int:
        """Kill it if it still runs, and wait for it. Returns its exit status, negative for a signal."""
        if not self._reader.at_eof():
            self._child.kill()
        self._writer.close()
        return await asyncio.to_thread(self._child.wait)


def _is_long(argument: object) -> bool:
    return isinstance(argument, Rope) or isinstance(argument, bytes | bytearray) and len(argument) > SLICE


def _slices(argument: Bytes | Rope) -> Iterator[bytes | memoryview]:
    if isinstance(argument, Rope):
        yield from argument.slices(SLICE)
        return
    whole = memoryview(argument)
    for at in range(0, len(whole), SLICE):
        yield bytes(whole[at : at + SLICE])


def _spawn(theirs: socket.socket, jobs: Mapping[str, str], memory: int) -> subprocess.Popen[bytes]:
    root = str(Path(__file__).resolve().parents[2])
    path = [root, *(entry for entry in sys.path if entry not in ("", root))]
    with theirs:
        return subprocess.Popen(
            [sys.executable, "-I", "-c", _BOOT, json.dumps([path, theirs.fileno(), dict(jobs), memory])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # a native panic prints what it was about, which may be people's words
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
            cwd="/",
        )
