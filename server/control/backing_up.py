"""Backing a data folder up while it is served. Owns the moment at which it is done, and that an ending server waits
for no copy. Must never hold the database for longer than it takes to pin that moment.
"""

from __future__ import annotations

import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio

from server.domain.clock import Clock
from server.domain.errors import Conflict
from server.store.backup import Moment, pin, place, write_backup
from server.store.database import Database
from server.store.keys import Keys, copy_name


class BackingUp:
    """Backs up one data folder, once at a time. The caller holds the folder."""

    def __init__(self, folder: Path, database: Database, clock: Clock) -> None:
        self._folder = folder
        self._database = database
        self._clock = clock
        self._ending = threading.Event()
        self._busy = False

    async def make(self, to: Path) -> dict[str, Any]:
        """Write a backup. It answers ``to``, ``keys``, ``seconds`` and ``manifest``.

        The keys go beside it, into one file for all backups of this folder: the newest alone, so that what was erased
        since stays so in all of them. Raises Invalid, Conflict, Unavailable.
        """
        if self._busy:
            raise Conflict("A backup is being made already.")
        self._busy = True
        try:
            began, now = self._clock.monotonic(), self._clock.now()
            to = place(to, self._folder, now)
            async with self._database.transaction():
                moment = await anyio.to_thread.run_sync(pin, self._folder)
            manifest = await anyio.to_thread.run_sync(self._write, moment, to, now)
            keys = await anyio.to_thread.run_sync(self._copy_keys, to)
        finally:
            self._busy = False
        return {"to": str(to), "seconds": self._clock.monotonic() - began, "manifest": asdict(manifest), "keys": keys}

    def _copy_keys(self, to: Path) -> str:
        with Keys(self._folder) as keys:
            beside = to.parent / copy_name(keys.fingerprint)
            keys.copy_to(beside)
        return str(beside)

    def end(self) -> None:
        """Break off what is under way."""
        self._ending.set()

    def _write(self, moment: Moment, to: Path, now: float) -> Any:
        try:
            with Keys(self._folder) as keys:
                fingerprint = keys.fingerprint
            return write_backup(moment, self._folder, to, now, self._ending.is_set, fingerprint)
        finally:
            moment.close()
