"""The relational database, ``clew.db``: one writing and one reading connection, migrations, transactions.

Owns how SQL is run and how its failures are called. Must never let two transactions share the writing connection, nor
leave one open when a caller is cancelled; must never open a schema that is newer than this code.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from anyio import CancelScope, Lock

from server.domain.errors import Conflict, Unavailable
from server.store.folder import make_private
from server.store.lane import Lane
from server.store.log_file import ERASING, ERASING_PATIENCE, PATIENCE

Row = tuple[Any, ...]
T = TypeVar("T")

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


class Statements:
    """What may be done on the database's own thread, in one transaction with nothing in between."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, sql: str, *values: object) -> list[Row]:
        """Run one statement, reading or writing; answer its rows (of RETURNING, for a write)."""
        return _fetch(self._connection, sql, values)

    def one(self, sql: str, *values: object) -> Row | None:
        """Run one statement and answer its first row."""
        rows = _fetch(self._connection, sql, values)
        return rows[0] if rows else None


class Transaction:
    """What may be done inside ``Database.transaction``; all of it or nothing is kept."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane

    async def all(self, sql: str, *values: object) -> list[Row]:
        """Run one statement, reading or writing; answer its rows (of RETURNING, for a write)."""
        return await _run(self._lane, sql, values)

    async def one(self, sql: str, *values: object) -> Row | None:
        """Run one statement and answer its first row."""
        rows = await _run(self._lane, sql, values)
        return rows[0] if rows else None


class Database:
    """SQLite in WAL with every commit synced. Reads see what was committed, and never wait for writes.

    Raises Unavailable where the disk does not play along, and Conflict where a constraint forbids a write.
    """

    def __init__(self, writing: Lane, reading: Lane) -> None:
        self._writing = writing
        self._reading = reading
        self._lock = Lock()
        self._waiting: list[_Errand] = []
        self._owed: tuple[str, ...] = ()

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator[Database]:
        """Open or make the file, readable by its owner only, and bring its schema up to date."""
        try:
            make_private(path)
        except OSError as error:
            raise Unavailable(f"{path.name} cannot be opened ({error.strerror}).") from error
        async with Lane(path) as writing:
            await writing.run(lambda connection: _prepare(connection, path))
            async with Lane(path) as reading:
                await reading.run(_prepare_reading)
                yield cls(writing, reading)

    async def all(self, sql: str, *values: object) -> list[Row]:
        """Read rows."""
        return await _run(self._reading, sql, values)

    async def one(self, sql: str, *values: object) -> Row | None:
        """Read the first row."""
        rows = await _run(self._reading, sql, values)
        return rows[0] if rows else None

    async def read(self, work: Callable[[Statements], T]) -> T:
        """Several reads in one go. Each sees what is committed when its turn comes."""
        return await self._reading.run(lambda connection: work(Statements(connection)))

    async def write(self, sql: str, *values: object) -> list[Row]:
        """Run one writing statement in a transaction of its own; answer the rows of its RETURNING."""
        return await self.perform(lambda tx: tx.all(sql, *values))

    async def perform(self, work: Callable[[Statements], T]) -> T:
        """Several statements in one go, that stand or fall together; what the work returns once it is durable.

        What comes while others write is committed with one fsync for all. ``work`` runs on the database's thread: it
        touches nothing else, and keeps nothing if it raises.
        """
        errand = _Errand(work, asyncio.get_running_loop().create_future())
        self._waiting.append(errand)
        with CancelScope(shield=True):  # what is committed, the caller hears of: it may have a cache to put right
            if len(self._waiting) == 1:  # the first one goes for all who come before it gets its turn
                try:
                    await self._perform_all()
                except BaseException:
                    errand.future.cancel()
                    raise
            value: T = await errand.future
        return value

    async def _perform_all(self) -> None:
        """Commit what waits. It is told how that went also if who went for all was cancelled, as when a server ends."""
        done: asyncio.Future[list[Any]] | None = None
        taken: list[_Errand] = []
        try:
            async with self._lock:
                taken, self._waiting = self._waiting, []
                done = self._writing.submit(lambda connection: _commit_together(connection, taken))
                done.add_done_callback(lambda done: _tell(taken, done))
                await asyncio.wait((done,))
        finally:
            if done is None:
                left, self._waiting = taken or self._waiting, []
                _settle(left, [Unavailable("The database is closed.")] * len(left))

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
            except BaseException:
                with CancelScope(shield=True):
                    await self._writing.run(lambda connection: connection.rollback())
                raise

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


class _Errand(NamedTuple):
    """Something to be written, and who waits for what comes of it."""

    work: Callable[[Statements], Any]
    future: asyncio.Future[Any]


def _tell(errands: Sequence[_Errand], done: asyncio.Future[list[Any]]) -> None:
    failure = done.exception()
    _settle(errands, done.result() if failure is None else [failure] * len(errands))


def _settle(errands: Sequence[_Errand], outcomes: Sequence[Any]) -> None:
    for errand, outcome in zip(errands, outcomes, strict=True):
        if errand.future.done():  # nobody waits any more
            continue
        if isinstance(outcome, Exception):
            errand.future.set_exception(outcome)
        else:
            errand.future.set_result(outcome)


def _commit_together(connection: sqlite3.Connection, errands: Sequence[_Errand]) -> list[Any]:
    """One transaction for all; what each comes to, an exception if it failed. Raises where the commit did."""
    tx = Statements(connection)
    try:
        tx.all("BEGIN IMMEDIATE")
        outcomes = [_perform(connection, tx, errand.work) for errand in errands]
        tx.all("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return outcomes


def _perform(connection: sqlite3.Connection, tx: Statements, work: Callable[[Statements], T]) -> T | Exception:
    """Do one of several; where it fails, the others are not affected."""
    tx.all("SAVEPOINT one")
    try:
        outcome: T | Exception = work(tx)
    except Exception as error:
        if not connection.in_transaction:  # a full disk takes all of it back
            raise
        tx.all("ROLLBACK TO one")
        outcome = error
    tx.all("RELEASE one")
    return outcome


def _fetch(connection: sqlite3.Connection, sql: str, values: tuple[object, ...]) -> list[Row]:
    try:
        return connection.execute(sql, values).fetchall()
    except sqlite3.DatabaseError as error:
        raise _named(error) from error


async def _run(lane: Lane, sql: str, values: tuple[object, ...]) -> list[Row]:
    return await lane.run(lambda connection: _fetch(connection, sql, values))


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.DatabaseError as error:
        raise _named(error, path.name) from error
    for pragma in OPEN:
        connection.execute(pragma)
    _migrate(connection)


def _prepare_reading(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA query_only = ON")
    connection.execute(f"PRAGMA busy_timeout = {PATIENCE}")


def _named(error: sqlite3.DatabaseError, what: str = "The database") -> Conflict | Unavailable:
    """One of SQLite's errors, by our names."""
    if isinstance(error, sqlite3.IntegrityError):
        return Conflict(f"This collides with what is already there ({error}).")
    if isinstance(error, sqlite3.OperationalError):
        return Unavailable(f"The database cannot be used at the moment ({error}).")
    return Damaged(f"{what} cannot be read ({error}).")


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


def _migrate(connection: sqlite3.Connection) -> None:
    known = migrations()
    present = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if present > known[-1][0]:
        raise NewerSchema(f"clew.db has schema {present}; this Clew knows {known[-1][0]}. Run the newer version.")
    for number, script in known:
        if number > present:
            _apply(connection, number, script)


def _apply(connection: sqlite3.Connection, number: int, script: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _statements(script):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    finally:
        connection.rollback()
