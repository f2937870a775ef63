"""People who come and go on one task, with several devices and an agent, over a real log, rooms and database.

Owns a composition without HTTP in which resumptions can be asked for at any moment. The engine's functions are the real
ones, called here; what they do in their own process is not what these tests are about.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from kit.app_under_test import SHAPES, Inline
from kit.clock import FakeClock
from pycrdt import Doc

from crdt_docs.ids import DeviceId, DocName, TaskId
from crdt_docs.messages.ywebsocket import step1_frame, step2_frame, update_frame
from crdt_docs.rope import Rope
from crdt_docs.schema import seed_update
from crdt_docs.updates.parse import Id
from crdt_docs.working_set import WorkingSet
from server.domain.access import Principal, Role
from server.domain.language import Language
from server.domain.resumption import Told
from server.engine import changes, judging, projections
from server.engine.pool import Changed
from server.http.reader import Reader
from server.http.resumptions import Resumptions, Sources
from server.rooms.authors import Authors
from server.rooms.connection import Connection
from server.rooms.lanes import ThreadLane
from server.rooms.looking import Looking
from server.rooms.registry import Rooms
from server.store.log import SqliteLog
from server.store.nouns import Nouns, open_nouns

TASK = "Acme contract revision"


@dataclass
class EngineHere:
    """The engine's jobs, done at once; counts what it was asked."""

    asked: list[str] = field(default_factory=list)

    async def project(self, update: bytes | Rope, document: Hashable = None, seq: int = 0) -> dict[str, Any]:
        self.asked.append("project")
        made: dict[str, Any] = json.loads(projections.project(bytes(update)))
        return made

    async def changes(self, update: bytes | Rope, since: bytes, cuts: Sequence[Id]) -> Changed:
        self.asked.append("changes")
        return Changed(*marshal.loads(changes.changes(bytes(update), since, cuts)))

    async def judge(self, summary: str, ledger: Sequence[Mapping[str, Any]], source: str) -> bool:
        self.asked.append("judge")
        return bool(judging.judge(summary, ledger, source))

    async def export(self, update: bytes | Rope, kind: str, title: str) -> bytes:
        raise NotImplementedError

    async def profile(self, update: bytes | Rope) -> Any:
        raise NotImplementedError

    def forget(self, document: Hashable) -> None:
        pass


class Device:
    """One device of somebody's, with a replica that outlives its connections."""

    def __init__(self, bench: Bench, who: Principal, client: int) -> None:
        self.who = who
        self.doc: Doc[Any] = Doc(client_id=client)
        self.work = WorkingSet(self.doc, who.name, lambda: int(bench.clock.now() * 1000))
        self.connection: Connection | None = None
        self._bench = bench
        self._frames: list[bytes] = []
        self._known = self.doc.get_state()

    def send(self, frame: bytes) -> None:
        self._frames.append(frame)

    def close(self, code: int, why: str) -> None:
        self.connection = None

    async def open(self) -> Self:
        """Connect, and take in what is there."""
        bench = self._bench
        await bench.looking.arrives(self.who, bench.name)
        self.connection = await bench.rooms.join(bench.name, self.who, Role.EDITOR, self)
        await self._say(step1_frame(self.doc.get_state()))
        self.hear()
        await self._say(step2_frame(self.doc.get_update()))
        await bench.rooms.writer.drain()
        self.hear()
        return self

    async def do(self, what: Callable[[WorkingSet], Any]) -> Any:
        """Change something, and send it if connected; what was made."""
        self.hear()
        before = self.doc.get_state()
        made = what(self.work)
        if self.connection is not None:
            await self._say(update_frame(self.doc.get_update(before)))
            await self._bench.rooms.writer.drain()
        return made

    async def leave(self, *, abruptly: bool = False) -> None:
        """The socket closes; abruptly: without a word, as when a lid is shut."""
        assert self.connection is not None
        connection, self.connection = self.connection, None
        if not abruptly:
            connection.bid_farewell()
        connection.leave()
        await self._bench.looking.left(connection)

    def hear(self) -> None:
        """Take in what came."""
        for frame in self._frames:
            if frame[0] == 0 and frame[1] in (1, 2):
                self.doc.apply_update(_payload(frame))
        self._frames.clear()

    async def speak(self) -> None:
        """A sign of life, such as presence sends."""
        await self._say(b"\x64\x01")

    async def _say(self, frame: bytes) -> None:
        assert self.connection is not None
        wait = self.connection.receive(frame)
        if wait is not None:
            await wait


