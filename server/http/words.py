"""What stands in tasks, kept by its terms to compare first messages with. Owns who waits for a reading, and how long.

A document is read once for each time its task changed, in the background, a few at once; nobody waits twice for the
same reading, so a document that hangs the engine, or can't be had, delays one answer and no more. Must never keep the
words themselves, nor let a reading fail anybody.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
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


class Words:
    """``async with Words(read) as words``; ``read`` may take long, or raise."""

    def __init__(self, read: Callable[[DocName], Awaitable[Profile]]) -> None:
        self._read = read
        self._kept: OrderedDict[DocName, _Kept] = OrderedDict()
        self._size = 0
        self._underway: dict[DocName, asyncio.Task[None]] = {}
        self._awaited: OrderedDict[DocName, float] = OrderedDict()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for reading in self._underway.values():
            reading.cancel()
        await self._tasks.__aexit__(kind, error, trace)

    async def profiles(self, wanted: Sequence[Wanted], patience: float) -> dict[DocName, Profile]:
        """What is known of the documents within ``patience`` seconds: of some perhaps what stood in them before.

        They are read in the order given. What nobody has waited for yet is waited for; all the rest goes on without.
        """
        waiting = [reading for one in wanted if (reading := self._reading(one)) and self._is_news(one)]
        if waiting:
            await asyncio.wait(waiting, timeout=patience)
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
        self._awaited.pop(document, None)
        reading = self._underway.pop(document, None)
        if reading is not None:
            reading.cancel()

    def _reading(self, one: Wanted) -> asyncio.Task[None] | None:
        """The task that reads it, begun if need be; None if it is known."""
        kept = self._kept.get(one.document)
        if kept is not None and kept.changed >= one.changed:
            return None
        if one.document not in self._underway:
            reading = self._tasks.create_task(self._fetch(one), name=f"words of {one.document}")
            self._underway[one.document] = reading
        return self._underway[one.document]

    def _is_news(self, one: Wanted) -> bool:
        """Whether nobody has waited for this reading before; now somebody has."""
        before = self._awaited.pop(one.document, None)
        self._awaited[one.document] = one.changed
        if len(self._awaited) > NAMES_KEPT:
            self._awaited.popitem(last=False)
        return before is None or before < one.changed

    async def _fetch(self, one: Wanted) -> None:
        read: Profile | None = None
        try:
            async with self._turns:
                read = await self._read(one.document)
        except Exception:  # nobody is there to be told; whoever asks next begins another, and does not wait for it
            pass
        if self._underway.get(one.document) is asyncio.current_task():  # else it was forgotten meanwhile
            del self._underway[one.document]
            if read is not None:
                self._keep(one, titled(read, one.name))

    def _keep(self, one: Wanted, read: Profile) -> None:
        self._drop(one.document)
        self._kept[one.document] = _Kept(one.changed, read)
        self._size += len(read.counts)
        while self._size > TERMS_KEPT and len(self._kept) > 1:
            self._drop(next(iter(self._kept)))

    def _drop(self, document: DocName) -> None:
        kept = self._kept.pop(document, None)
        if kept is not None:
            self._size -= len(kept.profile.counts)
