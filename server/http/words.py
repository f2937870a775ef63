"""What stands in tasks, kept by its terms to compare first messages with. Owns who waits for a reading, and how long.

A document is read once for each time its task changed, in the background, a few at once; nobody waits for what
somebody waited for in vain, so a document that hangs the engine, or can't be had, delays one answer and no more. Must
never keep the words themselves, nor let a reading fail anybody.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, NamedTuple, Self

from crdt_docs.ids import DocName
from server.domain.likeness import Profile, titled

AT_ONCE: Final = 4
TERMS_KEPT: Final = 500_000
"""Terms of all documents together, of some hundred bytes each."""
NAMES_KEPT: Final = 10_000


class Wanted(NamedTuple):
    """A document, the name of its task, and when the task last changed: what was read before that is out of date."""

    document: DocName
    name: str
    changed: float


class _Kept(NamedTuple):
    changed: float
    profile: Profile


@dataclass(eq=False, slots=True)
class _Reading:
    wanted: Wanted
    task: asyncio.Task[None] | None = None
    late: bool = False
    """Somebody waited for it in vain."""


class Words:
    """``async with Words(read) as words``; ``read`` may take long, or raise."""

    def __init__(self, read: Callable[[DocName], Awaitable[Profile]]) -> None:
        self._read = read
        self._kept: OrderedDict[DocName, _Kept] = OrderedDict()
        self._size = 0
        self._underway: dict[DocName, _Reading] = {}
        self._late: OrderedDict[DocName, float] = OrderedDict()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for document in list(self._underway):
            self._stop(document)
        await self._tasks.__aexit__(kind, error, trace)

    async def profiles(self, wanted: Sequence[Wanted], patience: float) -> dict[DocName, Profile]:
        """What is known of the documents within ``patience`` seconds: of some perhaps what stood in them before.

        They are read in the order given. What somebody has waited for in vain is not waited for again.
        """
        readings = [reading for one in wanted if (reading := self._begin(one)) is not None]
        awaited = {reading.task: reading for reading in readings if reading.task is not None and not reading.late}
        if awaited:
            _, pending = await asyncio.wait(awaited, timeout=patience)
            for task in pending:
                self._note_late(awaited[task])
        found: dict[DocName, Profile] = {}
        for one in wanted:
            kept = self._kept.get(one.document)
            if kept is not None:
                self._kept.move_to_end(one.document)
                found[one.document] = kept.profile
        return found

    def forget(self, document: DocName) -> None:
        """Drop what is kept of a document that was deleted."""
        self._drop(document)
        self._late.pop(document, None)
        self._stop(document)

    def _begin(self, one: Wanted) -> _Reading | None:
        """The reading that is under way, begun if need be; None if the document is known."""
        kept = self._kept.get(one.document)
        if kept is not None and kept.changed >= one.changed:
            return None
        reading = self._underway.get(one.document)
        if reading is None:
            reading = self._underway[one.document] = _Reading(one)
            reading.late = self._late.get(one.document, -1.0) >= one.changed
            reading.task = self._tasks.create_task(self._fetch(reading), name=f"words of {one.document}")
        reading.wanted = one
        return reading

    async def _fetch(self, reading: _Reading) -> None:
        """Read until what was read is what is wanted, for it may change meanwhile."""
        document, done = reading.wanted.document, None
        while done != reading.wanted:
            done = reading.wanted
            try:
                async with self._turns:
                    read = await self._read(document)
            except Exception:  # nobody is there to be told; whoever asks next begins another, and does not wait for it
                self._note_late(reading)
                break
            self._keep(done, titled(read, done.name))
        del self._underway[document]

    def _note_late(self, reading: _Reading) -> None:
        reading.late = True
        self._late[reading.wanted.document] = reading.wanted.changed
        self._late.move_to_end(reading.wanted.document)
        if len(self._late) > NAMES_KEPT:
            self._late.popitem(last=False)

    def _stop(self, document: DocName) -> None:
        reading = self._underway.pop(document, None)
        if reading is not None and reading.task is not None:
            reading.task.cancel()

    def _keep(self, one: Wanted, read: Profile) -> None:
        self._drop(one.document)
        self._late.pop(one.document, None)
        self._kept[one.document] = _Kept(one.changed, read)
        self._size += len(read.counts)
        while self._size > TERMS_KEPT and len(self._kept) > 1:
            self._drop(next(iter(self._kept)))

    def _drop(self, document: DocName) -> None:
        kept = self._kept.pop(document, None)
        if kept is not None:
            self._size -= len(kept.profile.counts)
