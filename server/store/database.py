"""The relational database, ``clew.db``: one writing and one reading connection, migrations, transactions.

Owns how SQL is run and how its failures are called. Must never let two transactions share the writing connection, nor
leave one open when a caller is cancelled; must never open a schema that is newer than this code.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final

import aiosqlite
from anyio import CancelScope, Lock

from server.domain.errors import Conflict, Unavailable
from server.store.folder import make_private
from server.store.log_file import ERASING, ERASING_PATIENCE, PATIENCE

Row = tuple[Any, ...]

OPEN: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA synchronous = FULL",
    f"PRAGMA busy_timeout = {PATIENCE}",
)


class NewerSchema(Unavailable):
    """The database was written by a newer Clew; this one would damage it."""


class Damaged(Unavailable):
    """The database cannot be read; restore it from a backup."""


class Transaction:
    """What may be done inside ``Database.transaction``; all of it or nothing is kept."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def all(self, sql: str, *values: object) -> list[Row]:
        """Run one statement, reading or writing; answer its rows (of RETURNING, for a write)."""
        return await _run(self._connection, sql, values)

    async def one(self, sql: str, *values: object) -> Row | None:
        """Run one statement and answer its first row."""
        rows = await _run(self._connection, sql, values)
        return rows[0] if rows else None


class Database:
    """SQLite in WAL with every commit synced. Reads see what was committed, and never wait for writes.

    Raises Unavailable where the disk does not play along, and Conflict where a constraint forbids a write.
    """

    def __init__(self, writing: aiosqlite.Connection, reading: aiosqlite.Connection) -> None:
        self._writing = writing
        self._reading = reading
        self._lock = Lock()
        self._owed: tuple[str, ...] = ()

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator[Database]:
        """Open or make the file, readable by its owner only, and bring its schema up to date."""
        try:
            make_private(path)
        except OSError as error:
            raise Unavailable(f"{path.name} cannot be opened ({error.strerror}).") from error
        async with aiosqlite.connect(path, isolation_level=None) as writing:
            with _named(path):
                await writing.execute_fetchall("PRAGMA journal_mode = WAL")
            for pragma in OPEN:
                await writing.execute_fetchall(pragma)
            await _migrate(writing)
            async with aiosqlite.connect(path, isolation_level=None) as reading:
                await reading.execute_fetchall("PRAGMA query_only = ON")
                await reading.execute_fetchall(f"PRAGMA busy_timeout = {PATIENCE}")
                yield cls(writing, reading)

    async def all(self, sql: str, *values: object) -> list[Row]:
        """Read rows."""
        return await _run(self._reading, sql, values)

    async def one(self, sql: str, *values: object) -> Row | None:
        """Read the first row."""
        rows = await _run(self._reading, sql, values)
        return rows[0] if rows else None

    async def write(self, sql: str, *values: object) -> list[Row]:
        """Run one writing statement in a transaction of its own; answer the rows of its RETURNING."""
        async with self._lock:
            with CancelScope(shield=True):
                rows = await _run(self._writing, sql, values)
        return rows

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Several statements that stand or fall together; rolled back if the body raises or is cancelled."""
        async with self._lock:
            try:
                with CancelScope(shield=True):
                    await _run(self._writing, "BEGIN IMMEDIATE", ())
                yield Transaction(self._writing)
                with CancelScope(shield=True):
                    await _run(self._writing, "COMMIT", ())
            finally:
                with CancelScope(shield=True):
                    await self._writing.rollback()

    async def erase(self) -> bool:
        """Leave nothing of what was deleted behind in the file or its write-ahead log, and say whether that is so now.

        It is not while somebody reads the whole file (a backup); ``tidy`` then sees to it later.
        """
        self._owed = ERASING
        return await self.tidy()

    async def tidy(self) -> bool:
        """Erase what ``erase`` had to leave; False if a reader still stands in the way. Call it now and then."""
        if not self._owed:
            return True
        async with self._lock:
            with CancelScope(shield=True):
                await _run(self._writing, f"PRAGMA busy_timeout = {ERASING_PATIENCE}", ())
                while self._owed:
                    said = await _run(self._writing, self._owed[0], ())
                    if said and said[0][0]:
                        break
                    self._owed = self._owed[1:]
                await _run(self._writing, f"PRAGMA busy_timeout = {PATIENCE}", ())
        return not self._owed


async def _run(connection: aiosqlite.Connection, sql: str, values: tuple[object, ...]) -> list[Row]:
    with _named():
        return [tuple(row) for row in await connection.execute_fetchall(sql, values)]


@contextmanager
def _named(path: Path | None = None) -> Iterator[None]:
    """SQLite's errors, by our names."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise Conflict(f"This collides with what is already there ({error}).") from error
    except sqlite3.OperationalError as error:
        raise Unavailable(f"The database cannot be used at the moment ({error}).") from error
    except sqlite3.DatabaseError as error:
        raise Damaged(f"{path.name if path else 'The database'} cannot be read ({error}).") from error


def migrations() -> list[tuple[int, str]]:
    """Every migration that this code knows, as (number, SQL), in order."""
    found = []
    for file in resources.files("server.store.migrations").iterdir():
        if match := re.fullmatch(r"(\d{4})_[a-z_]+\.sql", file.name):
            found.append((int(match[1]), file.read_text(encoding="utf-8")))
    return sorted(found)


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for piece in re.findall(r"[^;]*;", script):
        statement += piece
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


async def _migrate(connection: aiosqlite.Connection) -> None:
    known = migrations()
    rows = list(await connection.execute_fetchall("PRAGMA user_version"))
    present = int(rows[0][0])
    if present > known[-1][0]:
        raise NewerSchema(f"clew.db has schema {present}; this Clew knows {known[-1][0]}. Run the newer version.")
    for number, script in known:
        if number > present:
            await _apply(connection, number, script)


async def _apply(connection: aiosqlite.Connection, number: int, script: str) -> None:
    await connection.execute_fetchall("BEGIN IMMEDIATE")
    try:
        for statement in _statements(script):
            await connection.execute_fetchall(statement)
        await connection.execute_fetchall(f"PRAGMA user_version = {number}")
        await connection.execute_fetchall("COMMIT")
    finally:
        await connection.rollback()
