"""``keys.db``: what no backup holds. The tasks' keys, the folder's own secrets, the ledger of what was erased, and how
far the audit trail has come.

Owns that a key which was shredded is gone from the file, and that what was erased is known for ever by a keyed hash
alone, so that an older copy of the folder is not mistaken for the truth. Must never be copied into a backup: `clew
backup` writes it beside the backups, one file for all of them, always the newest.

Every method may come from any thread.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from sys import intern
from threading import Lock
from typing import Any, Final, Literal, NamedTuple, Self

from server.domain.errors import Invalid, Unavailable
from server.store.folder import make_private

KEYS: Final = "keys.db"
Erased = Literal["task", "user", "texts"]
"""``user`` is a person; ``texts`` the task in which their words went, too; of both the attribution is cut."""
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS task_keys (
  kid INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL UNIQUE, key BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS erased (
  kind TEXT NOT NULL, mac BLOB NOT NULL, at REAL NOT NULL, PRIMARY KEY (kind, mac)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS copies (path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS trail (
  one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL, head BLOB NOT NULL
) STRICT;
"""


class TaskKey(NamedTuple):
    """A task's data key, and the number by which rows name it."""

    kid: int
    key: bytes


class Keys:
    """Use as ``with Keys(folder) as keys``; makes the file if it is not there."""

    def __init__(self, folder: Path, name: str = KEYS, *, readonly: bool = False) -> None:
        self.path = folder / name
        self._readonly = readonly
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._secrets: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        """Open or make the file, its owner's alone. Raises Unavailable."""
        try:
            if self._readonly:
                uri = f"{self.path.absolute().as_uri()}?mode=ro"
                self._connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
                return self
            make_private(self.path)
            self._connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=5)
            for pragma in ("secure_delete = ON", "synchronous = FULL", "journal_mode = DELETE"):
                self._connection.execute(f"PRAGMA {pragma}")
            self._connection.executescript(_SCHEMA)
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise Unavailable(f"{self.path.name} cannot be opened ({error}).") from error
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    # Seals

    def mac(self, purpose: str, text: bytes) -> bytes:
        """HMAC-SHA-256 under the folder's own secret for that purpose."""
        return hmac.digest(self._secret(purpose), text, hashlib.sha256)

    @property
    def fingerprint(self) -> str:
        """What these keys are known by; tells nothing of them."""
        return self.mac("fingerprint", b"").hex()[:16]

    def _secret(self, purpose: str) -> bytes:
        if purpose not in self._secrets:
            self._run("INSERT OR IGNORE INTO secrets VALUES (?, ?)", purpose, secrets.token_bytes(32))
            ((value,),) = self._run("SELECT value FROM secrets WHERE name = ?", purpose)
            self._secrets[purpose] = value
        return self._secrets[purpose]

    # The keys of tasks

    def of_task(self, task: str) -> TaskKey:
        """The task's key, made if need be. Raises Unavailable."""
        found = self._run("SELECT kid, key FROM task_keys WHERE task = ?", task)
        if not found:
            self._run("INSERT OR IGNORE INTO task_keys (task, key) VALUES (?, ?)", task, secrets.token_bytes(32))
            found = self._run("SELECT kid, key FROM task_keys WHERE task = ?", task)
        return TaskKey(*found[0])

    def find(self, kid: int) -> tuple[str, bytes] | None:
        """Which task has the key of that number, and the key; None if it was shredded, or never was this folder's."""
        found = self._run("SELECT task, key FROM task_keys WHERE kid = ?", kid)
        return (intern(found[0][0]), found[0][1]) if found else None

    def shred(self, tasks: Iterable[str]) -> list[str]:
        """Forget the keys of these tasks for good, here and in the copies; those that can't be reached."""
        for task in tasks:
            self._run("DELETE FROM task_keys WHERE task = ?", task)
        self._run("VACUUM")
        return self.renew_copies()

    # The ledger of what was erased

    def note_erased(self, kind: Erased, ids: Iterable[str], at: float) -> None:
        """Note what is about to be erased; once this returns it will be, also after a crash."""
        for one in ids:
            self._run("INSERT OR IGNORE INTO erased VALUES (?, ?, ?)", kind, self._mark(one), at)

    def erased(self, kind: Erased, ids: Iterable[str]) -> set[str]:
        """Those among the ids that were erased."""
        marks = {row[0] for row in self._run("SELECT mac FROM erased WHERE kind = ?", kind)}
        return {one for one in ids if self._mark(one) in marks} if marks else set()

    def count_erased(self) -> int:
        """How many entries the ledger has."""
        return int(self._run("SELECT count(*) FROM erased")[0][0])

    def _mark(self, one: str) -> bytes:
        return self.mac("erased", one.encode())

    # How far the audit trail has come

    def newest_end(self) -> tuple[int, bytes] | None:
        """The number and hash of the last event that the trail is known to have had; None if it never had one."""
        found = self._run("SELECT last, head FROM trail")
        return (found[0][0], found[0][1]) if found else None

    def note_end(self, last: int, head: bytes) -> None:
        """The trail has come to that event; never back to an earlier one."""
        self._run(
            "INSERT INTO trail VALUES (1, ?1, ?2) ON CONFLICT (one) DO UPDATE SET last = ?1, head = ?2 WHERE last < ?1",
            last,
            head,
        )

    def forget_end(self) -> None:
        """The folder is another from here on: it was restored."""
        self._run("DELETE FROM trail")

    # Copies beside backups

    def copy_to(self, path: Path) -> None:
        """Write the whole file beside the backups, over what was there, and remember where. Raises Unavailable."""
        self._run("INSERT OR IGNORE INTO copies VALUES (?)", str(path))
        self._copy(path)

    def renew_copies(self) -> list[str]:
        """Write the copies anew; those that can't be reached, for whoever must see to them."""
        missed = []
        for (path,) in self._run("SELECT path FROM copies ORDER BY path"):
            try:
                if not Path(path).exists():
                    raise FileNotFoundError(path)
                self._copy(Path(path))
            except (OSError, Unavailable):
                missed.append(str(path))
        return missed

    def copies(self) -> list[str]:
        """Where copies were written to."""
        return [str(path) for (path,) in self._run("SELECT path FROM copies ORDER BY path")]

    def _copy(self, path: Path) -> None:
        aside = path.with_name(f".{path.name}.partial")
        try:
            aside.unlink(missing_ok=True)
            make_private(aside)
            target = sqlite3.connect(aside, isolation_level=None)
            try:
                with self._lock:
                    self._open().backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
            finally:
                target.close()
            aside.replace(path)
        except (sqlite3.Error, OSError) as error:
            aside.unlink(missing_ok=True)
            raise Unavailable(f"The keys cannot be written to {path} ({error}).") from error

    def _run(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._open().execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise Unavailable(f"{self.path.name} cannot be used at the moment ({error}).") from error

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise Unavailable(f"{self.path.name} is closed.")
        return self._connection


def copy_name(fingerprint: str) -> str:
    """What the copy beside backups is called."""
    return f"clew-keys-{fingerprint}.db"


def check_keys(path: Path) -> None:
    """Whether a file is a folder's keys. Raises Invalid."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            connection.execute("SELECT count(*) FROM task_keys, secrets, erased").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise Invalid(f"{path} holds no keys of a data folder ({error}).") from error
