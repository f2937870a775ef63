"""An outage of the machine under a folder whose commits are not synced (``--durability process``).

What others have seen may then be gone from the log, and nobody can tell. So every document begins a new generation, as
after a restore, and how far documents were read goes back to where they end now.

Owns the file ``unsynced``, which names the boot of the machine on which commits were left to the system: from before
the first of them until all of them are on the disk. Must never take a server that was killed for an outage.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from crdt_docs.ids import TaskId
from server.domain.audit import Deed
from server.domain.durability import Durability
from server.domain.errors import Unavailable
from server.store.folder import FILE_MODE, sync, sync_folder
from server.store.lines import scan
from server.store.log_file import FILE_ERRORS, LOG, open_for_reading
from server.store.nouns import open_nouns
from server.store.restore import begin_generations

UNSYNCED: Final = "unsynced"
BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_GO_BACK: Final = (
    "UPDATE tasks SET heard = min(heard, ?2) WHERE id = ?1",
    "UPDATE looks SET seq = min(seq, ?2) WHERE task = ?1",
    "UPDATE bearer_looks SET seq = min(seq, ?2) WHERE task = ?1",
)


def boot() -> str:
    """Which boot of the machine this is; nothing where it does not say."""
    try:
        return BOOT.read_text().strip()
    except OSError:
        return ""


def has_been(folder: Path) -> bool:
    """Whether the machine went down over commits that were not synced; also where that can't be ruled out."""
    try:
        noted = (folder / UNSYNCED).read_text()
    except FileNotFoundError:
        return False
    return not noted or noted != boot()


@contextmanager
def unsynced(folder: Path, durability: Durability) -> Iterator[None]:
    """For as long as the log is open. Raises Unavailable if nothing can be noted."""
    if durability == "full":
        _settle(folder)
        yield
        return
    try:
        _note(folder / UNSYNCED, boot())
    except OSError as error:
        raise Unavailable(f"The data folder {folder} cannot be written to ({error.strerror}).") from error
    try:
        yield
    finally:
        _settle(folder)


async def recover(folder: Path, now: float) -> None:
    """After an outage let every document begin a new generation, and what is known of its readers end where it does.

    ``now`` is in Unix seconds. The folder is held, and its log not open. Raises CorruptLog, Unavailable.
    """
    if not has_been(folder):
        return
    async with open_nouns(folder) as nouns:
        async with nouns.database.transaction() as tx:
            tasks = [str(row[0]) for row in await tx.all("SELECT id FROM tasks")]
            begin_generations(folder, tasks, now)
            heads = _heads(folder)
            for task in tasks:
                for sql in _GO_BACK:
                    await tx.all(sql, task, heads.get(TaskId(task), 0))
        await nouns.audit.append("folder.interrupted", now, by=Deed())


def _heads(folder: Path) -> dict[TaskId, int]:
    try:
        with closing(open_for_reading(folder / LOG)) as log:
            lines, _, _ = scan(log)
    except FILE_ERRORS as error:
        raise Unavailable(f"log.db cannot be read ({error}).") from error
    return {line.name.task: line.head for line in lines.values() if line.name.part == "main"}


def _note(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def _settle(folder: Path) -> None:
    """All that was committed is on the disk, so the note may go. Where the disk fails it stays."""
    if not (folder / UNSYNCED).exists():
        return
    with suppress(OSError):
        for path in (folder / LOG, folder / f"{LOG}-wal"):
            if path.exists():
                sync(path)
        (folder / UNSYNCED).unlink()
        sync_folder(folder)
