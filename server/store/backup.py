"""A backup of a data folder while it is being written to: both databases as they were at one moment.

Owns that moment. The transaction that is open on ``clew.db`` keeps it still while both files are pinned, so what the
copies say together was true together: a backup is what a kill -9 at that moment would have left, and no document in
its log is behind what ``clew.db`` says was seen or heard of it. Blobs are copied last, for one is stored before a
document speaks of it. Must never show a backup that is not complete, nor keep a commit waiting: readers don't block.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from server.domain.clock import iso
from server.domain.errors import Conflict, Invalid, Unavailable
from server.store.folder import FILE_MODE, FOLDER_MODE, make_private, sync_folder
from server.store.log_file import FILE_ERRORS, LOG, open_for_reading
from server.store.manifest import BLOBS, FORMAT, MANIFEST, Manifest, weigh
from server.store.nouns import DATABASE

PAGES_AT_ONCE: Final = 2048
MOST_REST: Final = 0.05
TAR: Final = ".tar"
_COUNTS: Final = {
    LOG: {
        "documents": "SELECT count(*) FROM documents WHERE current = 1",
        "generations": "SELECT count(*) FROM documents",
        "updates": "SELECT coalesce(sum(n), 0) FROM updates",
        "snapshots": "SELECT count(*) FROM snapshots",
    },
    DATABASE: {"tasks": "SELECT count(*) FROM tasks", "users": "SELECT count(*) FROM users"},
}


class Stopped(Unavailable):
    """The server ended before the backup was complete; nothing of it is left."""


class Moment(NamedTuple):
    """Both databases, each in a transaction that sees the same moment for as long as it is open."""

    log: sqlite3.Connection
    nouns: sqlite3.Connection

    def close(self) -> None:
        """Let it pass."""
        self.log.close()
        self.nouns.close()


def pin(folder: Path) -> Moment:
    """Hold on to this moment; the caller keeps ``clew.db`` from being written to until this returns.

    While it is held, what is written meanwhile stays in the write-ahead logs. Raises Invalid, Unavailable.
    """
    if not (folder / LOG).exists():
        raise Invalid(f"{folder} holds no log; is it a data folder?")
    held: list[sqlite3.Connection] = []
    try:
        for name in (LOG, DATABASE):
            held.append(open_for_reading(folder / name))
            held[-1].execute("BEGIN")
            held[-1].execute("SELECT count(*) FROM sqlite_master").fetchone()
    except FILE_ERRORS as error:
        for connection in held:
            connection.close()
        raise Unavailable(f"The data folder cannot be read at the moment ({error}).") from error
    return Moment(*held)


def place(to: Path, folder: Path, now: float) -> Path:
    """Where the backup will be: ``to``, or a new folder in it if it is there. Raises Invalid, Conflict."""
    if to.is_dir() and not (to / MANIFEST).exists():
        to = to / f"clew-{iso(now)[:19].replace('-', '').replace(':', '')}Z"
    if not to.parent.is_dir():
        raise Invalid(f"There is no folder {to.parent}.")
    if to.parent.resolve().is_relative_to(folder.resolve()):
        raise Invalid("A backup belongs outside of the data folder.")
    if to.exists():
        raise Conflict(f"{to} is there already; a backup overwrites nothing.")
    return to


def write_backup(
    moment: Moment, folder: Path, to: Path, now: float, stopped: Callable[[], bool], keys: str = ""
) -> Manifest:
    """Write a folder, or one file if the name ends in ``.tar``; it appears when it is complete and on disk.

    Raises Unavailable where the disk does not play along, Stopped.
    """
    try:
        with _aside(to) as aside:
            manifest = _fill(aside, moment, folder, now, stopped, keys)
            os.rename(_pack(aside, to.name) if to.suffix == TAR else aside, to)
        sync_folder(to.parent)
    except FILE_ERRORS as error:
        raise Unavailable(f"The data folder cannot be copied ({error}).") from error
    except OSError as error:
        raise Unavailable(f"The backup cannot be written to {to} ({error.strerror}).") from error
    return manifest


@contextmanager
def _aside(to: Path) -> Iterator[Path]:
    """A folder beside it, which is gone afterwards unless it was renamed."""
    aside = Path(tempfile.mkdtemp(prefix=f".{to.name}.", suffix=".partial", dir=to.parent))  # of mode 0700
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _fill(aside: Path, moment: Moment, folder: Path, now: float, stopped: Callable[[], bool], keys: str) -> Manifest:
    sources = {LOG: moment.log, DATABASE: moment.nouns}
    counts, schemas = {}, {}
    for name, source in sources.items():
        copy_database(source, aside / name, stopped)
        (schemas[name],) = source.execute("PRAGMA user_version").fetchone()
        for what, sql in _COUNTS[name].items():
            (counts[what],) = source.execute(sql).fetchone()
    counts["blobs"] = _copy_blobs(folder / BLOBS, aside / BLOBS, stopped)
    files = {}
    for path in sorted(found for found in aside.rglob("*") if found.is_file()):
        with path.open("rb") as file:
            files[path.relative_to(aside).as_posix()] = weigh(file)
    manifest = Manifest(FORMAT, version("clew"), iso(now), schemas, files, counts, keys)
    write_private(aside / MANIFEST, manifest.dump())
    for path in (aside, *(found for found in aside.rglob("*") if found.is_dir())):
        sync_folder(path)
    return manifest


def copy_database(source: sqlite3.Connection, path: Path, stopped: Callable[[], bool] = lambda: False) -> None:
    """Copy what the connection sees, in small steps that are each synced and slept off, so that commits get between.

    One sync at the end would hold every commit on the same disk up for as long as it takes.
    """
    make_private(path)
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    began = time.monotonic()

    def rest(*_: int) -> None:
        nonlocal began
        if stopped():
            raise Stopped
        os.fsync(descriptor)
        time.sleep(min(time.monotonic() - began, MOST_REST))
        began = time.monotonic()

    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as target:
            target.execute("PRAGMA synchronous = OFF")
            source.backup(target, pages=PAGES_AT_ONCE, progress=rest)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, that is read without writing beside it
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_blobs(blobs: Path, to: Path, stopped: Callable[[], bool]) -> int:
    count = 0
    for path in sorted(blobs.glob("[0-9a-f][0-9a-f]/[0-9a-f]*")):
        if stopped():
            raise Stopped
        (to / path.parent.name).mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        try:
            write_private(to / path.parent.name / path.name, path.read_bytes())
        except FileNotFoundError:  # deleted since, with the task that it belonged to
            continue
        count += 1
    return count


def _pack(aside: Path, name: str) -> Path:
    packed = aside / name
    descriptor = os.open(packed, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for path in sorted(aside.rglob("*")):
                if path != packed and path.is_file():
                    tar.add(path, path.relative_to(aside).as_posix(), filter=_nobodys)
        file.flush()
        os.fsync(descriptor)
    return packed


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def write_private(path: Path, content: bytes) -> None:
    """A new file of its owner's alone, on disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
