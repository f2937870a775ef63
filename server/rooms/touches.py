"""When tasks were last edited. Owns that a keystroke costs no write of its own."""

from __future__ import annotations

from collections.abc import Sequence

from crdt_docs.ids import DocName, TaskId
from server.domain.clock import Clock
from server.rooms.hearing import KeySet
from server.store.tasks import Tasks


class Touches:
    """When tasks were last edited, gathered and written once a second, since every keystroke says so."""

    def __init__(self, tasks: Tasks, clock: Clock) -> None:
        self._tasks = tasks
        self._clock = clock
        self._touched: set[TaskId] = set()

    def __call__(self, name: DocName, seq: int, edited: bool, keys: Sequence[KeySet]) -> None:
        """A document changed."""
        if edited:
            self._touched.add(name.task)

    async def flush(self) -> None:
        """Write what was gathered. Raises Unavailable; then it is gathered still."""
        touched, self._touched = self._touched, set()
        if not touched:
            return
        try:
            await self._tasks.touch(touched, self._clock.now())
        except BaseException:
            self._touched |= touched
            raise
