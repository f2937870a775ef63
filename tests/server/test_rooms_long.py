"""Rooms of long documents: what is long is loaded, compacted and sent in slices, and says the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from kit.clock import FakeClock
from kit.log_entries import append, updates
from kit.raw_updates import section, string, update
from kit.rooms import ANN, SHAPES, Inline, Peer, enter, new_name, rooms_on, rooms_over, settled, until

from crdt_docs.ids import DocName, Part
from crdt_docs.messages.ywebsocket import update_frame
from crdt_docs.rope import Rope
from crdt_docs.updates.splice import MANY
from server.domain.access import Role
from server.domain.errors import Unavailable
from server.domain.log import CorruptLog
from server.rooms.compacting import Compacted
from server.rooms.compactions import Compactions
from server.rooms.lanes import ThreadLane
from server.rooms.limits import Limits
from server.rooms.registry import Rooms
from server.store.log import SqliteLog

SMALL = Limits(compact_tail=200)


async def write(path: Path, name: DocName, letters: int) -> str:
    """Type that many words, each an update of its own; what it says then."""
    async with rooms_over(path) as rooms:
        peer = await enter(rooms, name, 1)
        for at in range(letters):
            await peer.type(f"{at} ")
        await settled(rooms)
        return str(peer.text)


def in_log(path: Path, name: DocName) -> tuple[int, int]:
    """Up to where it is compacted, and how many updates follow."""
    while True:
        with SqliteLog(path) as log:
            try:
                opened = log.open(name)
            except CorruptLog:
                continue  # the rooms have replaced what this log of ours had seen
        return opened.snapshot.seq if opened.snapshot else 0, len(updates(opened))


async def test_a_long_tail_is_loaded_in_one_and_compacted_then(tmp_path: Path) -> None:
    path, name = tmp_path / "log.db", new_name()
    words = await write(path, name, 50)
    assert in_log(path, name) == (0, 50)
    async with rooms_over(path, SMALL) as rooms:
        peer = await enter(rooms, name, 2)
        peer.hear()
        assert str(peer.text) == words
        await peer.type("more")
        await settled(rooms)
        await until(lambda: in_log(path, name)[0] == 50)
    async with rooms_over(path) as rooms:
        peer = await enter(rooms, name, 3)
        peer.hear()
        assert str(peer.text) == words + "more"


async def test_what_is_at_rest_is_compacted_if_its_tail_is_worth_it(tmp_path: Path) -> None:
    path, brief, long = tmp_path / "log.db", new_name(), new_name()
    async with rooms_over(path, Limits(rest=0.1, rest_tail=300)) as rooms:
        for name, words in ((brief, 5), (long, 60)):
            peer = await enter(rooms, name, 1)
            for at in range(words):
                await peer.type(f"{at} ")
        await settled(rooms)
        await until(lambda: in_log(path, long) == (60, 0))
        assert in_log(path, brief) == (0, 5), "its turn came first, had it been worth it"
        await peer.type("more")
        await settled(rooms)
        late = await enter(rooms, long, 2)
        late.hear()
        assert str(late.text) == str(peer.text)


async def test_what_was_taken_out_again_weighs_what_it_was(tmp_path: Path) -> None:
    path, name = tmp_path / "log.db", new_name()
    async with rooms_over(path, Limits(rest=0.1, rest_tail=300)) as rooms:
        peer = await enter(rooms, name, 1)
        await peer.type("x" * 11_000)
        await until(lambda: in_log(path, name) == (1, 0))
        await peer.erase(0, 11_000)
        await settled(rooms)
        await until(lambda: in_log(path, name) == (2, 0))


class Failing(Inline):
    """Compacts nothing, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def compact(self, part: Part, update: Rope) -> Compacted:
        self.asked += 1
        raise Unavailable()


