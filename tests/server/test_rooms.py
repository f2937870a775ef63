"""Rooms over a real log: the path of an update, joins, receipts, barriers, gaps."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from pathlib import Path
from typing import Any

from kit.rooms import ANN, WEI, Peer, Replica, enter, new_name, rooms_over, settled
from pycrdt import Map, Text

from crdt_docs.messages.ywebsocket import EMPTY_STEP1, EMPTY_STEP2, step1_frame, step2_frame, update_frame
from crdt_docs.updates.compose import Composer
from crdt_docs.updates.vectors import encode_state_vector
from server.domain.access import Role
from server.rooms.connection import Connection
from server.rooms.room import Room


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


async def test_a_room_that_ended_is_let_go_of_without_a_search_for_garbage(tmp_path: Path) -> None:
    name = new_name()
    async with rooms_over(tmp_path / "log.db") as rooms:
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2, WEI)
        await one.type("hello")
        await settled(rooms)
        gc.collect()
        gc.disable()
        try:
            rooms.live()[0].dissolve(1012, "idle")
            one.connection = two.connection = None  # type: ignore[assignment]
            await asyncio.sleep(0.01)
            assert not [held for held in gc.get_objects() if isinstance(held, Room) and held.name == name]
            assert not [held for held in gc.get_objects() if isinstance(held, Connection) and held.room.name == name]
        finally:
            gc.enable()
