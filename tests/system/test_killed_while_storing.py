"""kill -9 at the very steps of storing a long snapshot: nothing confirmed is lost, nothing is left lying about.

At random (``test_kill9``) a kill hardly ever comes between them.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from kit.disk_faults import read_words, text_of
from kit.returning import GONE, until
from kit.running_server import RunningServer, free_port
from kit.served import Served
from kit.store_deaths import ALL_PIECES, STANDS, STEPS, dying_when
from pycrdt import Doc

LONG, WORD = 1_300_000, 60_000
"""Bytes that make a document be compacted, and into several pieces; and of one update."""


async def write_until(served: Served, task: str, doc: Doc[Any], enough: int) -> str:
    """Write, each word waited for, until the server is gone or there is ``enough``; what it has confirmed."""
    text, confirmed = text_of(doc), ""
    with suppress(*GONE):
        async with served.join(task, doc) as peer:
            await peer.barrier()
            confirmed = str(text)
            while len(confirmed) < enough:
                text += f"{len(text)}:" + "x" * WORD
                await peer.push()
                await peer.barrier()
                confirmed = str(text)
    return confirmed


def lying(data: Path) -> tuple[int, int]:
    """Of how many snapshots there are pieces, and how many updates lie in the log that a snapshot covers."""
    with closing(sqlite3.connect(f"file:{data / 'log.db'}?mode=ro", uri=True)) as log:
        return tuple(log.execute(
            "SELECT (SELECT count(*) FROM (SELECT DISTINCT doc, seq FROM pieces)), (SELECT count(*) FROM updates"
            " JOIN snapshots ON snapshots.doc = updates.doc WHERE updates.seq + updates.n - 1 <= snapshots.seq)"
        ).fetchone())  # fmt: skip


@contextmanager
def unstarted(folder: Path, *options: str) -> Iterator[Served]:
    """A server that is still to be started; an owner's bearer."""
    server = RunningServer(folder / "data", free_port(), options)
    try:
        yield Served(server, str(server.new_token("owner", "--role", "owner")["token"]))
    finally:
        server.stop()


async def die_at_each(served: Served, steps: Sequence[str]) -> tuple[str, Doc[Any]]:
    """Die at one step after the other over one data folder and one document, then live; the task, and its words."""
    server, doc, task, confirmed = served.server, Doc[Any](), "", ""
    for step in steps:
        with dying_when(server, step):
            await asyncio.to_thread(server.start)
        task = task or await asyncio.to_thread(served.new_task)
        assert (await read_words(served, task)).startswith(confirmed), f"before {step}"
        confirmed = await write_until(served, task, doc, 20 * LONG)
        assert server.process is not None and await asyncio.to_thread(server.process.wait, 30) == -9, step
    await asyncio.to_thread(server.start)
    words = await read_words(served, task)
    assert words.startswith(confirmed) and str(text_of(doc)).startswith(words)
    assert "all is sound" in await asyncio.to_thread(server.clew, "verify")
    return task, doc


@pytest.mark.timeout(300)
async def test_a_server_that_is_killed_while_it_stores_a_snapshot_loses_nothing(tmp_path: Path) -> None:
    with unstarted(tmp_path) as served:
        await die_at_each(served, [ALL_PIECES, STANDS])


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("durability", ["full", "process"])
async def test_a_server_that_is_killed_at_every_step_of_storing_a_snapshot_leaves_nothing_behind(
    tmp_path: Path, durability: str
) -> None:
    with unstarted(tmp_path, "--durability", durability) as served:
        task, doc = await die_at_each(served, STEPS)
        assert lying(served.server.data) != (1, 0)
        assert await write_until(served, task, doc, 2 * len(text_of(doc)) + LONG) == str(text_of(doc))
        await until(lambda: lying(served.server.data) == (1, 0), 60)
        assert "all is sound" in await asyncio.to_thread(served.server.clew, "verify")
        assert await read_words(served, task) == str(text_of(doc))
