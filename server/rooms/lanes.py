"""Threads that work waits on, one piece at a time and in order.

Owns the hand-over between the event loop and a blocking thread. Must never run two pieces of one lane at once: SQLite's
writing connection lives on a lane of its own, and order on it is the order of the log.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import Protocol, TypeVar

T = TypeVar("T")


class Lane(Protocol):
    """Something that runs blocking work elsewhere and reports back on the event loop."""

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run ``work`` after all that was submitted before; then call ``done`` on the loop with its value or error."""
        ...


class ThreadLane:
    """A lane over one thread; an async context manager that finishes what it has before it leaves."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: SimpleQueue[tuple[Callable[[], object], Callable[[object], None]] | None] = SimpleQueue()

    async def __aenter__(self) -> ThreadLane:
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.put(None)
        await self._ended.wait()  # the loop must keep turning, for the last reports come by it
        self._thread.join()

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run ``work`` on the thread, in order."""
        self._queue.put((work, done))  # type: ignore[arg-type]

    def _run(self) -> None:
        while self._do(self._queue.get()):
            pass  # and nothing of it is held while the next is waited for: it may be a whole document
        self._loop.call_soon_threadsafe(self._ended.set)

    def _do(self, item: tuple[Callable[[], object], Callable[[object], None]] | None) -> bool:
        if item is None:
            return False
        work, done = item
        try:
            result: object = work()
        except Exception as error:
            result = error
        self._loop.call_soon_threadsafe(done, result)
        return True


async def run(lane: Lane, work: Callable[[], T]) -> T:
    """Run ``work`` on the lane and wait for it; raises what it raised. Cancelling the wait does not stop the work."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def done(result: T | BaseException) -> None:
        if future.done():
            return
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)

    lane.submit(work, done)
    return await future