@dataclass
class Bench:
    """A server without a network, and one task on it."""

    nouns: Nouns
    log: SqliteLog
    rooms: Rooms
    looking: Looking
    resumptions: Resumptions
    engine: EngineHere
    clock: FakeClock
    task: TaskId = TaskId("")
    _clients: int = 1_000

    @property
    def name(self) -> DocName:
        return DocName(self.task)

    async def person(self, name: str, device: str, client: int | None = None) -> Device:
        """A device of that name of that person, who is a member of the task."""
        user = await self.nouns.users.ensure(name, self.clock.now())
        if await self.nouns.tasks.role(user.id, self.task) is None:
            await self.nouns.tasks.add_member(self.task, user.id, Role.EDITOR, self.clock.now())
        known = {one.name: one for one in await self.nouns.devices.of_user(user.id)}
        kept = known.get(device) or await self.nouns.devices.add(user.id, device, "browser", self.clock.now())
        return self._device(Principal(user.id, name, device=kept.id), client)

    async def agent(self, name: str, user: Device) -> Device:
        """An agent that acts for somebody."""
        agent = await self.nouns.agents.ensure(None, name, self.clock.now())
        return self._device(Principal(user.who.user, name, kind="agent", agent=agent.id))

    async def script(self, user: Device) -> Device:
        """What lives by a new bearer of somebody's, without a device."""
        now = self.clock.now()
        token, _ = await self.nouns.tokens.issue(user.who.user, role=Role.EDITOR, at=now, expires_at=now + 10**6)
        return self._device(Principal(user.who.user, user.who.name, token=token.id))

    def _device(self, who: Principal, client: int | None = None) -> Device:
        self._clients += 1
        return Device(self, who, client or self._clients)

    async def resume(self, device: Device, language: Language = "en") -> Told:
        """What somebody is told."""
        return await self.resumptions.of(self.task, TASK, language, device.who)

    def forget(self) -> None:
        """Keep nothing of what was told."""
        sources = self.resumptions._from
        self.resumptions = Resumptions(sources, self.clock)

    async def changes(self, device: Device) -> list[tuple[str, str, str, str | None, str | None, str | None]]:
        """(what, kind, text, by, device, agent) of what somebody is told has changed."""
        return [
            (one["what"], one["kind"], one["text"], one["by"], one["device"], one["agent"])
            for one in (await self.resume(device)).resumption.facts.changes
        ]


@asynccontextmanager
async def bench_over(folder: Path, task: TaskId | None = None, clock: FakeClock | None = None) -> AsyncIterator[Bench]:
    """Open a data folder; without a task a new one is begun by a user called owner."""
    clock, engine = clock or FakeClock(), EngineHere()
    async with AsyncExitStack() as stack:
        nouns = await stack.enter_async_context(open_nouns(folder))
        write = await stack.enter_async_context(ThreadLane("write"))
        read = await stack.enter_async_context(ThreadLane("read"))
        log = stack.enter_context(SqliteLog(folder / "log.db", "process"))
        rooms = await stack.enter_async_context(Rooms(log, Inline(), clock, SHAPES, write=write, read=read))
        reader = await stack.enter_async_context(Reader(rooms, engine))
        looking = Looking(rooms, log, read, nouns.looks, clock)
        resumptions = Resumptions(Sources(reader, looking, Authors(rooms, log, read), nouns.names, nouns.turns), clock)
        bench = Bench(nouns, log, rooms, looking, resumptions, engine, clock)
        if task is None:
            owner = await nouns.users.ensure("owner", clock.now())
            task = (await nouns.tasks.create(owner.id, TASK, clock.now())).id
            bench.task = task
            seeder = Device(bench, Principal(owner.id, "owner", device=DeviceId("none")), 1)
            seeder.doc.apply_update(seed_update(999, name=TASK, document="d1", title="Draft"))
            await seeder.open()
            await seeder.leave()
        bench.task = task
        yield bench


def _payload(frame: bytes) -> bytes:
    at = 2
    while frame[at] & 128:
        at += 1
    return frame[at + 1 :]
