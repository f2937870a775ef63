"""Plain edits by index that cut emoji in two, through rooms, log and compaction, and through a running server.

An index counts UTF-16 units, so ``insert``, ``delete`` and ``format`` may fall between the halves of a pair; yjs then
writes U+FFFD in both places. Yjs alone judges here: yrs does not cut a pair, and is asked only where none was cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from kit import pycrdt_edits
from kit.node_clients import NodeClients, node_clients
from kit.rooms import ANN, new_name, rooms_on, rooms_over, settled
from kit.served import Served, serve
from kit.yjs_oracle import Generated, Loaded, YjsOracle

from crdt_docs.ids import DocName, TaskId
from crdt_docs.messages.vocabulary import SyncStep1, SyncStep2, Update
from crdt_docs.messages.ywebsocket import EMPTY_STEP2, decode_reply, step1_frame, step2_frame, update_frame
from crdt_docs.updates.parse import parse
from crdt_docs.updates.splice import Spliced, delete_set
from crdt_docs.updates.vectors import decode_state_vector, encode_state_vector
from server.domain.access import Role
from server.rooms.connection import Connection
from server.rooms.registry import Rooms
from server.store.log import SqliteLog

pytestmark = pytest.mark.node

DOCUMENTS = 240
WHOLE = 80
PORTION = 80
PARTIES = 4
PLAIN: dict[str, Any] = {"cleanup": False}
"""Yjs tidies formats after a remote transaction, so that what is deleted depends on how updates were batched."""


class Reader:
    """A transport, and all updates that its peer was handed in its life, over as many connections as it took."""

    def __init__(self, rooms: Rooms, name: DocName) -> None:
        self.taken: list[bytes] = []
        self._rooms = rooms
        self._name = name
        self._known = Spliced()
        self._connection: Connection | None = None

    def send(self, frame: bytes) -> None:
        match decode_reply(frame):
            case SyncStep2(update) | Update(update):
                self.taken.append(update)
                with suppress(ValueError):  # where something is missing before it; yjs says so in the end
                    self._known.add(parse(update))
            case SyncStep1() if self._connection is not None:
                self._connection.receive(EMPTY_STEP2)

    def close(self, code: int, why: str) -> None:
        assert (code, why) == (1012, "the server restarts")

    async def come(self) -> None:
        """Join with what it knows."""
        self._connection = await self._rooms.join(self._name, ANN, Role.EDITOR, self)
        await self.say(step1_frame(encode_state_vector(self._known.state_vector)))

    async def say(self, frame: bytes) -> None:
        assert self._connection is not None
        if (wait := self._connection.receive(frame)) is not None:
            await wait

    def leave(self) -> None:
        """Hear nothing from here on."""
        if self._connection is not None:
            self._connection.leave()
            self._connection = None

    async def turn(self) -> None:
        """Leave if it is here, come back if it is not."""
        if self._connection is None:
            await self.come()
        else:
            self.leave()


class Round(NamedTuple):
    """A document by all the roads that lead to it; each is a list of updates."""

    seed: int
    made: Generated
    name: DocName
    along: Reader
    away: Reader

    def roads(self, log: SqliteLog, read: bytes) -> list[list[bytes]]:
        opened = log.open(self.name)
        assert opened.snapshot is not None
        stored = [opened.snapshot.whole().update, *(logged.update for logged in opened.tail)]
        return [self.made.updates, self.along.taken, self.away.taken, stored, [read]]


async def play(rooms: Rooms, yjs: YjsOracle, seed: int, split: bool) -> Round:
    """Say a document's updates one by one while readers come and go; compact at two moments, typing on meanwhile."""
    r = Random(seed)
    gc = r.random() < 0.7
    made = yjs.generate(seed, clients=r.randint(1, 4), steps=r.randint(10, 70), split=split, gc=gc)
    name = new_name()
    along, away, writer = Reader(rooms, name), Reader(rooms, name), Reader(rooms, name)
    await along.come()
    await writer.come()
    moments = {r.randint(0, len(made.updates)) for _ in range(2)}
    async with asyncio.TaskGroup() as compactions:
        for at, update in enumerate(made.updates):
            if at in moments:
                compactions.create_task(rooms.compact(name))
            if r.random() < 0.2:
                await away.turn()
            if r.random() < 0.3:
                await settled(rooms)
            await writer.say((step2_frame if r.random() < 0.2 else update_frame)(update))
    await settled(rooms)
    if len(made.updates) in moments:
        await rooms.compact(name)
    away.leave()
    await away.come()
    for reader in (along, away, writer):
        reader.leave()
    return Round(seed, made, name, along, away)


