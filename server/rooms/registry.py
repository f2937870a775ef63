"""All live rooms of this process. Owns their coming and going: lazy load, joins, idle eviction, revocation, compaction.

Must never let two rooms stand over one document: a slot holds the place before the first ``await``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import NamedTuple, Self

from crdt_docs.ids import DocName, Part, TaskId, TokenId, UserId
from crdt_docs.rope import Rope
from crdt_docs.updates.compose import Composer
from crdt_docs.updates.parse import Parsed, parse
from server.domain.access import Principal, Role, may_write
from server.domain.clock import Clock
from server.domain.errors import CLOSE, CLOSE_RESTART, Unavailable
from server.domain.log import DocKey, LogFailed, Snapshot, UpdateLog
from server.rooms import composing, delivering, lanes, slices
from server.rooms.around import Around
from server.rooms.compacting import Offload
from server.rooms.compactions import Compactions
from server.rooms.connection import Connection, Transport
from server.rooms.crowd import Crowds
from server.rooms.hearing import Heard, KeySet
from server.rooms.limits import Limits
from server.rooms.loading import build
from server.rooms.quota import Quotas
from server.rooms.revocations import Matches, Revocations
from server.rooms.room import Room
from server.rooms.slot import Slot
from server.rooms.sweeping import Moment, sweep
from server.rooms.verdict import Shape
from server.rooms.writer import Writer


class Read(NamedTuple):
    """A document at a moment."""

    seq: int
    generation: int
    rope: Rope
    quarantined: str | None

    @property
    def update(self) -> bytes:
        """All of it, copied in one go: of a long document, that holds everybody up."""
        return bytes(self.rope)


class Rooms:
    """Rooms by name; an async context manager that commits what it has and closes everyone on its way out."""

    def __init__(
        self,
        log: UpdateLog,
        offload: Offload,
        clock: Clock,
        shapes: Mapping[Part, Shape],
        *,
        write: lanes.Lane,
        read: lanes.Lane,
        limits: Limits | None = None,
        shared: bool = False,
    ) -> None:
        self.limits = limits or Limits()
        self.writer = Writer(log, write, clock)
        self._around = Around[Room](self.writer, self, clock, self.limits, Crowds())
        self._log = log
        self._offload = offload
        self._clock = clock
        self._shapes = shapes
        self._write = write
        self._read = read
        self._heard: list[Heard] = []
        self._slots: dict[DocName, Slot] = {}
        self._tasks = asyncio.TaskGroup()
        self._sweeper: asyncio.Task[None] | None = None
        self._compactions = Compactions(log, offload, write, clock, self._tasks)
        self._quotas = Quotas(clock)
        self._deliveries = delivering.Deliveries()
        self._revoked = Revocations()
        self._demoted = Revocations()
        self._closing = False
        self._shared = shared
        self._docs: dict[DocKey, Room] = {}
        self._unwatch: Callable[[], None] = lambda: None

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self._sweeper = self._tasks.create_task(self._sweep(), name="rooms: sweep")
        if self._shared:
            self._unwatch = self._log.watch(self._watched(asyncio.get_running_loop()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self._compactions.close()
        self._unwatch()
        await self.writer.drain()
        for room in self.live():
            room.dissolve(CLOSE_RESTART, "the server restarts")
        if self._sweeper is not None:
            self._sweeper.cancel()
        await self._tasks.__aexit__(kind, error, trace)

    # -- what callers do

    def tell(self, heard: Heard) -> None:
        """Let somebody know of every release from here on."""
        self._heard.append(heard)

    def live(self) -> list[Room]:
        """The rooms that are loaded."""
        return [room for slot in self._slots.values() if (room := slot.loaded) is not None]

    async def join(self, name: DocName, principal: Principal, role: Role, transport: Transport) -> Connection:
        """Let a peer into a document's room. The caller gives ``Connection.leave`` when the socket is gone."""
        async with self.room(name) as room:
            return self.let_in(room, principal, role, transport)

    def require_standing(self, principal: Principal, name: DocName) -> None:
        """Raise Forbidden for a principal that was authenticated before it was revoked."""
        self._revoked.check(principal, name)

    def let_in(self, room: Room, principal: Principal, role: Role, transport: Transport) -> Connection:
        """``join`` a room that is loaded, without waiting for anything."""
        self.require_standing(principal, room.name)
        if room.dead:
            raise Unavailable()
        connection = Connection(room, principal, role, transport)
        connection.quota = self._quotas.of(principal)
        room.join(connection)
        return connection

    async def read(self, name: DocName) -> Read:
        """The document as one v1 update, and the seq that it covers."""
        with self._using(name) as slot:
            room = await slot.room()
            return Read(room.head, room.generation, room.document.rope({}), room.quarantined)

    @asynccontextmanager
    async def room(self, name: DocName) -> AsyncIterator[Room]:
        """The document's room, which stays for the block."""
        with self._using(name) as slot:
            yield await slot.room()

    async def generation(self, name: DocName) -> int:
        """The document's generation: by which clients name their local copies."""
        with self._using(name) as slot:
            return (await slot.room()).generation

    async def compose(
        self,
        name: DocName,
        principal: Principal,
        build: Callable[[Composer], None],
        via: str = "http",
        *,
        fresh: bool = False,
    ) -> int:
        """Write on behalf of a principal, by the same road as a keystroke. Its seq, once it is durable.

        ``build`` gets a composer with the principal's own client id in this document, its clock reserved; it may be
        called twice and must do the same each time. ``fresh`` promises that no key it sets was ever set before, which
        saves reading the document for what is overwritten.
        Raises Forbidden if the principal was revoked meanwhile, Unavailable while nothing can be stored.
        """
        with self._using(name) as slot:
            room = await slot.room()
            for _ in range(composing.TRIES):
                before = composing.NOTHING if fresh else await composing.look_up(room, build)
                async with room.lock:
                    self._require_writer(principal, room)
                    if before.holds(room):
                        composing.compose(room, principal, before.entries, build, via, self._quotas.of(principal))
                        break
            else:
                raise Unavailable("others keep changing this; please try again")
            return await room.released()

    async def deliver(self, name: DocName, principal: Principal, update: bytes, generation: int) -> int:
        """Take what a principal wrote while nobody heard them, whole or not at all. The seq, once it is durable.

        Raises Invalid, TooLarge and Conflict for what can't be taken, TooMany, and as ``compose`` does.
        """
        with self._deliveries.begin(principal), self._using(name) as slot:
            room = await slot.room()
            parsed = await delivering.read(room, update)
            async with room.lock:
                verdict = await delivering.judge(room, principal, parsed, generation)
                self._require_writer(principal, room)
                delivering.submit(room, principal, verdict)
                await room.bring_ahead(verdict.parsed)
            return await room.released()

    def _require_writer(self, principal: Principal, room: Room) -> None:
        """Raise Forbidden for who was authenticated before a revocation or demotion, Unavailable in a dead room."""
        self._revoked.check(principal, room.name)
        self._demoted.check(principal, room.name)
        if room.dead:
            raise Unavailable()

    async def revoke(self, matches: Matches, code: int, why: str) -> None:
        """I5: once this returns, nothing of whom it matches is committed, and nothing is handed to its transport.

        The caller has stored the revocation already, so that nobody comes back by another door.
        """
        self._revoked.add(self._clock.monotonic(), matches, why)
        for room in self.live():
            for connection in tuple(room.connections):
                if matches(connection.principal, room.name):
                    connection.end(code, why)
        await self.writer.drain()

    async def change_role(self, task: TaskId, user: UserId, role: Role, until: float | None = None) -> None:
        """From its next frame on, the user's connections to the task have this role, or less by their credential.

        ``until`` (Unix seconds) is when they end, if they do.
        """

        def may_not_write(who: Principal, name: DocName) -> bool:
            mine = who.user == user and name.task == task
            return mine and not may_write(min(role, who.cap), name.part)

        why = "your role may not write here any more"
        self._demoted.add(self._clock.monotonic(), may_not_write, why, about=(task, user))
        for room in self.live():
            if room.name.task == task:
                for connection in tuple(room.connections):
                    if connection.principal.user == user:
                        connection.until = until
                        connection.change_role(min(role, connection.principal.cap))
        await self.writer.drain()

    def rename(self, user: UserId, name: str) -> None:
        """From here on a person is shown by that name; a page of theirs is told, and says anew that it is here."""
        for connection in [connection for room in self.live() for connection in room.connections]:
            if connection.principal.user == user and connection.principal.kind == "user":
                connection.principal = replace(connection.principal, name=name)
                connection.tell_page({"kind": "renamed", "name": name})

    def notify(self, matches: Callable[[Principal], bool], frame: bytes) -> None:
        """Say something to whom it matches, beside any document. It is said once to each of their connections."""
        for room in self.live():
            for connection in tuple(room.connections):
                if matches(connection.principal):
                    connection.send(frame)

    def regrant(self, task: TaskId, token: TokenId, role: Role, expires_at: float) -> None:
        """From its next frame on, a bearer's connections to the task have this role, and live until then."""
        for room in self.live():
            if room.name.task == task:
                for connection in tuple(room.connections):
                    if connection.principal.token == token:
                        connection.regrant(role, expires_at)

    async def close(self, task: TaskId, code: int, why: str) -> None:
        """Close everyone on a task and forget its rooms; for deletion."""
        for room in self.live():
            if room.name.task == task:
                room.dissolve(code, why)
        await self.writer.drain()

    async def delete(self, task: TaskId) -> None:
        """Remove a task's documents from the log for good."""
        await self.close(task, CLOSE["not_found"], "this task is gone")
        first, *more = (DocName(task, part) for part in self._shapes)
        await lanes.run(self._write, lambda: self._log.delete(first, *more))

    async def quarantine(self, name: DocName, reason: str | None) -> None:
        """Mark that projections of a document fail, or that they are well again. Its syncing goes on."""
        with self._using(name) as slot:
            room = await slot.room()
            await lanes.run(self._write, lambda: self._log.quarantine(room.doc, reason))
            room.quarantined = reason

    async def fork(self, name: DocName, snapshot: Snapshot, reason: str) -> int:
        """Begin a document's next generation from a snapshot; whoever is connected is closed 4404 with the reason."""
        with self._using(name) as slot:
            room = await slot.room()
            room.dissolve(CLOSE["not_found"], reason)
            await self.writer.drain()
            opened = await lanes.run(self._write, lambda: self._log.fork(name, snapshot, reason))
            return opened.generation

    async def compact(self, name: DocName) -> None:
        """Compact a document now."""
        with self._using(name) as slot:
            await self._compactions.compact(await slot.room())

    # -- loading and dropping

    @contextmanager
    def _using(self, name: DocName) -> Iterator[Slot]:
        if self._closing:
            raise Unavailable("the server restarts")
        slot = self._slots.get(name)
        if slot is None:
            slot = self._slots[name] = Slot()
            self._tasks.create_task(self._load(name, slot), name=f"rooms: load {name}")
        slot.users += 1
        try:
            yield slot
        finally:
            slot.users -= 1

    async def _load(self, name: DocName, slot: Slot) -> None:
        try:
            opened = await lanes.run(self._read, lambda: self._log.open(name))
            room = await build(name, opened, self._shapes[name.part], self._around, self._offload)
            if self._closing:  # all rooms are ended already, and nobody would end this one
                raise Unavailable("the server restarts")
        except Exception as error:
            if self._slots.get(name) is slot:
                del self._slots[name]  # the next join tries again; an empty room must never stand for a failed load
            slot.fail(error)
            return
        self._docs[room.doc] = room
        slot.fill(room)
        self._compactions.loaded(room)
        if self._shared:
            self.wants_rebase(room)  # what was appended since the log was read, nobody told us

    def drop(self, room: Room) -> None:
        """Forget a room that ended; the next join loads it anew."""
        slot = self._slots.get(room.name)
        if slot is not None and slot.loaded is room:
            del self._slots[room.name]
            self._docs.pop(room.doc, None)
            self._around.crowds.end(room.name, room.crowd, self._clock.now())

    # -- the room's host

    async def parse(self, update: bytes) -> Parsed:
        """Parse here if it is short, in a worker if it is long."""
        if len(update) <= self.limits.inline_frame:
            return parse(update)
        return await self._offload.parse(update)

    def heard(self, room: Room, edited: bool, keys: Sequence[KeySet]) -> None:
        """Something was committed."""
        for heard in self._heard:
            heard(room.name, room.head, edited, keys)

    def wants_compaction(self, room: Room) -> None:
        """Compact in the background."""
        self._compactions.want(room)

    def wants_rebase(self, room: Room) -> None:
        """Catch up with what others appended."""
        if not self._closing and not room.dead:
            self._tasks.create_task(self._rebase(room), name=f"rooms: rebase {room.name}")

    async def _rebase(self, room: Room) -> None:
        async with room.lock:
            try:
                after, expected = room.head, room.log_head
                tail = await lanes.run(self._read, lambda: self._log.tail(room.doc, after))
                if not room.dead:
                    room.rebase(tail, expected)
            except (LogFailed, Unavailable, OSError) as error:
                room.failed(error)

    def _watched(self, loop: asyncio.AbstractEventLoop) -> Callable[[DocKey, int], None]:
        def appended(doc: DocKey, head: int) -> None:
            if (room := self._docs.get(doc)) is not None:
                room.heard_of(head)

        def heard(doc: DocKey, head: int) -> None:
            loop.call_soon_threadsafe(appended, doc, head)

        return heard

    # -- housekeeping

    async def _sweep(self) -> None:
        kept = self._clock.monotonic()
        while True:
            await asyncio.sleep(1)
            now = self._clock.monotonic()
            for revocations in (self._revoked, self._demoted):
                revocations.forget(now - self.limits.revocation_memory)
            if keepalive := now - kept >= self.limits.keepalive:
                kept = now
            moment = Moment(now, self._clock.now(), keepalive)
            await slices.run(sweep(self.live(), moment, self._let_rest))
            self._compactions.look_round(self.live())

    def _let_rest(self, room: Room) -> None:
        slot = self._slots.get(room.name)
        idle = room.settled and self._clock.monotonic() - room.idle_since > self.limits.idle
        if slot is not None and not slot.users and idle and room.since_compaction is None:
            room.dissolve(CLOSE_RESTART, "idle")
