"""The worker processes: one a task.

Owns who is lent what, and for how long. Must never lend a worker to two tasks, or leave one behind.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio
from anyio.abc import TaskGroup

from agent.errors import WorkerLost
from agent.process import Nursery, Worker

IDLE: Final = 20.0
"""Seconds for which a worker stays on its task after a turn."""

log = logging.getLogger("clew.agent")


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

    def __init__(self, nursery: Nursery, tasks: TaskGroup) -> None:
        self._nursery = nursery
        self._tasks = tasks
        self._lent: dict[str, anyio.Event] = {}
        self._staying: dict[str, _Stay] = {}
        self._all: set[Worker] = set()

    @asynccontextmanager
    async def lend(self, task: str) -> AsyncIterator[Worker]:
        """A worker for one turn of a task: the one that is still there, or a new one. Raises WorkerLost.

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
        worker = await self._nursery.bear()
        self._all.add(worker)
        return worker

    async def _stay(self, task: str, stay: _Stay) -> None:
        """Wait for the task's next turn for a while, then let the worker go."""
        try:
            with stay.scope:
                with anyio.move_on_after(IDLE):
                    await stay.worker.hear()
        except WorkerLost:
            stay.worker.kill()  # also where it is being lent again at this moment
        del self._staying[task]
        stay.over.set()
        if not stay.scope.cancel_called:
            await self._end(stay.worker)

    async def _end(self, worker: Worker) -> None:
        if worker in self._all:
            self._all.discard(worker)
            await worker.end()


@asynccontextmanager
async def open_workers(nursery: Nursery) -> AsyncIterator[Workers]:
    """Worker processes until the block ends; the nursery is loaded meanwhile."""

    async def warm() -> None:
        try:
            await nursery.warm()
        except WorkerLost as lost:
            log.warning("%s", lost)  # and again when a worker is needed

    workers: Workers | None = None
    try:
        async with anyio.create_task_group() as tasks:
            workers = Workers(nursery, tasks)
            tasks.start_soon(warm)
            yield workers
            tasks.cancel_scope.cancel()
    finally:  # when nobody listens to a worker any more
        if workers is not None:
            await workers.close()
        await nursery.close()
