"""Repairing a document while the server runs. Owns its order: nobody is in the room while it is forked.

Owns also which updates a document that crashes the engine can do without. Must never throw the old generation away: it
is kept aside in the log, and with it what was left out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

import anyio

from crdt_docs.ids import DocName, TaskId
from server.domain.errors import CLOSE, NotFound
from server.domain.log import CorruptLog, Opened, Snapshot
from server.engine.failures import EngineFailed
from server.rooms.soundness import Salvaged, check, salvage
from server.store.examine import Examined, examine

WHY: Final = "this document was repaired"
MOST_CULPRITS: Final = 8
"""Updates that are left out of one document because the engine cannot bear them; each takes a search to find."""

Reads = Callable[[bytes], Awaitable[object]]
"""Have the engine read a whole document. Raises EngineFailed."""


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

    def __init__(self, path: Path, log: Forks, live: Live, reads: Reads) -> None:
        self._path = path
        self._log = log
        self._live = live
        self._reads = reads

    async def mend(self, name: DocName) -> dict[str, Any]:
        """Begin a clean generation from what can be read, unless all is well. Raises NotFound, Unavailable.

        Of a document that the engine failed on, the updates that make it fail are left out.

        The answer has ``generation``, ``repaired``, ``kept`` (updates) and ``left_out`` (sentences).
        """
        found = await self._examine(name)
        if not found.quarantined and not await anyio.to_thread.run_sync(check, found):
            return {"generation": found.generation, "repaired": False, "kept": len(found.updates), "left_out": []}
        await self._live.close(name.task, CLOSE["not_found"], WHY)
        found = await self._examine(name)
        saved = await (self._bearable(found) if found.quarantined else anyio.to_thread.run_sync(salvage, found))
        try:
            generation = await self._live.fork(name, saved.snapshot, WHY)
        except CorruptLog:
            opened = await anyio.to_thread.run_sync(self._log.fork, name, saved.snapshot, WHY)
            generation = opened.generation
        return {"generation": generation, "repaired": True, "kept": saved.kept, "left_out": saved.left_out}

    async def _bearable(self, found: Examined) -> Salvaged:
        """What can be saved, without the updates that the engine fails on."""
        whole = saved = await anyio.to_thread.run_sync(salvage, found)
        culprits: list[str] = []
        while (fault := await self._fault(saved)) is not None:
            at = await self._culprit(found) if len(culprits) < MOST_CULPRITS else None
            if at is None:
                whole.left_out.append(f"nothing, though {fault}: no single update is the cause")
                return whole
            culprits.append(f"update {found.updates[at].seq}: {fault}")
            found = replace(found, updates=[*found.updates[:at], *found.updates[at + 1 :]])
            saved = await anyio.to_thread.run_sync(salvage, found)
        saved.left_out[:0] = culprits
        return saved

    async def _culprit(self, found: Examined) -> int | None:
        """The place of the first update with which the document cannot be read; None if the snapshot cannot be."""
        good, bad = 0, len(found.updates)
        if not found.updates or await self._fault(await self._first(found, 0)) is not None:
            return None
        while bad - good > 1:
            middle = (good + bad) // 2
            if await self._fault(await self._first(found, middle)) is None:
                good = middle
            else:
                bad = middle
        return good

    async def _first(self, found: Examined, number: int) -> Salvaged:
        return await anyio.to_thread.run_sync(salvage, replace(found, updates=found.updates[:number]))

    async def _fault(self, saved: Salvaged) -> str | None:
        """What the engine fails on the document for, if it does. Raises EngineFailed where that says nothing of it."""
        try:
            await self._reads(saved.snapshot.update)
        except EngineFailed as failed:
            if not failed.verdict.quarantine:
                raise
            return failed.verdict.value
        return None

    async def _examine(self, name: DocName) -> Examined:
        found = await anyio.to_thread.run_sync(lambda: next(examine(self._path, name), None))
        if found is None:
            raise NotFound(f"The log holds no document {name}.")
        return found
