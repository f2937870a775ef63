"""The file ``log.db``: its schema, and how connections to it are opened.

Owns every PRAGMA. One connection writes, at most; any number reads, each used by one thread at a time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final

from server.domain.durability import Durability
from server.domain.log import CorruptLog
from server.store import authorship, pieces
from server.store.folder import make_private

FILE_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""What sqlite3 raises; the second where damaged bytes get into a message of its own."""

_PASSING: Final = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
    )
)

LOG: Final = "log.db"
VERSION: Final = 3
PATIENCE: Final = 5000
"""Milliseconds for which one who uses the file waits for another."""
ERASING: Final = ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
"""What it takes after a deletion to leave no bytes behind."""
ERASING_PATIENCE: Final = 100

# The columns that a scan needs stand before the payload, so that it never follows a row into its overflow pages.
# No index but the row id on ``updates``: each would cost every commit another dirty page.
SCHEMA: Final = f"""
CREATE TABLE documents (
  id INTEGER PRIMARY KEY,
  task TEXT NOT NULL,
  part TEXT NOT NULL,
  generation INTEGER NOT NULL,
  current INTEGER NOT NULL,
  quarantined TEXT,
  aside TEXT,
  UNIQUE (task, part, generation)
);
CREATE TABLE updates (
  id INTEGER PRIMARY KEY,
  doc INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  n INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  kid INTEGER,
  data BLOB NOT NULL
);
CREATE TABLE snapshots (
  doc INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  aids INTEGER NOT NULL,
  kid INTEGER,
  body BLOB NOT NULL,
  state BLOB NOT NULL,
  splice BLOB NOT NULL
);
CREATE TABLE claims (
  doc INTEGER NOT NULL,
  client INTEGER NOT NULL,
  principal TEXT NOT NULL,
  provisional INTEGER NOT NULL,
  composed INTEGER NOT NULL,
  PRIMARY KEY (doc, client)
) WITHOUT ROWID;
CREATE TABLE actors (
  id INTEGER PRIMARY KEY,
  principal TEXT NOT NULL,
  user TEXT NOT NULL,
  agent TEXT NOT NULL,
  device TEXT NOT NULL,
  session TEXT NOT NULL,
  token TEXT NOT NULL,
  via TEXT NOT NULL,
  UNIQUE (user, principal, agent, device, session, token, via)
);
{authorship.SCHEMA.strip()}
{pieces.SCHEMA.strip()}
"""
_SINCE: Final = (SCHEMA, authorship.SCHEMA + pieces.SCHEMA, pieces.SCHEMA)
"""What a file of each version lacks."""


def open_for_writing(path: Path, durability: Durability) -> sqlite3.Connection:
    """Open or make the file. Raises CorruptLog if it is no log, or one of a newer Clew."""
    make_private(path)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    try:
        connection.execute("PRAGMA page_size = 1024")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE}")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        connection.execute("PRAGMA journal_size_limit = 16777216")
        _make_schema(connection)
    except FILE_ERRORS as error:
        connection.close()
        if is_passing(error):
            raise
        raise CorruptLog(f"{path.name} cannot be read ({error}).") from error
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the file as a reader, which may be handed from thread to thread."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, cached_statements=64)
    connection.execute(f"PRAGMA busy_timeout = {PATIENCE}")
    return connection


def is_passing(error: Exception) -> bool:
    """Whether the disk is to blame, or somebody else, and not what is stored."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in _PASSING


def _make_schema(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise CorruptLog(f"log.db has version {version}; this Clew knows {VERSION}. Run the newer version.")
    if version < VERSION:
        connection.executescript(f"BEGIN IMMEDIATE; {_SINCE[version]} PRAGMA user_version = {VERSION}; COMMIT;")
    found = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")]
    if found != [statement.strip() for statement in SCHEMA.split(";") if "CREATE" in statement]:
        raise CorruptLog("log.db is not laid out as a log.")


class Debt:
    """What a deletion still owes: bytes that a reader keeps in the file or its write-ahead log."""

    def __init__(self) -> None:
        self._owed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self._owed)

    def owe(self) -> None:
        """Something is about to be deleted."""
        self._owed = ERASING

    def pay(self, connection: sqlite3.Connection) -> None:
        """Erase it, as far as nobody stands in the way."""
        connection.execute(f"PRAGMA busy_timeout = {ERASING_PATIENCE}")  # every commit waits as long
        while self._owed:
            said = connection.execute(self._owed[0]).fetchone()
            if said is not None and said[0]:
                break
            self._owed = self._owed[1:]
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE}")


class Readers:
    """Reading connections, opened as they are needed and kept for the next who asks."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._lock = Lock()

    @contextmanager
    def one(self) -> Iterator[sqlite3.Connection]:
        """A connection that is the block's own, in a transaction that sees one moment of the file."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = open_for_reading(self._path)
        try:
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)

    def close(self) -> None:
        """Close those that are idle."""
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()
