"""A data folder from a backup. Owns what must not come back to life, and that nobody mistakes the past for the present.

Everybody may have seen more than the backup holds. So every document begins a new generation: a page keeps its newer
copy aside instead of merging it in unasked. The server's own client ids are given up with it, for their clocks would be
used a second time for other words, and two replicas that hold different things under one id never agree again.

What was revoked since the backup can't be known, so all that lets somebody in has ended, unless the operator vouches
for it. Must never touch the backup, nor leave a folder that a server would take before it is complete: the file
``lock``, without which a server takes a folder with files for a stranger's, is made last.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast, get_args

from crdt_docs.ids import Part
from server.domain.errors import Conflict, Invalid, Unavailable
from server.store.database import Transaction
from server.store.folder import FILE_MODE, FOLDER_MODE, LOCK, sync_folder
from server.store.keys import KEYS, check_keys, copy_name
from server.store.log_file import FILE_ERRORS, LOG, open_for_writing
from server.store.manifest import MANIFEST, Manifest, Open, differing, load, weigh
from server.store.nouns import open_nouns

_ALWAYS: Final = (
    "DELETE FROM tickets",
    "DELETE FROM links",
    "DELETE FROM invitations",
    "UPDATE shares SET revoked_at = ?1 WHERE revoked_at IS NULL",
    "DELETE FROM challenges",
    "DELETE FROM oidc_flows",
    "DELETE FROM device_grants",
    "DELETE FROM handoffs",
    "UPDATE tokens SET revoked_at = ?1 WHERE kind = 'grant' AND revoked_at IS NULL",
    "UPDATE attachments SET ended_at = max(started_at, (SELECT seen_at FROM sessions s WHERE s.id = session))"
    " WHERE ended_at IS NULL",
    "UPDATE sessions SET ended_at = seen_at, task = NULL WHERE ended_at IS NULL",
)
_UNLESS_KEPT: Final = (
    "DELETE FROM logins",
    "DELETE FROM passkeys",
    "UPDATE tokens SET revoked_at = ?1 WHERE revoked_at IS NULL",
)


@contextmanager
def opened(backup: Path) -> Iterator[Open]:
    """A backup's files, be it a folder or packed. Raises Invalid."""
    if not backup.is_file():
        yield lambda name: (backup / name).open("rb")
        return
    try:
        tar = tarfile.open(backup, "r:")
    except (tarfile.TarError, OSError) as error:
        raise Invalid(f"{backup} is no backup ({error}).") from error

    def open_member(name: str) -> BinaryIO:
        try:
            return cast(BinaryIO, tar.extractfile(name) or io.BytesIO())
        except KeyError:
            raise FileNotFoundError(name) from None

    with tar:
        yield open_member


def examine(open_file: Open) -> Manifest:
    """The backup's manifest, once every file was found to be what it says. Raises Invalid."""
    try:
        with open_file(MANIFEST) as file:
            manifest = load(file.read())
        wrong = differing(open_file, manifest)
    except FileNotFoundError as error:
        raise Invalid(f"This is no backup: it has no {MANIFEST}.") from error
    except (tarfile.TarError, OSError) as error:
        raise Invalid(f"The backup cannot be read ({error}).") from error
    if wrong:
        raise Invalid(f"The backup is damaged: {'; '.join(wrong[:5])}.")
    return manifest


def copy_into(open_file: Open, manifest: Manifest, data: Path) -> None:
    """Copy the files into an empty folder. Raises Unavailable."""
    try:
        for name, kept in manifest.files.items():
            (data / name).parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            with open_file(name) as source, _made(data / name) as target:
                shutil.copyfileobj(source, target, 1 << 20)
            with (data / name).open("rb") as copied:
                if weigh(copied) != kept:
                    raise Unavailable(f"{name} changed while it was copied.")
    except OSError as error:
        raise Unavailable(f"The backup cannot be restored into {data} ({error.strerror}).") from error


