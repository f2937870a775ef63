"""What people report of sync servers whose store is slow or fails, tried on rooms over a real log.

The numbers are those of ``docs/complaints.md``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kit.rooms import Peer, enter, new_name, rooms_on, rooms_over, settled, until

from crdt_docs.ids import DocName
from server.domain.errors import Unavailable
from server.rooms.limits import Limits
from server.store.log import SqliteLog


@contextmanager
def slow(monkeypatch: pytest.MonkeyPatch, log: SqliteLog, what: str, seconds: float) -> Iterator[list[float]]:
    """Let one of the log's methods take so long, in its own thread; the moments at which it was called."""
    calls: list[float] = []
    real: Callable[..., Any] = getattr(log, what)

    def late(*arguments: Any) -> Any:
        calls.append(time.monotonic())
        time.sleep(seconds)
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(log, what, late)
        yield calls


async def test_complaint_01_who_comes_back_while_a_write_is_under_way_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteLog(tmp_path / "log.db", "process") as log:
        async with rooms_on(log, Limits(idle=0.05)) as rooms:
            name = new_name()
            one = await enter(rooms, name, 1)
            with slow(monkeypatch, log, "append", 0.3):
                await one.type("first, ")
                await one.type("second")
                await asyncio.sleep(0.1)
                one.connection.leave()
                two = await enter(rooms, name, 2)
                await until(lambda: _reads(two, "first, second"))


def _reads(peer: Peer, words: str) -> bool:
    peer.hear()
    return str(peer.text) == words


async def test_complaint_04_a_load_that_fails_once_never_starts_the_document_afresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = new_name()
    with SqliteLog(tmp_path / "log.db", "process") as log:
        async with rooms_on(log) as rooms:
            await (await enter(rooms, name, 1)).type("old ")
        async with rooms_on(log) as rooms:
            with monkeypatch.context() as patch:
                patch.setattr(log, "open", _broken)
                with pytest.raises(Unavailable):
                    await enter(rooms, name, 2)
            two = await enter(rooms, name, 2)
            two.hear()
            await two.type("new")
            await settled(rooms)
            three = await enter(rooms, name, 3)
            assert _reads(three, "old new")


def _broken(name: DocName) -> None:
    raise Unavailable("disk on strike")


async def test_complaint_07_a_slow_store_is_written_to_in_turns_however_much_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteLog(tmp_path / "log.db", "process") as log:
        async with rooms_on(log) as rooms:
            name = new_name()
            one = await enter(rooms, name, 1)
            await settled(rooms)
            with slow(monkeypatch, log, "append", 0.2) as calls:
                for _ in range(300):
                    await one.type("x")
                    await asyncio.sleep(0.001)
                await settled(rooms)
            assert len(calls) < 100
            assert all(later - earlier >= 0.2 for earlier, later in zip(calls, calls[1:], strict=False))
            assert (await rooms.read(name)).update.count(b"x") >= 1
            assert _reads(await enter(rooms, name, 2), "x" * 300)


async def test_complaint_14_nothing_is_said_before_a_slow_load_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = new_name()
    with SqliteLog(tmp_path / "log.db", "process") as log:
        async with rooms_on(log) as rooms:
            await (await enter(rooms, name, 1)).type("what was stored")
        async with rooms_on(log) as rooms:
            with slow(monkeypatch, log, "open", 0.3):
                began = time.monotonic()
                two = await enter(rooms, name, 2)
                assert time.monotonic() - began >= 0.3
            assert two.frames[0][:2] == b"\x00\x01"
            assert _reads(two, "what was stored")


async def test_complaint_32_joins_that_fail_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteLog(tmp_path / "log.db", "process") as log:
        async with rooms_on(log) as rooms:
            await enter(rooms, new_name(), 1)
            before = len(asyncio.all_tasks())
            with monkeypatch.context() as patch:
                patch.setattr(log, "open", _broken)
                for _ in range(500):
                    with pytest.raises(Unavailable):
                        await enter(rooms, new_name(), 2)
            await until(lambda: len(rooms.live()) == 1 and len(asyncio.all_tasks()) <= before)


async def test_complaint_33_34_documents_that_nobody_has_open_leave_memory(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db", Limits(idle=0.1)) as rooms:
        before = len(asyncio.all_tasks())
        names = [new_name() for _ in range(200)]
        for name in names:
            one = await enter(rooms, name, 1)
            await one.type("x")
            one.connection.leave()
        await until(lambda: not rooms.live())
        await until(lambda: len(asyncio.all_tasks()) <= before)
        assert _reads(await enter(rooms, names[7], 2), "x")
