"""A SQLite connection on a thread of its own, for one event loop.

Owns the hand-over between the two. What comes while the thread is at work is done in one go afterwards and answered
together, so that neither side wakes the other for each. Must never be used for what takes long: all that was handed
over meanwhile waits for it.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from server.domain.errors import Unavailable

T = TypeVar("T")

TOGETHER: Final = 32
"""Pieces of work after which those that are done are answered."""
_Work = tuple[Callable[[sqlite3.Connection], Any], asyncio.Future[Any]]


class Lane:
    """Runs functions on the connection's thread, in order; ``async with`` opens it and closes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        self._over = False

    async def __aenter__(self) -> Self:
        """Raises sqlite3.Error if the file cannot be opened."""
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        threading.Thread(target=self._serve, name=f"{self._path.name}", daemon=True).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        self._queue.put(None)
        await asyncio.shield(self._ended)

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """What the work will return, or raise. Whoever no longer waits for it does not stop it."""
        if self._over:
            raise Unavailable("The database is closed.")
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put((work, future))
        return future

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What the work returns, or raises."""
        return await self.submit(work)

    def _serve(self) -> None:
        while (item := self._queue.get()) is not None:
            done = []
            while item is not None:
                done.append((item[1], *_attempt(item[0], self._connection)))
                if len(done) == TOGETHER or self._queue.empty():
                    break
                item = self._queue.get()
            self._loop.call_soon_threadsafe(_answer, done)
            if item is None:
                break
        self._connection.close()
        self._loop.call_soon_threadsafe(self._ended.set_result, None)


def _attempt(
    work: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection
) -> tuple[T | None, Exception | None]:
    try:
        return work(connection), None
    except Exception as error:
        return None, error


def _answer(done: list[tuple[asyncio.Future[Any], Any, Exception | None]]) -> None:
    for future, value, error in done:
        if future.done():  # nobody waits any more
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