async def play_all(
    path: Path, yjs: YjsOracle, seeds: Sequence[int], split: bool
) -> list[tuple[Round, list[list[bytes]]]]:
    """Play these, and read each from the log again as a new process would."""
    async with rooms_over(path) as rooms:
        rounds = [await play(rooms, yjs, seed, split) for seed in seeds]
    with SqliteLog(path, "process") as log:
        async with rooms_on(log) as rooms:
            return [(one, one.roads(log, (await rooms.read(one.name)).update)) for one in rounds]


def assert_one_document(yjs: YjsOracle, one: Round, roads: list[list[bytes]]) -> Loaded:
    """Yjs makes the same of every road; what it makes."""
    truth, *others = yjs.load_each(roads, one.made.roots, **PLAIN)
    assert not truth.pending
    for number, other in enumerate(others, 1):
        where = f"seed {one.seed}, road {number}"
        assert not other.pending, where
        assert other.state_vector == truth.state_vector, where
        assert other.json == truth.json, where
        assert other.deletes == truth.deletes, where
    return truth


@pytest.mark.parametrize("first", range(0, DOCUMENTS, PORTION))
async def test_log_snapshot_with_tail_and_readers_are_one_document_where_pairs_are_split(
    tmp_path: Path, yjs: YjsOracle, first: int
) -> None:
    split = 0
    for one, roads in await play_all(tmp_path / "log.db", yjs, range(first, first + PORTION), True):
        split += "\ufffd" in str(assert_one_document(yjs, one, roads).json)
    assert split > PORTION / 4, "the documents have grown tame"


@pytest.mark.parametrize("first", range(DOCUMENTS, DOCUMENTS + WHOLE, PORTION))
async def test_where_no_pair_is_split_pycrdt_says_the_same(tmp_path: Path, yjs: YjsOracle, first: int) -> None:
    for one, roads in await play_all(tmp_path / "log.db", yjs, range(first, first + PORTION), False):
        truth = assert_one_document(yjs, one, roads)
        assert "\ufffd" not in str(truth.json)
        assert_one_in_pycrdt(one, roads, truth)


def assert_one_in_pycrdt(one: Round, roads: list[list[bytes]], truth: Loaded) -> None:
    (doc, seen), *others = [pycrdt_edits.load(road) for road in roads]
    for number, (other, view) in enumerate(others, 1):
        where = f"seed {one.seed}, road {number}"
        assert repr(view) == repr(seen), where  # repr, because NaN is not equal to itself
        assert decode_state_vector(other.get_state()) == truth.state_vector, where
        assert delete_set(other.get_update()) == delete_set(doc.get_update()), where
    assert words(part for part, _ in seen["body"]) == words(part["insert"] for part in truth.json["body"]["text"])


def words(parts: Iterable[Any]) -> str:
    return "".join(part for part in parts if isinstance(part, str))


