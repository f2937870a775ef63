"""Real rooms over the ledger, on virtual time, with everything around them that can fail."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from kit.ledger import Handle, Ledger
from kit.network import Wire
from kit.virtual_time import LoopClock

from crdt_docs.ids import DocName, Part
from crdt_docs.rope import Rope
from crdt_docs.updates.parse import Parsed, parse
from crdt_docs.updates.splice import merge
from server.domain.access import Principal, Role
from server.domain.errors import CLOSE, ClewError, Conflict, Forbidden, Unavailable
from server.domain.log import LogFailed, Snapshot
from server.engine.compaction import LENGTHS, compact
from server.engine.records import Parts
from server.rooms.compacting import Compacted
from server.rooms.gate import Gate
from server.rooms.limits import Limits
from server.rooms.registry import Rooms
from server.rooms.verdict import Shape

T = TypeVar("T")

A_START = 2.0
"""Seconds that a process takes to begin, at the least."""


class VirtualLane:
    """``server.rooms.lanes.Lane`` whose work takes virtual time. After ``kill`` nothing runs any more."""

    def __init__(self, loop: asyncio.AbstractEventLoop, draw: random.Random) -> None:
        self._loop = loop
        self._draw = draw
        self._free_at = 0.0
        self._dead = False

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run in order; the work happens at one moment and is reported at a later one."""
        took = self._draw.choice((0.0002, 0.001, 0.004, 0.03))
        self._free_at = max(self._free_at, self._loop.time()) + took
        self._loop.call_at(self._free_at, self._run, work, done)

    def kill(self) -> None:
        """The thread is gone: what was not done never will be, what was done is not reported as such."""
        self._dead = True

    def _run(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        result: T | BaseException
        try:
            result = LogFailed("crashed") if self._dead else work()
        except Exception as error:
            result = error
        self._loop.call_later(self._draw.choice((0.0, 0.0005, 0.01)), self._report, result, done)

    def _report(self, result: T | BaseException, done: Callable[[T | BaseException], None]) -> None:
        done(LogFailed("crashed") if self._dead else result)


class InlineOffload:
    """The rooms' ``Offload`` without processes: the same work, after a while, or not at all."""

    def __init__(self, draw: random.Random, failures: list[BaseException]) -> None:
        self._draw = draw
        self._failures = failures

    async def parse(self, update: bytes) -> Parsed:
        """Parse."""
        await asyncio.sleep(self._draw.uniform(0, 0.05))
        return parse(update)

    async def compact(self, part: Part, update: Rope) -> Compacted:
        """Compact; raises Unavailable now and then. What must never happen goes to ``failures``."""
        await asyncio.sleep(self._draw.uniform(0, 0.05))
        if self._draw.random() < 0.1:
            raise Unavailable("the worker died")
        try:
            made = compact(bytes(update), b"", (), f"{__name__}:gate_state")
        except Exception as error:
            self._failures.append(error)
            raise Conflict(str(error)) from error
        reply = Parts([made])
        state, index = map(reply.take, LENGTHS.unpack(reply.take(LENGTHS.size)))
        return Compacted(reply.rest(), index, state)

    async def fold(self, part: Part, snapshot: Snapshot | None, tail: Sequence[bytes]) -> Compacted:
        """Snapshot and tail in one, or not."""
        return await self.compact(part, Rope([merge([*(snapshot.parts if snapshot else ()), *tail])]))


SHAPES: dict[Part, Shape] = {
    "main": Shape({"t": 2, "m": 1, "a": 0, "x": 4}, frozenset(("paragraph", "heading")), frozenset(("bold",)))
}


def gate_state(parsed: Parsed) -> bytes:
    """The gate's state of a whole simulated document, as compaction stores it."""
    gate = Gate(SHAPES["main"])
    gate.restore(parsed)
    return gate.dump()


class SimulatedServer:
    """One server process: ``start``, then ``crash`` or ``stop``, and ``start`` again. Two may share a ledger."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        seed: str,
        ledger: Ledger,
        limits: Limits,
        roles: dict[str, Role],
        *,
        shared: bool,
    ) -> None:
        self.rooms: Rooms | None = None
        self.starts = 0
        self._loop = loop
        self._seed = seed
        self._ledger = ledger
        self._limits = limits
        self._roles = roles
        self._shared = shared
        self._wires: set[Wire] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self.failures: list[BaseException] = []

    async def start(self) -> None:
        """Begin a process over what the ledger holds."""
        self.starts += 1
        if self.starts > 1:
            await asyncio.sleep(A_START)
        draw = random.Random(f"{self._seed}/{self.starts}")
        self._handle = Handle(self._ledger)
        self._lanes = [VirtualLane(self._loop, random.Random(f"{self._seed}/{self.starts}/{n}")) for n in range(2)]
        self._stop = asyncio.Event()
        ready = asyncio.Event()
        self._task = self._loop.create_task(self._serve(draw, ready))
        await ready.wait()

    async def _serve(self, draw: random.Random, ready: asyncio.Event) -> None:
        write, read = self._lanes
        offload = InlineOffload(draw, self.failures)
        async with Rooms(
            self._handle,
            offload,
            LoopClock(self._loop),
            SHAPES,
            write=write,
            read=read,
            limits=self._limits,
            shared=self._shared,
        ) as rooms:
            self.rooms = rooms
            ready.set()
            await self._stop.wait()
            self.rooms = None

    async def crash(self) -> None:
        """kill -9: nothing more is written, nothing more is said."""
        self._handle.dead = True
        for lane in self._lanes:
            lane.kill()
        for wire in self._wires:
            wire.crash()
        await self.stop()

    async def stop(self) -> None:
        """Shut down properly (or, after a crash, clear away what is left)."""
        self._stop.set()
        await self._task
        await asyncio.gather(*self._pumps)

    def attach(self, wire: Wire, name: DocName, principal: Principal) -> None:
        """A socket arrives."""
        pump = self._loop.create_task(self._pump(wire, name, principal))
        self._pumps.add(pump)
        self._wires.add(wire)
        pump.add_done_callback(self._pumps.discard)
        pump.add_done_callback(lambda task: self._wires.discard(wire))

    async def _pump(self, wire: Wire, name: DocName, principal: Principal) -> None:
        try:
            if self.rooms is None:
                raise LogFailed("not up")
            role = self._roles.get(principal.user)
            if role is None:
                raise Forbidden
            connection = await self.rooms.join(name, principal, role, wire)
            connection.role = self._roles.get(principal.user, role)  # as Entry does: it may have changed meanwhile
        except ClewError as error:
            wire.close(CLOSE[error.code], error.why)
            return
        wire.connection = connection
        try:
            while (frame := await wire.frames.get()) is not None:
                wait = connection.receive(frame)
                if wait is not None:
                    await wait
        except Exception as error:
            self.failures.append(error)
            raise
        finally:
            connection.leave()
