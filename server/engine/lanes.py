"""Queues of jobs and the workers behind them.

Owns how long a job may take, when it is tried again, and when a worker is replaced. Must never let one document's job
cost more than its own request: a worker that crashes, hangs or outgrows its memory is killed and replaced.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.rope import Rope
from server.engine import worker
from server.engine.failures import EngineFailed, Verdict
from server.engine.process import Died, Reply, WorkerProcess

TRIES: Final = 2
RETIRE_AFTER: Final = 2_000
"""Jobs after which a worker is replaced, so that what native code leaks or spoils does not last."""
BYTES_PER_SECOND: Final = 1 << 18
"""A job gets one second more for each such part of its arguments."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a worker may use.

    ``seconds`` is CPU time for a small job, ``memory`` address space in bytes, ``waiting`` how many jobs may queue in
    one lane.
    """

    seconds: float = 10.0
    memory: int = 3 << 29
    waiting: int = 256


@dataclass(slots=True)
class _Job:
    name: str
    arguments: Sequence[Any]
    seconds: float
    result: asyncio.Future[list[bytes]]


@dataclass(slots=True)
class Lane:
    """One queue with ``workers`` processes, each started when first needed. ``serve`` once per worker, in a task."""

    jobs: Mapping[str, str]
    limits: Limits
    workers: int
    _queue: asyncio.Queue[_Job] = field(default_factory=asyncio.Queue)
    _closed: bool = False
    replaced: int = 0
    """How many workers were ended before their time."""

    async def run(self, name: str, arguments: Sequence[Any], *, toil: int = 1) -> list[bytes]:
        """Queue a job and await its reply, in parts.

        Raises Malformed or TooLarge as the job raised them, else EngineFailed. ``toil`` is how many times the usual
        CPU time it may take.
        """
        if self._closed:
            raise EngineFailed(Verdict.CLOSED)
        if self._queue.qsize() >= self.limits.waiting:
            raise EngineFailed(Verdict.BUSY)
        seconds = toil * (self.limits.seconds + _size(arguments) / BYTES_PER_SECOND)
        job = _Job(name, arguments, seconds, asyncio.get_running_loop().create_future())
        self._queue.put_nowait(job)
        return await job.result

    def close(self) -> None:
        """Refuse what waits and what comes."""
        self._closed = True
        while not self._queue.empty():
            _fail(self._queue.get_nowait(), EngineFailed(Verdict.CLOSED))

    async def serve(self, *, early: bool) -> None:
        """Take jobs for ever, one at a time; ``early`` starts the process before the first one comes."""
        seat = _Seat(self)
        try:
            if early:
                with suppress(OSError):  # the first job will say so
                    await seat.process()
            while True:
                await _serve(seat, await self._queue.get())
        finally:
            await asyncio.shield(seat.leave())


async def _serve(seat: _Seat, job: _Job) -> None:
    """One job; nothing of it is held while the next is waited for, for it may be a whole document."""
    if job.result.done():
        return
    try:
        reply = await seat.attend(job)
    except EngineFailed as failed:
        _fail(job, failed)
    except BaseException:
        _fail(job, EngineFailed(Verdict.CLOSED))
        raise
    else:
        _settle(job, reply)


class _Seat:
    """Where one worker sits, and its successor after it."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.done = 0
        self._process: WorkerProcess | None = None

    async def process(self) -> WorkerProcess:
        if self._process is None:
            self._process = await WorkerProcess.start(self.lane.jobs, self.lane.limits.memory)
            self.done = 0
        return self._process

    async def leave(self) -> int:
        process, self._process = self._process, None
        return 0 if process is None else await process.end()

    async def attend(self, job: _Job) -> Reply:
        """Run a job, once more in a fresh process if the first died of it, or before it could begin."""
        verdict, detail = Verdict.CRASHED, ""
        for _ in range(TRIES):
            if self._closing():
                raise EngineFailed(Verdict.CLOSED)
            try:
                process = await self.process()
            except OSError as error:
                verdict, detail = Verdict.ABSENT, str(error)
                continue
            try:
                patience = job.seconds * worker.PATIENCE
                async with asyncio.timeout(patience):  # wait_for of Python 3.11 can swallow a cancellation
                    reply = await process.ask(job.name, job.seconds, job.arguments)
            except TimeoutError:
                verdict, detail = Verdict.STARVED, f"over {patience:.1f} s by the clock"
                await self._replace()
            except Died:
                status = await self._replace()
                verdict = Verdict.HUNG if status == -signal.SIGPROF else Verdict.CRASHED
                detail = f"exit status {status}"
            else:
                if reply.status != worker.BROKEN:
                    await self._rest(reply)
                    return reply
                detail = reply.data.decode()
                verdict = Verdict.OUTGREW if detail.startswith("MemoryError") else Verdict.CRASHED
                await self._replace()
        raise EngineFailed(verdict, detail)

    async def _replace(self) -> int:
        """End the process before its time; the next one starts when it is needed."""
        self.lane.replaced += 1
        return await self.leave()

    def _closing(self) -> bool:
        return self.lane._closed

    async def _rest(self, reply: Reply) -> None:
        """Replace a process that has worked long, or whose memory has grown to half of what it may have."""
        self.done += 1
        if self.done >= RETIRE_AFTER or reply.resident * 1024 > self.lane.limits.memory // 2:
            await self.leave()


def _settle(job: _Job, reply: Reply) -> None:
    match reply.status:
        case worker.DONE:
            if not job.result.done():
                job.result.set_result(reply.parts)
        case worker.MALFORMED:
            _fail(job, Malformed(_after_colon(reply)))
        case worker.TOO_LARGE:
            _fail(job, TooLarge(_after_colon(reply)))
        case _:
            _fail(job, EngineFailed(Verdict.REFUSED, reply.data.decode()))


def _after_colon(reply: Reply) -> str:
    return reply.data.decode().partition(": ")[2]


def _fail(job: _Job, error: Exception) -> None:
    if not job.result.done():
        job.result.set_exception(error)


def _size(arguments: Sequence[Any]) -> int:
    total = 0
    for argument in arguments:
        if isinstance(argument, bytes | bytearray | Rope):
            total += len(argument)
        elif isinstance(argument, list | tuple):
            total += _size(argument)
    return total
