"""A disk that takes nothing more: nothing confirmed is lost, clients are told to come back, and they can."""

from __future__ import annotations

import asyncio
import resource
from pathlib import Path
from typing import Any

from kit.served import Served, serve
from kit.wire import Closed
from pycrdt import Doc, Text


def set_room(served: Served, size: int) -> None:
    """No file of the server's may grow beyond so many bytes: what SQLite then sees is a failed write."""
    resource.prlimit(served.server.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def text_of(doc: Doc[Any]) -> Text:
    text: Text = doc.get("t", type=Text)
    return text


async def write_until_it_fails(served: Served, task: str, confirmed: list[str]) -> Closed:
    doc = Doc[Any]()
    async with served.join(task, doc) as peer:
        await asyncio.wait_for(peer.synced.wait(), 20)
        for at in range(10_000):
            word = f"{at}:" + "x" * 2_000 + " "
            text_of(doc).__iadd__(word)
            await peer.push()
            try:
                await peer.barrier()
            except Closed as closed:
                return closed
            confirmed.append(word)
    raise AssertionError("the disk never filled")


async def test_a_full_disk_loses_nothing_confirmed_and_the_server_recovers_with_it(tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        task = served.new_task()
        confirmed: list[str] = []
        wal = served.server.data / "log.db-wal"
        set_room(served, wal.stat().st_size + 60_000)
        closed = await write_until_it_fails(served, task, confirmed)
        assert closed.code == 1013
        assert confirmed
        reader = Doc[Any]()
        async with served.join(task, reader) as peer:
            await asyncio.wait_for(peer.synced.wait(), 20)
            assert str(text_of(reader)) == "".join(confirmed), "reading goes on while nothing can be stored"
        set_room(served, resource.RLIM_INFINITY)
        await asyncio.sleep(1.1)
        writer = Doc[Any]()
        async with served.join(task, writer) as peer:
            await asyncio.wait_for(peer.synced.wait(), 20)
            text_of(writer).__iadd__("after")
            await peer.push()
            await peer.barrier()
        served.server.kill()
        served.server.start()
        again = Doc[Any]()
        async with served.join(task, again) as peer:
            await asyncio.wait_for(peer.synced.wait(), 20)
            assert str(text_of(again)) == "".join(confirmed) + "after"
