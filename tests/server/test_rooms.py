"""Rooms over a real log: the path of an update, receipts, gaps, parked readers, revocation, compaction, failures."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pycrdt import Doc, Map, Text

from crdt_docs.ids import DocName, Part, TaskId, UserId, new_id
from crdt_docs.messages.ywebsocket import EMPTY_STEP1, EMPTY_STEP2, step1_frame, step2_frame, update_frame
from crdt_docs.updates.compose import Composer
from crdt_docs.updates.parse import MAP_TYPE, Parsed, parse
from crdt_docs.updates.splice import Spliced
from crdt_docs.updates.trim import trim
from crdt_docs.updates.vectors import encode_state_vector
from server.domain.access import Principal, Role
from server.domain.clock import SystemClock
from server.domain.errors import Forbidden, Unavailable
from server.rooms.compacting import Compacted
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

    async def compact(self, part: Part, update: bytes) -> Compacted:
        await asyncio.sleep(0)
        document = Spliced.load(trim(update))
        gate = Gate(SHAPES[part])
        gate.restore(parse(document.full()))
        return Compacted(document.full(), document.dump_index(), gate.dump())


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
async def rooms_on(log: SqliteLog, limits: Limits | None = None, shared: bool = False) -> AsyncIterator[Rooms]:
    async with (
        ThreadLane("write") as write,
        ThreadLane("read") as read,
        Rooms(log, Inline(), SystemClock(), SHAPES, write=write, read=read, limits=limits, shared=shared) as rooms,
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


async def test_an_update_reaches_everyone_and_its_sender_after_its_commit(tmp_path: Path) -> None:
    name = new_name()
    async with rooms_over(tmp_path / "log.db") as rooms:
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2, WEI)
        one.frames.clear()
        two.frames.clear()
        update = await one.type("hello")
        assert one.frames == two.frames == []
        await settled(rooms)
        assert one.frames == two.frames == [update_frame(update)]
        rows = sqlite3.connect(tmp_path / "log.db").execute("select 1 from sqlite_master").fetchall()
        assert rows


async def test_a_joiner_gets_a_step2_first_then_our_step1_and_is_complete(tmp_path: Path) -> None:
    name = new_name()
    async with rooms_over(tmp_path / "log.db") as rooms:
        one = await enter(rooms, name, 1)
        assert one.frames[:2] == [EMPTY_STEP2, EMPTY_STEP1]
        await one.type("hello")
        two = Peer(2)
        two.connection = await rooms.join(name, WEI, Role.EDITOR, two)
        await settled(rooms)
        assert two.frames == []
        await two.greet()
        two.hear()
        assert str(two.text) == "hello"


async def test_what_was_said_is_there_after_a_restart(tmp_path: Path) -> None:
    name = new_name()
    async with rooms_over(tmp_path / "log.db") as rooms:
        one = await enter(rooms, name, 1)
        for word in ("a", "b", "c"):
            await one.type(word)
        await settled(rooms)
    assert one.closed == (1012, "the server restarts")
    async with rooms_over(tmp_path / "log.db") as rooms:
        assert (await rooms.read(name)).seq == 3
        two = await enter(rooms, name, 2)
        two.hear()
        assert str(two.text) == "abc"


async def test_a_barrier_is_answered_when_all_before_it_is_durable(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        one = await enter(rooms, new_name(), 1)
        one.frames.clear()
        update = await one.type("x")
        await one.say(b"\x64\x05")
        assert one.frames == []
        await settled(rooms)
        assert one.frames == [update_frame(update), b"\x64\x05"]


async def test_a_barrier_waits_while_our_step1_is_unanswered(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        one = Peer(1)
        one.connection = await rooms.join(new_name(), ANN, Role.EDITOR, one)
        await one.say(step1_frame(one.doc.get_state()))
        await one.say(b"\x64\x01")
        assert b"\x64\x01" not in one.frames
        await one.say(EMPTY_STEP2)
        assert one.frames[-1] == b"\x64\x01"


async def test_a_known_update_is_receipted_but_not_fanned_out_again(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2)
        update = await one.type("x")
        await settled(rooms)
        one.frames.clear()
        two.frames.clear()
        await one.say(update_frame(update))
        assert one.frames == [update_frame(update)]
        assert two.frames == []


async def test_keystrokes_before_our_step1_is_answered_are_dropped_and_come_by_the_step2(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = Peer(1), await enter(rooms, name, 2)
        one.text += "offline "
        one.connection = await rooms.join(name, ANN, Role.EDITOR, one)
        await one.type("early")
        await one.say(step1_frame(one.doc.get_state()))
        await one.say(step2_frame(one.doc.get_update()))
        await settled(rooms)
        two.hear()
        assert str(two.text) == "offline early"
        assert one.closed is None


async def test_a_gap_after_an_answered_step1_provokes_one_new_step1(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        one = await enter(rooms, new_name(), 1)
        one.frames.clear()
        one.text += "lost"
        await one.type("a")
        await one.type("b")
        assert one.frames == [EMPTY_STEP1]
        await one.say(step2_frame(one.doc.get_update()))
        await settled(rooms)
        assert str(one.text) == "lostab"
        assert one.connection.room.gate.state_vector == {1: 6}


async def test_three_step2s_that_admit_nothing_after_provoked_resyncs_end_the_connection(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        one = await enter(rooms, new_name(), 1)
        one.text += "a"
        before = one.doc.get_state()
        one.text += "b"
        late = one.doc.get_update(before)
        for _ in range(3):
            assert one.closed is None
            await one.say(update_frame(late))
            await one.say(step2_frame(late))
        assert one.closed == (4500, "the gap in what you sent does not close")


async def test_what_a_step2_lacked_is_asked_for_when_it_arrives(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2, WEI)
        first = Replica(client_id=1)
        first["t"] = text = Text()
        text += "a"
        two.doc.apply_update(first.get_update())
        two.text.insert(1, "b")
        await two.say(step2_frame(two.doc.get_update(first.get_state())))
        two.frames.clear()
        await one.say(update_frame(first.get_update()))
        await settled(rooms)
        asked = step1_frame(encode_state_vector({1: 1}))
        assert asked in two.frames
        await two.say(step2_frame(two.doc.get_update(first.get_state())))
        await settled(rooms)
        one.hear()
        assert str(one.text) == "ab"


async def test_a_viewers_update_and_step2_change_nothing(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2, WEI, Role.VIEWER)
        await two.type("mine")
        await two.say(step2_frame(two.doc.get_update()))
        await settled(rooms)
        assert (await rooms.read(name)).seq == 0
        assert any(frame[0] == 0x65 for frame in two.frames)
        assert two.closed is None
        one.hear()
        assert str(one.text) == ""


async def test_a_commenter_writes_the_margin_and_not_the_main_document(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        main = new_name()
        margin = DocName(main.task, "margin")
        for name, seq in ((main, 0), (margin, 1)):
            peer = await enter(rooms, name, 3, WEI, Role.COMMENTER)
            await peer.type("x")
            await settled(rooms)
            assert (await rooms.read(name)).seq == seq


async def test_a_role_change_is_in_force_from_the_next_frame(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        peer = await enter(rooms, name, 1, WEI)
        await peer.type("a")
        await rooms.change_role(name.task, WEI.user, Role.VIEWER)
        await peer.type("b")
        await settled(rooms)
        assert (await rooms.read(name)).seq == 1


async def test_anothers_client_id_is_refused_4409_and_its_owner_goes_on(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2, WEI)
        await one.type("a")
        await settled(rooms)
        fake = Replica(client_id=1)
        fake["t"] = text = Text()
        text += "zz"
        await two.say(update_frame(fake.get_update()))
        assert two.closed is not None
        assert two.closed[0] == 4409
        await one.type("b")
        await settled(rooms)
        assert (await rooms.read(name)).seq == 2


async def test_claims_outlive_a_restart(tmp_path: Path) -> None:
    name = new_name()
    async with rooms_over(tmp_path / "log.db") as rooms:
        one = await enter(rooms, name, 1)
        await one.type("a")
        await settled(rooms)
    async with rooms_over(tmp_path / "log.db") as rooms:
        two = await enter(rooms, name, 2, WEI)
        one.text += "b"
        await two.say(update_frame(one.doc.get_update()))
        assert two.closed is not None
        assert two.closed[0] == 4409


@pytest.mark.parametrize("frame", [b"\x00\x02\x05abc", b"\x82\x00", b"\x09", b"\x00\x02\x02\x00\x00\x00", b""])
async def test_malformed_bytes_close_4400_and_harm_nobody_else(tmp_path: Path, frame: bytes) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2)
        await two.say(frame)
        assert two.closed is not None
        assert two.closed[0] == 4400
        await one.type("a")
        await settled(rooms)
        assert (await rooms.read(name)).seq == 1


async def test_i5_nothing_of_a_revoked_party_is_committed_or_handed_over_once_revoke_returned(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2, WEI)
        await two.type("before")
        await rooms.revoke(lambda who, _: who.user == WEI.user, 4403, "revoked")
        seq = (await rooms.read(name)).seq
        assert two.closed == (4403, "revoked")
        await two.type("after")
        await one.type("x")
        await settled(rooms)
        assert (await rooms.read(name)).seq == seq + 1
        with pytest.raises(Forbidden):
            await rooms.join(name, WEI, Role.EDITOR, Peer(9))
        with pytest.raises(Forbidden):
            await rooms.compose(name, WEI, lambda composer: composer.set("meta", "a", 1))
        later = Principal(WEI.user, "Wei", authenticated_at=SystemClock().monotonic())
        assert (await enter(rooms, name, 10, later)).closed is None


async def test_a_composed_write_takes_the_same_road_and_wins_over_what_it_overwrites(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one = await enter(rooms, name, 2**31)

        def call(composer: Composer, word: str) -> None:
            composer.set("meta", "name", word)

        assert await rooms.compose(name, ANN, lambda composer: call(composer, "first")) == 1
        await rooms.compose(name, WEI, lambda composer: call(composer, "second"))
        await rooms.compose(name, ANN, lambda composer: call(composer, "third"))
        one.hear()
        assert one.doc.get("meta", type=Map[Any]).to_py() == {"name": "third"}
        assert len([claim for claim in one.connection.room.gate.claims.values() if claim.composed]) == 2


async def test_a_parked_reader_is_handed_nothing_and_goes_on_from_where_it_was(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2)
        await one.type("seen ")
        await settled(rooms)
        two.connection.pause()
        handed = len(two.frames)
        for word in ("a", "b", "c"):
            await one.type(word)
            await settled(rooms)
        await two.say(b"\x64\x01")
        assert len(two.frames) == handed
        two.connection.resume()
        two.hear()
        assert str(two.text) == "seen abc"
        await one.type("!")
        await settled(rooms)
        two.hear()
        assert str(two.text) == "seen abc!"


async def test_a_reader_parked_over_its_time_is_closed_1013_and_the_others_lose_nothing(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db", Limits(parked=0.5)) as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2)
        two.connection.pause()
        await until(lambda: two.closed is not None)
        assert two.closed == (1013, "slow reader")
        await one.type("a")
        await settled(rooms)
        one.hear()
        assert str(one.text) == "a"


async def test_a_long_frame_is_parsed_elsewhere_and_keeps_its_place_in_the_order(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one = await enter(rooms, name, 1)
        await one.type("x" * 50_000)
        await one.type("y")
        await settled(rooms)
        two = await enter(rooms, name, 2)
        two.hear()
        assert str(two.text) == "x" * 50_000 + "y"


async def test_i3_a_compaction_in_the_middle_of_typing_loses_nothing_and_forgets_what_was_deleted(
    tmp_path: Path,
) -> None:
    name = new_name()
    path = tmp_path / "log.db"
    async with rooms_over(path, Limits(compact_tail=2_000)) as rooms:
        one = await enter(rooms, name, 1)
        await one.type("SECRET-MARKER")
        await settled(rooms)
        before = one.doc.get_state()
        del one.text[0:13]
        await one.say(update_frame(one.doc.get_update(before)))
        for at in range(300):
            await one.type(f"{at} ")
            if at % 20 == 0:
                await settled(rooms)
        await settled(rooms)
        (room,) = rooms.live()
        await until(lambda: room.since_compaction is None)
        assert room.snapshot_size > 0
        two = await enter(rooms, name, 2)
        two.hear()
        assert str(two.text) == str(one.text)
        await rooms.compact(name)
        assert b"SECRET-MARKER" not in (await rooms.read(name)).update
    async with rooms_over(path) as rooms:
        three = await enter(rooms, name, 3)
        three.hear()
        assert str(three.text) == str(one.text)
        assert three.connection.room.gate.state_vector == room.gate.state_vector


async def test_an_idle_room_is_dropped_and_loads_again(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db", Limits(idle=0.1)) as rooms:
        name = new_name()
        one = await enter(rooms, name, 1)
        await one.type("a")
        await settled(rooms)
        one.connection.leave()
        await until(lambda: not rooms.live())
        two = await enter(rooms, name, 2)
        two.hear()
        assert str(two.text) == "a"


async def test_a_failed_commit_closes_1013_and_the_room_comes_back_from_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteLog(tmp_path / "log.db", "process") as log:
        async with rooms_on(log) as rooms:
            name = new_name()
            one, two = await enter(rooms, name, 1), await enter(rooms, name, 2, WEI)
            await one.type("kept")
            await settled(rooms)

            def full(batch: object) -> list[int | None]:
                raise OSError(28, "No space left on device")

            with monkeypatch.context() as patch:
                patch.setattr(log, "append", full)
                await one.type("lost")
                await settled(rooms)
                assert one.closed is not None
                assert two.closed is not None
                assert (one.closed[0], two.closed[0]) == (1013, 1013)
                three = await enter(rooms, name, 3)
                three.hear()
                assert str(three.text) == "kept"
                with pytest.raises(Unavailable):
                    await rooms.compose(name, ANN, lambda composer: composer.set("meta", "a", 1))
            await asyncio.sleep(1.1)
            again = Peer(1)
            again.doc.apply_update(one.doc.get_update())
            again.connection = await rooms.join(name, ANN, Role.EDITOR, again)
            await again.greet()
            await settled(rooms)
            three = await enter(rooms, name, 4)
            three.hear()
            assert str(three.text) == "keptlost"


async def test_a_failed_load_is_not_an_empty_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteLog(tmp_path / "log.db", "process") as log:
        async with rooms_on(log) as rooms:
            name = new_name()
            with monkeypatch.context() as patch:

                def broken(name: DocName) -> None:
                    raise Unavailable("disk on strike")

                patch.setattr(log, "open", broken)
                with pytest.raises(Unavailable):
                    await enter(rooms, name, 1)
            one = await enter(rooms, name, 1)
            await one.type("a")
            await settled(rooms)
            assert (await rooms.read(name)).seq == 1


async def test_two_sets_of_rooms_over_one_log_keep_order_and_closure(tmp_path: Path) -> None:
    """A client moves from one to the other in mid-edit; what it sent to both is logged once."""
    with SqliteLog(tmp_path / "log.db", "process") as log:
        async with rooms_on(log, shared=True) as left, rooms_on(log, shared=True) as right:
            name = new_name()
            one, two = await enter(left, name, 1), await enter(right, name, 2, WEI)
            for at in range(20):
                await one.type(f"a{at} ")
                await two.type(f"b{at} ")
            await settled(left)
            await settled(right)
            await one.type("moving ")
            one.connection.leave()
            one.connection = await right.join(name, ANN, Role.EDITOR, one)
            await one.greet()
            await one.type("moved ")
            await until(lambda: left.live()[0].settled and right.live()[0].settled)
            await settled(left)
            await settled(right)
            await until(lambda: left.live()[0].head == right.live()[0].head == log.open(name).head)
            one.hear()
            two.hear()
            assert str(one.text) == str(two.text)
            spliced = Spliced()
            clocks: dict[int, int] = {}
            for logged in log.open(name).tail:
                parsed = parse(logged.update)
                for section in parsed.sections:
                    assert section.clock == clocks.get(section.client, 0)
                    clocks[section.client] = section.end
                spliced.add(parsed)
            doc = Replica()
            doc.apply_update(spliced.full())
            assert str(doc.get("t", type=Text)) == str(one.text)


async def test_a_connection_by_ticket_is_asked_to_renew_and_ends_with_its_lease(tmp_path: Path) -> None:
    now = SystemClock().now()
    leased = Principal(ANN.user, "Ann", expires_at=now + 2.5)
    async with rooms_over(tmp_path / "log.db", Limits(renew_before=60)) as rooms:
        one, two = await enter(rooms, new_name(), 1, leased), await enter(rooms, new_name(), 2, leased)
        heard: list[str] = []

        async def renew(ticket: str) -> None:
            heard.append(ticket)
            one.connection.expires_at = now + 3600

        one.connection.renew = renew
        await until(lambda: b"\x66\x00" in one.frames)
        assert b"\x66\x00" not in two.frames
        await one.say(b"\x66\x03abc")
        assert heard == ["abc"]
        await until(lambda: two.closed is not None)
        assert two.closed == (4401, "your lease has run out")
        assert one.closed is None
