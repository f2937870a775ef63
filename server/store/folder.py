"""The data folder: who may read it, and that one server at a time holds it.

Must never loosen a permission, nor turn a folder that holds a stranger's files into a data folder.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from server.domain.errors import Conflict, Invalid, Unavailable

LOCK: Final = "lock"
FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
TRIES: Final = 5
BREATH: Final = 0.04


class FolderHeld(Conflict):
    """Another Clew server holds this data folder."""


def make_folder(path: Path) -> None:
    """Make the data folder, or take an empty or present one, and close it to all but its owner.

    Raises Invalid if it is something else.
    """
    if path.exists() and not path.is_dir():
        raise Invalid(f"{path} is a file; --data wants a folder.")
    path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    if not (path / LOCK).exists() and any(path.iterdir()):
        raise Invalid(f"{path} holds files that are not Clew's; give --data a folder of its own.")
    if path.stat().st_mode & 0o077:
        path.chmod(FOLDER_MODE)


def make_private(path: Path) -> None:
    """Make the file if it is missing, and close it to all but its owner (SQLite gives -wal and -shm the same mode)."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))
    if path.stat().st_mode & 0o077:
        path.chmod(FILE_MODE)


def sync_folder(folder: Path) -> None:
    """See to it that what was made, renamed or removed in the folder stays so after a power loss."""
    sync(folder, os.O_DIRECTORY)


def sync(path: Path, flags: int = 0) -> None:
    """See to it that what was written there, by whomever, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Make and hold the data folder; the system lets go if the process dies. Raises FolderHeld or why not."""
    try:
        make_folder(folder)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        raise Unavailable(f"The data folder {folder} cannot be written to ({error.strerror}).") from error
    try:
        _take(descriptor, folder)
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, folder: Path) -> None:
    for _ in range(TRIES):  # is_held() of a passing command holds the lock for a moment, too
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(BREATH)
    raise FolderHeld(_who(folder))


def is_held(folder: Path) -> bool:
    """Whether a server (or a command that opened the database itself) holds the folder at this moment."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _who(folder: Path) -> str:
    pid = (folder / LOCK).read_text(errors="replace").strip()
    by = f" (process {pid})" if pid.isdigit() else ""
    return f"Another Clew server{by} holds {folder}. Stop it, or give --data another folder."
