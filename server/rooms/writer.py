"""The only one who commits. Owns the grouping of all rooms' admitted updates into transactions.

Must never let anything be seen before it is committed, and never retry what failed: an fsync error is final for what
it covered.

Group rule: with the loop's next turn when idle, for what else this one brings goes along; else a ``pause`` after the
last commit began or when ``GROUP`` updates wait, whichever comes first; one batch is in flight at a time. The pause
grows with the documents that the last commit had: so two who write to each other wait for a commit, and a thousand
documents share one. Where commits take long it is twice what the last one took, up to a bound: a slow disk gets larger
groups.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from server.domain.clock import Clock
from server.domain.errors import Unavailable
from server.domain.log import Append, LogFailed, UpdateLog
from server.rooms.lanes import Lane

FOR_EACH: Final = 0.001
SHARED: Final = 0.005
"""Seconds from one commit's beginning to the next: for each document it had, and at most for all of them."""
LONGEST: Final = 0.020
"""Seconds between two commits that the disk is slow for; one that hung must not hold up the next."""
GROUP: Final = 64
PROBE_EVERY: Final = 1.0


def pause(documents: int, took: float) -> float:
    """Seconds from a commit's beginning to the next one's, by how many documents it had and how long it took."""
    shared = min(FOR_EACH * documents, SHARED)
    return min(max(shared, 2 * took if documents > 1 else 0.0), LONGEST)


class Committing(Protocol):
    """What a room shows the writer."""

    def take(self) -> Append | None:
        """Hand over what was admitted since the last call; it is then in flight."""
        ...

    def moved(self, head: int) -> None:
        """The flight is in the log, and this is the document's new head. Must not fan out yet."""
        ...

    def release(self) -> None:
        """Fan out what was in flight, and answer who waited for it."""
        ...

    def conflicted(self) -> None:
        """The log's head was another than thought: somebody else appended. Nothing of the flight was written."""
        ...

    def failed(self, error: BaseException) -> None:
        """The commit failed: nothing of the flight is in the log, and the gate is ahead of it."""
        ...


class Writer:
    """Batches what rooms admitted. Lives on the event loop; the commit itself runs on the lane."""

    def __init__(self, log: UpdateLog, lane: Lane, clock: Clock) -> None:
        self._log = log
        self._lane = lane
        self._clock = clock
        self._dirty: dict[Committing, None] = {}
        self._waiting = 0
        self._began = float("-inf")
        self._pause = 0.0
        self._busy = False
        self._timer: asyncio.Handle | None = None
        self._started = 0
        self._finished = 0
        self._drains: list[tuple[int, asyncio.Future[None]]] = []
        self.failure: LogFailed | None = None
        self._probe_at = 0.0
        self.commits = 0
        self.updates = 0

    def check(self) -> None:
        """Raise LogFailed while the server is read-only; once in a while let a write through to try the disk."""
        if self.failure is None:
            return
        now = self._clock.monotonic()
        if now < self._probe_at:
            raise self.failure
        self._probe_at = now + PROBE_EVERY

    def kick(self, room: Committing) -> None:
        """One more update of this room waits to be committed."""
        self._dirty[room] = None
        self._waiting += 1
        if self._busy or (self._timer is not None and self._waiting != GROUP):
            return
        if self._timer is not None:
            self._timer.cancel()
        loop, wait = asyncio.get_running_loop(), self._began + self._pause - self._clock.monotonic()
        if wait <= 0 or self._waiting >= GROUP:
            self._timer = loop.call_soon(self._start)
        else:
            self._timer = loop.call_later(wait, self._start)

    def forget(self, room: Committing) -> None:
        """Drop what waits of a room that reloads."""
        self._dirty.pop(room, None)

    async def drain(self) -> None:
        """Wait until everything admitted before now is committed or has failed."""
        if not self._busy and not self._dirty:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._drains.append((self._started + bool(self._dirty), future))
        await future

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._busy:
            return
        rooms: list[Committing] = []
        batch: list[Append] = []
        for room in self._dirty:
            append = room.take()
            if append is not None:
                rooms.append(room)
                batch.append(append)
        self._dirty.clear()
        self._waiting = 0
        if not batch:
            self._settle()
            return
        self._busy = True
        self._started += 1
        self._began = self._clock.monotonic()
        self.commits += 1
        self.updates += sum(len(append.entries) for append in batch)
        self._lane.submit(lambda: self._log.append(batch), lambda result: self._done(rooms, result))

    def _done(self, rooms: Sequence[Committing], result: list[int | None] | BaseException) -> None:
        self._busy = False
        self._finished += 1
        if isinstance(result, BaseException):
            self.failure = result if isinstance(result, LogFailed) else LogFailed(str(Unavailable()))
            self._probe_at = self._clock.monotonic() + PROBE_EVERY
            for room in rooms:
                room.failed(result)
        else:
            self.failure = None
            for room, head in zip(rooms, result, strict=True):
                if head is None:
                    room.conflicted()
                else:
                    room.moved(head)
        self._next(len(rooms))
        errors = [] if isinstance(result, BaseException) else self._release(rooms, result)
        self._settle()
        if errors:
            raise ExceptionGroup("rooms that could not release what they had committed", errors)

    def _release(self, rooms: Sequence[Committing], heads: list[int | None]) -> list[Exception]:
        """Each room for itself: one that can't go on is loaded anew from the log, and holds nobody else up."""
        errors = []
        for room, head in zip(rooms, heads, strict=True):
            if head is None:
                continue
            try:
                room.release()
            except Exception as error:
                room.failed(error)
                errors.append(error)
        return errors

    def _next(self, documents: int) -> None:
        """The next group starts before this one is fanned out, so that the disk is not kept waiting."""
        now = self._clock.monotonic()
        self._pause = pause(documents, now - self._began)
        if not self._dirty:
            return
        wait = self._began + self._pause - now
        if wait <= 0 or self._waiting >= GROUP:
            self._start()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(wait, self._start)

    def _settle(self) -> None:
        still = self._busy or bool(self._dirty)
        drains, self._drains = self._drains, []
        for target, future in drains:
            if still and target > self._finished:
                self._drains.append((target, future))
            elif not future.done():
                future.set_result(None)
