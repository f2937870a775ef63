"""A SQLite connection on aiosqlite's thread, where whole functions run and not one statement at a time.

Owns the hand-over between the loop and that thread: one for each piece of work, however many statements it has. Must
never be used for what takes long: all that was handed over meanwhile waits for it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import aiosqlite

from server.domain.errors import Unavailable

T = TypeVar("T")


class Lane:
    """Runs functions on the connection's thread, in order; ``async with`` opens it and closes it."""

    def __init__(self, path: Path) -> None:
        self._connection = aiosqlite.connect(path, isolation_level=None)
        self._over = False

    async def __aenter__(self) -> Self:
        """Raises sqlite3.Error if the file cannot be opened."""
        await self._connection
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        await self._connection.close()

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """What the work will return, or raise. Whoever no longer waits for it does not stop it."""
        if self._over:
            raise Unavailable("The database is closed.")
        # aiosqlite has no public way to run a function on its thread; pyproject pins the version that this goes by
        connection: Any = self._connection
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        connection._tx.put_nowait((future, lambda: work(connection._conn)))
        return future

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What the work returns, or raises."""
        return await self.submit(work)
