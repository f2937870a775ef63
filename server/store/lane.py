"""A SQLite connection on aiosqlite's thread, where whole functions run and not one statement at a time.

Owns the hand-over between the loop and that thread: one for each piece of work, however many statements it has, and one
for all that came while another was under way. Must never be used for what takes long: all the others wait for it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeVar

import aiosqlite

from server.domain.errors import Unavailable

T = TypeVar("T")
AT_ONCE: Final = 32
"""Pieces of work in one hand-over: whoever was first waits for all of it."""


class _Errand(NamedTuple):
    """Something to be done, and who waits for what comes of it."""

    work: Callable[[sqlite3.Connection], Any]
    future: asyncio.Future[Any]


_Outcome = tuple[Any, BaseException | None]


class Lane:
    """Runs functions on the connection's thread, in order; ``async with`` opens it and closes it."""

    def __init__(self, path: Path) -> None:
        self._connection = aiosqlite.connect(path, isolation_level=None)
        self._waiting: list[_Errand] = []
        self._under_way = False
        self._over = False

    async def __aenter__(self) -> Self:
        """Raises sqlite3.Error if the file cannot be opened."""
        await self._connection
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        while self._waiting:
            self._hand_over()
        await self._connection.close()

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """What the work will return, or raise. Whoever no longer waits for it does not stop it."""
        if self._over:
            raise Unavailable("The database is closed.")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Errand(work, future))
        if not self._under_way:
            self._hand_over()
        return future

    def _hand_over(self) -> None:
        # aiosqlite has no public way to run a function on its thread; pyproject pins the version that this goes by
        connection: Any = self._connection
        taken, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
        self._under_way = True
        done: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        done.add_done_callback(partial(self._report, taken))
        connection._tx.put_nowait((done, lambda: [_outcome(errand.work, connection._conn) for errand in taken]))

    def _report(self, taken: Sequence[_Errand], done: asyncio.Future[list[Any]]) -> None:
        self._under_way = False
        if self._waiting:
            self._hand_over()
        for errand, (value, error) in zip(taken, done.result(), strict=True):
            if errand.future.done():  # nobody waits any more
                continue
            if error is not None:
                errand.future.set_exception(error)
            else:
                errand.future.set_result(value)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What the work returns, or raises."""
        return await self.submit(work)


def _outcome(work: Callable[[sqlite3.Connection], Any], connection: sqlite3.Connection) -> _Outcome:
    try:
        return work(connection), None
    except BaseException as error:
        return None, error
