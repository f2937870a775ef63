"""Repairing a document while the server runs. Owns its order: nobody is in the room while it is forked.

Must never throw the old generation away: it is kept aside in the log.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import anyio

from crdt_docs.ids import DocName, TaskId
from server.domain.errors import CLOSE, NotFound
from server.domain.log import CorruptLog, Opened, Snapshot
from server.rooms.soundness import check, salvage
from server.store.examine import Examined, examine

WHY = "this document was repaired"


class Live(Protocol):
    """What is asked of the rooms."""

    async def close(self, task: TaskId, code: int, why: str) -> None:
        """Close everyone on a task and forget its rooms."""
        ...

    async def fork(self, name: DocName, snapshot: Snapshot, reason: str) -> int:
        """Begin the next generation; raises CorruptLog if the present one cannot be loaded."""
        ...


class Forks(Protocol):
    """What is asked of the log, where no room can be opened."""

    def fork(self, name: DocName, snapshot: Snapshot, reason: str) -> Opened:
        """Begin the next generation."""
        ...


class Mending:
    """Repairs documents of one log."""

    def __init__(self, path: Path, log: Forks, live: Live) -> None:
        self._path = path
        self._log = log
        self._live = live

    async def mend(self, name: DocName) -> dict[str, Any]:
        """Begin a clean generation from what can be read, unless all is well. Raises NotFound, Unavailable.

        The answer has ``generation``, ``repaired``, ``kept`` (updates) and ``left_out`` (sentences).
        """
        found = await self._examine(name)
        if not found.quarantined and not await anyio.to_thread.run_sync(check, found):
            return {"generation": found.generation, "repaired": False, "kept": len(found.updates), "left_out": []}
        await self._live.close(name.task, CLOSE["not_found"], WHY)
        found = await self._examine(name)
        saved = await anyio.to_thread.run_sync(salvage, found)
        try:
            generation = await self._live.fork(name, saved.snapshot, WHY)
        except CorruptLog:
            opened = await anyio.to_thread.run_sync(self._log.fork, name, saved.snapshot, WHY)
            generation = opened.generation
        return {"generation": generation, "repaired": True, "kept": saved.kept, "left_out": saved.left_out}

    async def _examine(self, name: DocName) -> Examined:
        found = await anyio.to_thread.run_sync(lambda: next(examine(self._path, name), None))
        if found is None:
            raise NotFound(f"The log holds no document {name}.")
        return found