async def test_what_could_not_be_compacted_at_rest_is_not_tried_over_and_over(tmp_path: Path) -> None:
    offload, clock = Failing(), FakeClock()
    async with asyncio.TaskGroup() as tasks, ThreadLane("write") as write, ThreadLane("read") as read:
        with SqliteLog(tmp_path / "log.db", "process") as log:
            compactions = Compactions(log, offload, write, clock, tasks)
            async with Rooms(log, offload, clock, SHAPES, write=write, read=read) as rooms:
                peer = await enter(rooms, new_name(), 1)
                await peer.type("x" * 2 * Limits().rest_tail)
                await settled(rooms)
                for _ in range(5):
                    clock.advance(60)
                    compactions.look_round(rooms.live())
                    await until(lambda: offload.asked > 0)
                    await asyncio.sleep(0.01)
                assert offload.asked == 1


class Slow(Inline):
    """Compacts when it is let."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.compacting = asyncio.Semaphore(0)

    async def compact(self, part: Part, update: Rope) -> Compacted:
        self.begun.set()
        await self.compacting.acquire()
        return await super().compact(part, update)


async def test_a_tail_that_grew_too_long_during_a_compaction_is_compacted_next(tmp_path: Path) -> None:
    path, name, offload = tmp_path / "log.db", new_name(), Slow()
    with SqliteLog(path, "process") as log:
        async with rooms_on(log, SMALL, offload=offload) as rooms:
            peer = await enter(rooms, name, 1)
            for at in range(60):
                await peer.type(f"{at} ")
                if at == 30:
                    await settled(rooms)
                    (room,) = rooms.live()
                    assert room.since_compaction is not None
                    await asyncio.wait_for(offload.begun.wait(), 10)
            await settled(rooms)
            offload.compacting.release()
            await until(lambda: 0 < in_log(path, name)[0] < 60)
            offload.compacting.release()
            await until(lambda: in_log(path, name) == (60, 0))


async def test_nobody_who_stops_a_server_waits_for_a_compaction(tmp_path: Path) -> None:
    path, name = tmp_path / "log.db", new_name()
    with SqliteLog(path, "process") as log:
        async with asyncio.timeout(10), rooms_on(log, SMALL, offload=Slow()) as rooms:
            peer = await enter(rooms, name, 1)
            await peer.type("x" * 300)
            await settled(rooms)
            (room,) = rooms.live()
            assert room.since_compaction is not None
            await peer.type("more")
    assert in_log(path, name) == (0, 2)


async def test_a_log_with_a_gap_is_not_loaded_however_long_it_is(tmp_path: Path) -> None:
    path, name = tmp_path / "log.db", new_name()
    await write(path, name, 20)
    with SqliteLog(path) as log:
        opened = log.open(name)
        log.append([append(opened.doc, opened.head, update(section(99, 5, string("x", parent="t"))))])
    async with rooms_over(path, SMALL) as rooms:
        with pytest.raises(ValueError, match="gap|does not fit"):
            await rooms.join(name, ANN, Role.EDITOR, Peer(2))


async def test_who_joins_where_much_was_deleted_is_told_every_deletion(tmp_path: Path) -> None:
    path, name = tmp_path / "log.db", new_name()
    async with rooms_over(path) as rooms:
        writer = await enter(rooms, name, 1)
        before = writer.doc.get_state()
        writer.text += "ab" * (MANY + 50)
        await writer.say(update_frame(writer.doc.get_update(before)))
        half = Peer(7)
        half.doc.apply_update(writer.doc.get_update())
        with writer.doc.transaction():
            for at in range(MANY + 20):
                del writer.text[at + 1 : at + 2]
        await writer.say(update_frame(writer.doc.get_update(before)))
        await writer.type("end")
        await writer.erase(0)
        await settled(rooms)
        for client, had in ((2, None), (3, half.doc.get_update())):
            peer = Peer(client)
            if had is not None:
                peer.doc.apply_update(had)
            peer.connection = await rooms.join(name, ANN, Role.EDITOR, peer)
            await peer.greet()
            peer.hear()
            assert str(peer.text) == str(writer.text)
        await rooms.compact(name)
        late = await enter(rooms, name, 4)
        late.hear()
        assert str(late.text) == str(writer.text)
