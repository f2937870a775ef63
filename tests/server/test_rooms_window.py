"""When what is committed is shown: at once to few, and seldom enough where very many read, in order in any case."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from kit.rooms import Peer, enter, new_name, rooms_over, settled

from crdt_docs.messages import Barrier
from crdt_docs.messages.ywebsocket import encode
from server.rooms.fanning import LONGEST, window
from server.rooms.registry import Rooms
from server.rooms.room import Room

MANY = 40


def test_the_window_grows_with_the_readers_up_to_its_bound() -> None:
    assert window(1) == window(2) == window(19) == 0
    assert window(20) == pytest.approx(0.001)
    assert window(200) == pytest.approx(0.010)
    assert window(400) == window(100_000) == LONGEST


async def crowded(rooms: Rooms) -> list[Peer]:
    name = new_name()
    return [await enter(rooms, name, 100 + at) for at in range(MANY)]


def open_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on a window ends when the test says so."""
    monkeypatch.setattr("server.rooms.room.window", lambda connections: 3600.0)


async def test_the_first_is_shown_at_once_and_more_wait_and_come_in_order_with_their_barriers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        peers = await crowded(rooms)
        writer, reader = peers[0], peers[-1]
        room = cast(Room, writer.connection.room)
        for peer in peers:
            peer.frames.clear()
        await writer.type("a")
        await settled(rooms)
        assert [frame[:2] for frame in reader.frames] == [b"\0\2"], "the leading edge waits for nothing"
        open_late(monkeypatch)
        head = room.head
        await writer.type("b")
        await writer.say(encode(Barrier(1)))
        await settled(rooms)
        await writer.type("c")
        await settled(rooms)
        assert len(reader.frames) == len(writer.frames) == 1, "it is committed, and not shown yet"
        assert room.head == head
        late = await enter(rooms, room.name, 99)
        late.hear()
        assert str(late.text) == "a", "who joins is shown what the others are"
        room._window_over()
        assert room.head == head + 2
        assert [frame[:1] for frame in writer.frames] == [b"\0", b"\0", b"\0", b"\x64"]
        for peer in (reader, late):
            peer.hear()
            assert str(peer.text) == "abc"


async def test_what_waits_to_be_shown_is_known_to_a_composer_and_shown_before_the_room_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        peers = await crowded(rooms)
        await peers[0].type("a")
        await settled(rooms)
        open_late(monkeypatch)
        await peers[0].type("b")
        await settled(rooms)
        room = cast(Room, peers[0].connection.room)
        assert b"b" in room.admitted()
        assert not room.settled
        await rooms.close(room.name.task, 1012, "restart")
        for peer in peers:
            assert peer.closed == (1012, "restart")
            peer.hear()
            assert str(peer.text) == "ab"
