"""One huge document does not slow another task: not while it is loaded, compacted, or sent to fifty at once.

What is measured: how long the serving process's event loop is away at a time (``kit/loop_watch.py``), and what a letter
in some other document costs it in CPU, with and without the huge one beside it. What the huge document's own joins
cost, they cost: that is measured apart, while nobody types.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from kit import loop_watch
from kit.joiners import join
from kit.large_document import ROOT, edits, plant
from kit.running_server import RunningServer, free_port
from kit.served import Served
from kit.typists import Typist, come, type_on
from pycrdt import Doc, Map

LAG: Final = 0.010
"""Seconds for which the event loop may be away at a time."""
DEARER: Final = 1.2
"""How many times what it costs otherwise a letter may cost beside the huge document."""
RATE: Final = 300
QUIET: Final = 8.0


@dataclass
class Measured:
    """A stretch of time: seconds of CPU, letters typed elsewhere, and the longest that the loop was away."""

    what: str
    cpu: float = 0.0
    letters: int = 0
    seconds: float = 0.0
    lags: tuple[float, ...] = ()
    own: tuple[float, ...] = ()
    wall: tuple[float, ...] = ()
    late: tuple[float, ...] = ()

    @property
    def worst(self) -> float:
        return max(self.lags, default=0.0)

    @property
    def cost(self) -> float:
        """Seconds of CPU for a letter, all else included."""
        return self.cpu / self.letters

    def __str__(self) -> str:
        late = sorted(self.late)
        p50, p99 = (late[len(late) // 2], late[len(late) * 99 // 100]) if late else (0.0, 0.0)
        return (
            f"{self.what:45} {self.seconds:6.1f} s  CPU {self.cpu:5.2f} s  {self.letters:6} letters  "
            f"away most {_most(self.lags)}, its thread {_most(self.own)}, by the wall {_most(self.wall)}  "
            f"p50 {p50 * 1000:.0f} p99 {p99 * 1000:.0f} ms"
        )


def _most(lags: tuple[float, ...]) -> str:
    most = ", ".join(f"{lag * 1000:.0f}" for lag in sorted(lags, reverse=True)[:5])
    return f"{most} ms ({sum(lag > LAG for lag in lags)} over {LAG * 1000:.0f})"


@contextmanager
def watched(folder: Path, port: int) -> Iterator[tuple[RunningServer, Path]]:
    """Serve the folder; where its loop's absences are noted."""
    notes = folder / f"loop-{time.monotonic_ns()}"
    more = "CLEW_USER_CONNECTIONS=5000"  # one person opens more documents here than one person may
    program = ("env", more, sys.executable, loop_watch.__file__, str(notes))
    server = RunningServer(folder / "data", port, ("--durability", "process"), program=program, patience=180).start()
    over = threading.Event()
    threading.Thread(target=prefer, args=(server.pid, over), daemon=True).start()
    try:
        yield server, notes
    finally:
        over.set()
        server.stop()


def prefer(pid: int, over: threading.Event) -> None:
    """Let the serving process run whenever it can, on a machine that is busy with other things; not so its workers.

    Where that is not allowed, it has to share, and what piles up meanwhile counts as its own.
    """
    workers: set[int] = set()
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():  # all of it: else who commits waits for who serves
            os.setpriority(os.PRIO_PROCESS, int(thread.name), -10)
        with suppress(OSError):  # a kernel that weighs sessions before processes
            Path(f"/proc/{pid}/autogroup").write_text("-10")
        while not over.wait(0.1):
            for task in Path(f"/proc/{pid}/task").iterdir():
                for child in set(map(int, (task / "children").read_text().split())) - workers:
                    os.setpriority(os.PRIO_PROCESS, child, 10)
                    workers.add(child)


@asynccontextmanager
async def measure(what: str, server: RunningServer, notes: Path, typists: list[Typist]) -> AsyncIterator[Measured]:
    """Measure a block, with the typists typing in it."""
    measured = Measured(what)
    going = True
    sent, late = sum(typist.sent for typist in typists), [len(typist.late) for typist in typists]
    began, cpu = time.monotonic(), server.cpu()
    async with asyncio.TaskGroup() as group:
        if typists:
            group.create_task(type_on(typists, RATE, lambda: going))
        try:
            yield measured
        finally:
            going = False
    measured.cpu = server.cpu() - cpu
    measured.seconds = time.monotonic() - began
    measured.letters = sum(typist.sent for typist in typists) - sent
    noted = loop_watch.read(notes, began)
    measured.lags = tuple(away.lag for away in noted)
    measured.own = tuple(min(away.wall, away.own) for away in noted)
    measured.wall = tuple(away.wall for away in noted)
    measured.late = tuple(x for typist, n in zip(typists, late, strict=True) for x in typist.late[n:])
    print(measured, flush=True)


def snapshot_of(data: Path) -> int:
    """Up to which update some document is compacted, 0 if none is: read past the server."""
    with sqlite3.connect(f"file:{data / 'log.db'}?mode=ro", uri=True) as log:
        return int(log.execute("SELECT coalesce(max(seq), 0) FROM snapshots").fetchone()[0])


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_a_huge_document_slows_no_other_task(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    size = int((pytestconfig.getoption("--megabytes") or 50) * 1_000_000)
    joining = pytestconfig.getoption("--clients") or 50
    others = pytestconfig.getoption("--typing") or 1000
    updates = list(edits(size))
    port, random = free_port(), Random(7)
    with watched(tmp_path, port) as (server, _):
        token = str(server.new_token("owner", "--role", "owner")["token"])
        served = Served(server, token)
        huge = served.new_task("Huge")
        tasks = [served.new_task(f"Other {number}") for number in range(others)]
    plant(server.data, huge, updates)

    with watched(tmp_path, port) as (server, notes):
        typists = [Typist(port, task, token, random) for task in tasks]
        await come(typists)
        async with measure("typing alone", server, notes, typists):
            await asyncio.sleep(QUIET)
        async with measure("loaded from its log, compacted, joined", server, notes, typists) as compacted:
            await join(1, port, huge, token)
            writer = Typist(port, huge, token, random)
            await come([writer])
            writer.type()
            await join(joining, port, huge, token)
            async with asyncio.timeout(600):
                while snapshot_of(server.data) < len(updates):
                    await asyncio.sleep(0.2)
                    writer.type()
            assert writer.seen
        for client in (*typists, writer):
            client.close()

    with watched(tmp_path, port) as (server, notes):
        async with measure("loaded from its snapshot, joined, no typing", server, notes, []) as joined:
            await join(joining, port, huge, token)

    with watched(tmp_path, port) as (server, notes):
        typists = [Typist(port, task, token, random) for task in tasks]
        await come(typists)
        async with measure("first letters", server, notes, typists):  # which cost more, whatever is beside them
            await asyncio.sleep(len(typists) / RATE + 1)
        async with measure("the same, with typing", server, notes, typists) as both:
            await join(joining, port, huge, token)
            await asyncio.sleep(QUIET / 2)
        async with measure("typing alone again", server, notes, typists) as alone:
            await asyncio.sleep(QUIET)
        newcomer = Doc[Any]()
        async with served.join(huge, newcomer):
            assert len(newcomer.get(ROOT, type=Map)) > len(updates) * 0.9
        for client in typists:
            client.close()
    ratio = (both.cpu - joined.cpu) / both.letters / alone.cost
    print(f"a letter costs {alone.cost * 1e6:.0f} µs alone, {ratio:.2f} times that beside the huge document")
    for measured in (compacted, joined, both):
        assert measured.worst <= LAG, str(measured)
    assert ratio <= DEARER
