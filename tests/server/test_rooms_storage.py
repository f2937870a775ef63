"""Rooms over a real log: restarts, parked readers, compaction, failed commits, two sets of rooms on one log."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from kit.rooms import ANN, WEI, Peer, Replica, enter, new_name, rooms_on, rooms_over, settled, until
from pycrdt import Text

from crdt_docs.ids import DocName
from crdt_docs.messages.ywebsocket import update_frame
from crdt_docs.updates.parse import Parsed, parse
from crdt_docs.updates.splice import Spliced
from server.domain.access import Role
from server.domain.errors import Unavailable
from server.rooms.limits import Limits
from server.store.log import SqliteLog


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


async def test_a_parked_reader_is_told_the_deletions_it_missed_and_not_all_that_ever_were(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2)
        await one.type("abcdefghij" * 20)
        for at in range(0, 100, 2):
            await one.erase(at)
        await settled(rooms)
        two.hear()
        two.connection.pause()
        two.connection.resume()
        assert not [frame for frame in two.frames if frame[0] == 0], "nothing was missed, so nothing is sent"
        two.connection.pause()
        await one.erase(0)
        await settled(rooms)
        two.connection.resume()
        (missed,) = [frame for frame in two.frames if frame[0] == 0]
        assert len(missed) < 20
        two.hear()
        assert str(two.text) == str(one.text)


async def test_a_room_that_cannot_release_ends_alone_and_comes_back_from_the_log(
    tmp_path: Path,
) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        sick, well = new_name(), new_name()
        one, two = await enter(rooms, sick, 1), await enter(rooms, well, 2)
        reported: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))

        class Broken(Spliced):
            def add(self, parsed: Parsed, *, whole: bool = False) -> None:
                raise ValueError("a gap that can't be")

        next(room for room in rooms.live() if room.name == sick).document = Broken()
        await asyncio.gather(one.type("a"), two.type("b"))
        await settled(rooms)
        two.hear()
        assert str(two.text) == "b"
        assert one.closed is not None
        assert one.closed[0] == 1013
        assert reported
        again = await enter(rooms, sick, 3)
        again.hear()
        assert str(again.text) == "a"


async def test_who_is_still_on_the_way_in_when_the_rooms_close_is_turned_away(tmp_path: Path) -> None:
    name = new_name()
    async with rooms_over(tmp_path / "log.db") as rooms:
        joining = asyncio.ensure_future(enter(rooms, name, 1))
        await asyncio.sleep(0)  # it waits for its room
    with pytest.raises(Unavailable):
        await joining
