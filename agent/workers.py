"""The worker processes: a warm spare, and one process a task.

Owns who is lent what, and for how long. Must never lend a worker to two tasks, or leave one behind.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio
from anyio.abc import TaskGroup

from agent.errors import WorkerLost
from agent.process import BOOT, HANGS_AFTER, Worker

SPARE_AFTER: Final = 1.0
"""Seconds after a worker was lent before the next spare is started: the turn goes first."""
IDLE: Final = 20.0
"""Seconds for which a worker stays on its task after a turn."""


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
        self._lent: dict[str, anyio.Event] = {}
        self._staying: dict[str, _Stay] = {}
        self._all: set[Worker] = set()
        self._starting = anyio.Lock()

    @asynccontextmanager
    async def lend(self, task: str) -> AsyncIterator[Worker]:
        """A worker for one turn of a task: the one that is still there, the spare, or a new one. Raises WorkerLost.

        It stays on the task for a while, but for one that ended or was left with an error.
        """
        while task in self._lent:  # its last turn is just being closed
            await self._lent[task].wait()
        self._lent[task] = returned = anyio.Event()
        try:
            worker = await self._take(task)
            try:
                yield worker
            except BaseException:
                await self._end(worker)
                raise
            if worker.ended:
                await self._end(worker)
            else:
                self._staying[task] = stay = _Stay(worker)
                self._tasks.start_soon(self._stay, task, stay)
        finally:
            del self._lent[task]
            returned.set()

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

    async def _stay(self, task: str, stay: _Stay) -> None:
        """Wait for the task's next turn for a while, then let the worker go."""
        try:
            with stay.scope:
                with anyio.move_on_after(IDLE):
                    await stay.worker.hear()
        except WorkerLost:
            pass
        del self._staying[task]
        stay.over.set()
        if not stay.scope.cancel_called:
            await self._end(stay.worker)

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
            tasks.cancel_scope.cancel()
            await workers.close()
