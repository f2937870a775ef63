"""The worker processes: a warm spare, one process a task, and their ends.

Owns starting, lending and killing them. Must never import the engine, pass a credential in an argument or the
environment, or leave a process behind: each is born with a lifeline, and ends when the host does, however that ends.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import TaskGroup

from agent.errors import WorkerLost
from agent.pipe import MAX_LINE, Alive, Ready, ToHost, ToWorker, read_for_host, write_line
from crdt_docs.errors import Malformed

STARTS_WITHIN: Final = 60.0
HANGS_AFTER: Final = 10.0
"""Seconds without a sign of life after which a worker is killed; it gives one each second."""
SPARE_AFTER: Final = 1.0
"""Seconds after a worker was lent before the next spare is started: the turn goes first."""
IDLE: Final = 20.0
"""Seconds for which a worker stays on its task after a turn."""
log = logging.getLogger("clew.agent")

BOOT: Final = "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); from agent.worker import main; main()"


class Worker:
    """One process, from the host's side. Made by ``start``; after ``end`` it is gone and waited for."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        lifeline: int,
        patience: float,
    ) -> None:
        self.pid = child.pid
        self._child = child
        self._reader = reader
        self._writer = writer
        self._lifeline = lifeline
        self._patience = patience
        self._killed = False

    @classmethod
    async def start(cls, server: str, model: str | None, *, boot: str = BOOT, patience: float = HANGS_AFTER) -> Worker:
        """Start a fresh interpreter and await that it is loaded. Raises WorkerLost."""
        ours, theirs = socket.socketpair()
        watched, lifeline = os.pipe()
        try:
            child = await anyio.to_thread.run_sync(_spawn, theirs, watched, server, model, boot)
        except OSError as error:
            ours.close()
            os.close(lifeline)
            raise WorkerLost(f"no process can be had: {error}") from None
        ours.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=ours, limit=MAX_LINE)
        made = cls(child, reader, writer, lifeline, patience)
        try:
            with anyio.fail_after(STARTS_WITHIN):
                first = await made.hear(STARTS_WITHIN)
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                code = await made.end()
            if isinstance(error, WorkerLost | TimeoutError):
                raise WorkerLost(f"a worker ended at its start ({code})") from None
            raise
        if isinstance(first, Ready) and first.why:
            log.warning("%s The clerk answers instead.", first.why)
        return made

    def tell(self, word: ToWorker) -> None:
        """Say something; to one that is gone it says nothing, which ``hear`` finds out."""
        if not self._writer.is_closing():
            self._writer.write(write_line(word))

    async def hear(self, within: float | None = None) -> ToHost:
        """The next thing it says, signs of life apart. Raises WorkerLost if it ended, went silent or babbles."""
        while True:
            try:
                with anyio.fail_after(within or self._patience):
                    line = await self._reader.readline()
                if not line:
                    raise WorkerLost("a worker ended")
                word = read_for_host(line)
            except TimeoutError:
                raise WorkerLost("a worker went silent") from None
            except (OSError, ValueError, Malformed) as error:
                raise WorkerLost(f"a worker can't be understood ({type(error).__name__})") from None
            if not isinstance(word, Alive):
                return word

    @property
    def ended(self) -> bool:
        """Whether the process is gone, or was told to be."""
        return self._killed or self._reader.at_eof() or self._child.poll() is not None

    def kill(self) -> None:
        """End it now; ``end`` is still to be called."""
        self._killed = True
        self._child.kill()

    async def end(self) -> int:
        """Kill it if it still runs, and wait for it. Its exit status, negative for a signal."""
        if not self._reader.at_eof():
            self._child.kill()
        self._writer.close()
        os.close(self._lifeline)
        return await anyio.to_thread.run_sync(self._child.wait, abandon_on_cancel=False)