class Party:
    """Stock clients on one task, who scribble at once, some of them offline for a while."""

    def __init__(self, clients: NodeClients, served: Served, yjs: YjsOracle, seed: int) -> None:
        self.clients = clients
        self.served = served
        self.task = served.new_task()
        self.names: list[str] = []
        self._yjs = yjs
        self._random = Random(seed)
        self._seed = seed

    async def begin(self) -> None:
        """Three come and edit, the server compacts, somebody new reads what they read."""
        for name in ("ann", "wei", "li"):
            await self.open(name)
        await self.part()
        texts = await self.settle()
        assert "\ufffd" in str(texts["plain"]) and "\ufffd" in str(texts["rich"])
        await self.paste()
        await self.part()
        await self.open("late")
        await self.settle()

    async def end(self) -> dict[str, Any]:
        """More of it, and one more who is new; the texts."""
        await self.part()
        await self.open("later")
        return await self.settle()

    async def open(self, who: str) -> None:
        """One more client."""
        name = f"{who} of seed {self._seed}"
        self.names.append(name)
        await self.clients.open(name, self.served.server.port, self.task, self.served.token)
        await self.clients.until(name, lambda seen: bool(seen["synced"]))

    async def scribble(self) -> None:
        """Everybody edits at once."""
        seeds = [self._random.randrange(2**32) for _ in self.names]
        await asyncio.gather(
            *(
                self.clients.do("scribble", name, seed=seed, edits=12, every=8)
                for name, seed in zip(self.names, seeds, strict=True)
            )
        )

    async def part(self) -> None:
        """Two stretches, each with somebody offline, who come back while all go on."""
        for _ in range(2):
            gone = self._random.sample(self.names, self._random.randint(1, 2))
            for name in gone:
                await self.clients.do("disconnect", name)
            await self.scribble()
            for name in gone:
                await self.clients.do("connect", name)
            await self.scribble()

    async def paste(self) -> None:
        """What brings the server to compact: almost too much, out again, and then a little; and wait until it has."""
        for length in (1_000_000, 0, 100_000):
            await self.clients.do("paste", self.names[0], length=length)
            await self.scribble()
        async with asyncio.timeout(20):
            while len(await asyncio.to_thread(self.served.api.export, self.task)) > 1_000_000:  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    async def settle(self) -> dict[str, Any]:
        """Wait until all have all; the texts, which they and the exported document show alike."""
        for name in self.names:
            await self.clients.until(name, lambda seen: bool(seen["synced"]))
        for _ in range(2):  # the second is answered after what the first made sure of
            for number, name in enumerate(self.names, 1):
                await self.clients.do("barrier", name, number=number)
        async with asyncio.timeout(20):  # yjs tidies formats when it hears of them, and says so in turn
            while True:
                seen = [await self.clients.do("look", name) for name in self.names]
                exported = self.read([await asyncio.to_thread(self.served.api.export, self.task)])
                if all(one["texts"] == exported.json for one in seen):
                    break
                await asyncio.sleep(0.1)
        vector = {str(client): clock for client, clock in exported.state_vector.items()}
        assert all(one["vector"] == vector and not one["pending"] for one in seen)
        return exported.json

    def read(self, updates: list[bytes]) -> Loaded:
        """The texts as a fresh yjs reads them."""
        loaded = self._yjs.load(updates, {"plain": "text", "rich": "text"}, **PLAIN)
        assert not loaded.pending
        return loaded


async def restart(served: Served, end: Callable[[], int], parties: list[Party]) -> None:
    """End the server and start it again, while everybody goes on."""
    await asyncio.to_thread(end)
    await asyncio.gather(asyncio.to_thread(served.server.start), *(party.scribble() for party in parties))
    await asyncio.gather(*(party.settle() for party in parties))


@pytest.mark.own_server
@pytest.mark.timeout(240)
async def test_stock_clients_that_split_pairs_all_read_the_same_and_so_does_whoever_comes(
    tmp_path: Path, yjs: YjsOracle
) -> None:
    with serve(tmp_path) as served:
        async with node_clients() as clients:
            parties = [Party(clients, served, yjs, seed) for seed in range(PARTIES)]
            await asyncio.gather(*(party.begin() for party in parties))
            await restart(served, served.server.kill, parties)
            await restart(served, served.server.stop, parties)
            texts = [await party.end() for party in parties]
        data = served.server.data
    with SqliteLog(data / "log.db", "full") as log:
        for party, seen in zip(parties, texts, strict=True):
            opened = log.open(DocName(TaskId(party.task)))
            assert opened.snapshot is not None
            stored = [opened.snapshot.whole().update, *(logged.update for logged in opened.tail)]
            assert party.read(stored).json == seen
