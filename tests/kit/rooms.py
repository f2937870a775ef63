"""Rooms over a real log, with peers that keep what they are handed. Owns no rule: the rooms are the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pycrdt import Doc, Text

from crdt_docs.ids import DocName, Part, TaskId, UserId, new_id
from crdt_docs.messages.ywebsocket import step1_frame, step2_frame, update_frame
from crdt_docs.rope import Rope
from crdt_docs.updates.parse import MAP_TYPE, Parsed, parse
from crdt_docs.updates.splice import Spliced, merge
from crdt_docs.updates.trim import trim
from server.domain.access import Principal, Role
from server.domain.clock import Clock, SystemClock
from server.domain.log import Snapshot
from server.rooms.compacting import Compacted, Offload
from server.rooms.connection import Connection
from server.rooms.gate import Gate
from server.rooms.lanes import ThreadLane
from server.rooms.limits import Limits
from server.rooms.registry import Rooms
from server.rooms.verdict import Shape
from server.store.log import SqliteLog

SHAPES: dict[Part, Shape] = {"main": Shape({"messages": MAP_TYPE}), "margin": Shape()}
ANN = Principal(UserId("ann"), "Ann", authenticated_at=1.0)
WEI = Principal(UserId("wei"), "Wei", authenticated_at=1.0)


Replica = Doc[Any]


class Inline:
    """The worker's work, done here."""

    async def parse(self, update: bytes) -> Parsed:
        await asyncio.sleep(0)
        return parse(update)

    async def compact(self, part: Part, update: Rope) -> Compacted:
        await asyncio.sleep(0)
        document = Spliced.load(trim(bytes(update)))
        gate = Gate(SHAPES[part])
        gate.restore(parse(document.full()))
        return Compacted([document.full()], document.dump_index(), gate.dump())

    async def fold(self, part: Part, snapshot: Snapshot | None, tail: Sequence[bytes]) -> Compacted:
        return await self.compact(part, Rope([merge([*(snapshot.parts if snapshot else ()), *tail])]))


class Peer:
    """A transport that keeps what it is handed, and a replica beside it."""

    def __init__(self, client: int) -> None:
        self.frames: list[bytes] = []
        self.closed: tuple[int, str] | None = None
        self.doc = Replica(client_id=client)
        self.text = self.doc.get("t", type=Text)
        self.connection: Connection

    def send(self, frame: bytes) -> None:
        assert self.closed is None, "nothing is handed over after a close"
        self.frames.append(frame)

    def close(self, code: int, why: str) -> None:
        self.closed = (code, why)

    def hear(self) -> None:
        for frame in self.frames:
            if frame[0] == 0 and frame[1] in (1, 2):
                self.doc.apply_update(_payload(frame))
        self.frames.clear()

    async def say(self, frame: bytes) -> None:
        wait = self.connection.receive(frame)
        if wait is not None:
            await wait

    async def greet(self) -> None:
        await self.say(step1_frame(self.doc.get_state()))
        await self.say(step2_frame(self.doc.get_update()))

    async def erase(self, at: int, count: int = 1) -> None:
        before = self.doc.get_state()
        del self.text[at : at + count]
        await self.say(update_frame(self.doc.get_update(before)))

    async def type(self, words: str) -> bytes:
        before = self.doc.get_state()
        self.text += words
        update = self.doc.get_update(before)
        await self.say(update_frame(update))
        return update


def _payload(frame: bytes) -> bytes:
    at = 2
    while frame[at] & 128:
        at += 1
    return frame[at + 1 :]


@asynccontextmanager
async def rooms_over(path: Path, limits: Limits | None = None, shared: bool = False) -> AsyncIterator[Rooms]:
    with SqliteLog(path, "process") as log:
        async with rooms_on(log, limits, shared) as rooms:
            yield rooms


@asynccontextmanager
async def rooms_on(
    log: SqliteLog,
    limits: Limits | None = None,
    shared: bool = False,
    offload: Offload | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Rooms]:
    async with (
        ThreadLane("write") as write,
        ThreadLane("read") as read,
        Rooms(
            log,
            offload or Inline(),
            clock or SystemClock(),
            SHAPES,
            write=write,
            read=read,
            limits=limits,
            shared=shared,
        ) as rooms,
    ):
        yield rooms


async def enter(rooms: Rooms, name: DocName, client: int, who: Principal = ANN, role: Role = Role.EDITOR) -> Peer:
    peer = Peer(client)
    peer.connection = await rooms.join(name, who, role, peer)
    await peer.greet()
    return peer


async def settled(rooms: Rooms) -> None:
    await rooms.writer.drain()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - what it waits for is not an event of ours
            await asyncio.sleep(0.005)


def new_name() -> DocName:
    return DocName(TaskId(new_id()))