class _Stay:
    """A worker that waits on its task; cancelled when it is lent again."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.scope = anyio.CancelScope()
        self.over = anyio.Event()


class Workers:
    """Lends workers by task. Made by ``open_workers``.

    W1  a task has one worker at a time
    W2  a worker that was killed, or whose turn came to grief, is never lent again
    """

    def __init__(self, server: str, model: str | None, tasks: TaskGroup, boot: str, patience: float) -> None:
        self._server = server
        self._model = model
        self._tasks = tasks
        self._boot = boot
        self._patience = patience
        self._spare: Worker | None = None
        self._staying: dict[str, _Stay] = {}
        self._all: set[Worker] = set()
        self._starting = anyio.Lock()

    @asynccontextmanager
    async def lend(self, task: str) -> AsyncIterator[Worker]:
        """A worker for one turn of a task: the one that is still there, the spare, or a new one. Raises WorkerLost.

        It stays on the task for a while, but for one that ended or was left with an error.
        """
        worker = await self._take(task)
        try:
            yield worker
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._end(worker)
            raise
        if worker.ended:
            await self._end(worker)
        else:
            self._tasks.start_soon(self._stay, task, worker)

    async def keep_spare(self, after: float = 0.0) -> None:
        """See to it that a loaded worker waits. One that can't be started is started when it is needed."""
        await anyio.sleep(after)
        async with self._starting:
            if self._spare is not None and self._spare.ended:
                await self._end(self._spare)
                self._spare = None
            if self._spare is None:
                try:
                    self._spare = await self._start()
                except WorkerLost:
                    return

    async def close(self) -> None:
        """End them all."""
        for worker in list(self._all):
            worker.kill()
        for worker in list(self._all):
            await self._end(worker)

    async def _take(self, task: str) -> Worker:
        stay = self._staying.get(task)
        if stay is not None:
            stay.scope.cancel()
            await stay.over.wait()
            if not stay.worker.ended:
                return stay.worker
            await self._end(stay.worker)
        async with self._starting:
            spare, self._spare = self._spare, None
            if spare is not None and spare.ended:
                await self._end(spare)
                spare = None
            worker = spare or await self._start()
        self._tasks.start_soon(self.keep_spare, SPARE_AFTER)
        return worker

    async def _start(self) -> Worker:
        worker = await Worker.start(self._server, self._model, boot=self._boot, patience=self._patience)
        self._all.add(worker)
        return worker

    async def _stay(self, task: str, worker: Worker) -> None:
        """Wait for the task's next turn for a while, then let the worker go."""
        self._staying[task] = stay = _Stay(worker)
        try:
            with stay.scope:
                with anyio.move_on_after(IDLE):
                    await worker.hear()
        except WorkerLost:
            pass
        del self._staying[task]
        stay.over.set()
        if not stay.scope.cancel_called:
            await self._end(worker)

    async def _end(self, worker: Worker) -> None:
        if worker in self._all:
            self._all.discard(worker)
            await worker.end()


@asynccontextmanager
async def open_workers(
    server: str, model: str | None, *, boot: str = BOOT, patience: float = HANGS_AFTER
) -> AsyncIterator[Workers]:
    """Worker processes until the block ends. ``boot`` is the program that a worker runs."""
    async with anyio.create_task_group() as tasks:
        workers = Workers(server, model, tasks, boot, patience)
        tasks.start_soon(workers.keep_spare)
        try:
            yield workers
        finally:
            with anyio.CancelScope(shield=True):
                await workers.close()
            tasks.cancel_scope.cancel()


def _spawn(theirs: socket.socket, watched: int, server: str, model: str | None, boot: str) -> subprocess.Popen[bytes]:
    root = str(Path(__file__).resolve().parents[1])
    path = [root, *(entry for entry in sys.path if entry not in ("", root))]
    arguments: Sequence[str] = (json.dumps([theirs.fileno(), watched, server, model]), json.dumps(path))
    environment = {name: value for name, value in os.environ.items() if name != "CLEW_TOKEN"}
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-c", boot, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), watched),
            start_new_session=True,
            cwd="/",
            env=environment,
        )
    finally:
        theirs.close()
        os.close(watched)
