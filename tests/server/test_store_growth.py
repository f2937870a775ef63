"""What is stored stays in proportion to what is there, not to how often it was changed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from kit.rooms import enter, new_name, rooms_over, settled
from pycrdt import Map

from crdt_docs.messages.ywebsocket import update_frame
from server.rooms.limits import Limits
from server.store.log import SqliteLog

VALUE = "v" * 400
"""As long as a status line."""


async def overwrite(path: Path, times: int) -> int:
    """Set one key of a Map so often through a running room; the most bytes that log.db ever had."""
    name, most = new_name(), 0
    async with rooms_over(path) as rooms:
        peer = await enter(rooms, name, 1)
        marks = peer.doc.get("marks", type=Map)
        for number in range(times):
            before = peer.doc.get_state()
            marks["status"] = f"{number} {VALUE}"
            await peer.say(update_frame(peer.doc.get_update(before)))
            if number % 100 == 99:
                await settled(rooms)
                peer.frames.clear()
                most = max(most, os.stat(path).st_size)
                assert os.stat(f"{path}-wal").st_size < 8_000_000
        await rooms.compact(name)
        assert (await rooms.read(name)).seq >= times
    with SqliteLog(path) as log:
        snapshot = log.open(name).snapshot
        assert snapshot is not None
        assert f"{times - 1} {VALUE}".encode() in snapshot.update
        held = len(snapshot.update) + len(snapshot.state) + len(snapshot.index)
        assert held < 4 * len(VALUE), "the state, and what it takes to go on from it"
    with closing(sqlite3.connect(path)) as connection:
        used = [connection.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "freelist_count")]
    assert (used[0] - used[1]) * 1024 < 40_000, "what the file holds besides is free to be used again"
    return most


async def check_growth(path: Path, times: int) -> None:
    assert times * len(VALUE) > 3.5 * Limits().compact_tail, "more is written than may stay"
    most = await overwrite(path, times)
    assert most < 2.5 * Limits().compact_tail, "a tail, and what comes while it is compacted"


async def test_a_key_that_is_set_ten_thousand_times_takes_the_room_of_one(tmp_path: Path) -> None:
    await check_growth(tmp_path / "log.db", 10_000)


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_a_key_that_is_set_a_hundred_thousand_times_takes_the_room_of_one(tmp_path: Path) -> None:
    await check_growth(tmp_path / "log.db", 100_000)