def make_empty(data: Path) -> None:
    """Make the folder, or take one that is there and empty. Raises Conflict, Unavailable."""
    try:
        data.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        if any(data.iterdir()):
            raise Conflict(f"{data} is not empty; a backup is restored into a folder of its own.")
        data.chmod(FOLDER_MODE)
    except OSError as error:
        raise Unavailable(f"{data} cannot be made ({error.strerror}).") from error


@contextmanager
def _made(path: Path) -> Iterator[BinaryIO]:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def begin_generations(data: Path, tasks: list[str], now: float) -> int:
    """Let every document of the log begin a new generation, with all that it has; how many those are.

    The number is the time in seconds: a later generation than any that was counted up since the backup was made, and
    another than that of any other restore of it. A task's document that is empty yet gets one, too.
    """
    try:
        with closing(open_for_writing(data / LOG, "full")) as log:
            log.execute("BEGIN IMMEDIATE")
            log.execute("UPDATE documents SET generation = max(generation + 1, ?) WHERE current = 1", (int(now),))
            log.execute("UPDATE claims SET composed = 0")
            for task in tasks:
                for part in get_args(Part):
                    log.execute(
                        "INSERT INTO documents (task, part, generation, current) SELECT ?1, ?2, ?3, 1"
                        " WHERE NOT EXISTS (SELECT 1 FROM documents WHERE task = ?1 AND part = ?2 AND current = 1)",
                        (task, part, int(now)),
                    )
            (count,) = log.execute("SELECT count(*) FROM documents WHERE current = 1").fetchone()
            log.execute("COMMIT")
    except FILE_ERRORS as error:
        raise Unavailable(f"The restored log cannot be written ({error}).") from error
    return int(count)


async def restore(backup: Path, data: Path, now: float, keep_logins: bool, keys: Path | None = None) -> Manifest:
    """Make a data folder of a backup. Raises Invalid, Conflict, Unavailable; then nothing of it is left.

    ``keys`` are the folder's own; else those are taken that lie beside the backup. Without any, what was erased since
    is not known.
    """
    with opened(backup) as open_file:
        manifest = examine(open_file)
        found = find_keys(backup, manifest, keys)
        make_empty(data)
        try:
            copy_into(open_file, manifest, data)
            if found is not None:
                _copy_keys(found, data)
            await _settle(data, now, keep_logins, sealed=found is not None)
            _finish(data)
        except BaseException:
            _clear(data)
            raise
    return manifest


def find_keys(backup: Path, manifest: Manifest, named: Path | None) -> Path | None:
    """The keys that belong to a backup, checked; None if there are none. Raises Invalid."""
    found = named
    if found is None and manifest.keys:
        found = backup.absolute().parent / copy_name(manifest.keys)
        if not found.exists():
            raise Invalid(f"The backup is sealed by keys that are not beside it: {found.name} is wanted, see --keys.")
    if found is not None:
        check_keys(found)
    return found


def _copy_keys(keys: Path, data: Path) -> None:
    try:
        with keys.open("rb") as source, _made(data / KEYS) as target:
            shutil.copyfileobj(source, target)
    except OSError as error:
        raise Unavailable(f"The keys cannot be copied from {keys} ({error.strerror}).") from error


async def _settle(data: Path, now: float, keep_logins: bool, sealed: bool) -> None:
    async with open_nouns(data) as nouns:
        async with nouns.database.transaction() as tx:
            tasks = [str(row[0]) for row in await tx.all("SELECT id FROM tasks")]
            await end_ways_in(tx, now, keep_logins)
        await nouns.audit.restore(now, sealed=sealed)
    begin_generations(data, tasks, now)


def _clear(data: Path) -> None:
    for path in data.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


async def end_ways_in(tx: Transaction, now: float, keep_logins: bool) -> None:
    """End what lets somebody in, and the sessions: nobody of then is connected now."""
    for sql in (*_ALWAYS, *(() if keep_logins else _UNLESS_KEPT)):
        await tx.all(sql, *((now,) if "?1" in sql else ()))


def _finish(data: Path) -> None:
    try:
        os.close(os.open(data / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
        sync_folder(data)
    except OSError as error:
        raise Unavailable(f"{data} cannot be completed ({error.strerror}).") from error
