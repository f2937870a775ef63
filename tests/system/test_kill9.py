"""kill -9 at a random moment under load: what was echoed, confirmed by a barrier, or seen by anybody else is there."""

from __future__ import annotations

import asyncio
import contextlib
import random
from pathlib import Path
from typing import Any

import pytest
from kit.served import Served, serve
from kit.wire import Closed, Peer
from pycrdt import Doc, Map
from websockets.exceptions import WebSocketException

from crdt_docs.updates.parse import parse

GONE = (Closed, OSError, WebSocketException)
WRITERS = 2
"""Per task."""
TASKS_AT_A_TIME = 2
FEW = 40
"""So many promises are given in a round, on the whole."""
SOAKED = 1_000
"""Kills in all, half of them under each durability."""
PART = 100


class Promises:
    """Keys that the server let somebody see or rely on, by task."""

    def __init__(self) -> None:
        self.kept: dict[str, set[str]] = {}
        self.given = asyncio.Event()
        self.awaited = 0

    def note_update(self, task: str, update: bytes) -> None:
        """An echo or another's update: both come after the commit."""
        keys = (struct.key for section in parse(update).sections for struct in section.structs)
        self.note(task, {key for key in keys if key is not None})

    def note(self, task: str, keys: set[str]) -> None:
        self.kept.setdefault(task, set()).update(keys)
        if keys and self.number() >= self.awaited:
            self.given.set()

    async def wait_for(self, number: int) -> None:
        """Until so many more have been given."""
        self.awaited = self.number() + number
        self.given.clear()
        await asyncio.wait_for(self.given.wait(), 60)

    def number(self) -> int:
        return sum(len(keys) for keys in self.kept.values())


async def write(served: Served, task: str, name: str, promises: Promises) -> None:
    """Add keys, one an update, as fast as barriers allow, until the server dies."""
    doc = Doc[Any]()
    marks = doc.get("marks", type=Map)
    with contextlib.suppress(*GONE):
        async with served.join(task, doc) as peer:
            peer.on_update = lambda update: promises.note_update(task, update)
            for batch in range(100_000):
                sent = set()
                for n in range(random.randrange(1, 12)):
                    key = f"{name}-{batch}-{n}"
                    marks[key] = "x" * random.choice([1, 1, 1, 30, 3000])
                    sent.add(key)
                    await peer.push()
                await peer.barrier()
                promises.note(task, sent)


async def watch(served: Served, task: str, promises: Promises) -> None:
    """Somebody who only reads, until the server dies."""
    with contextlib.suppress(*GONE):
        async with served.join(task) as peer:
            peer.on_update = lambda update: promises.note_update(task, update)
            await peer.end(60)


async def read_back(served: Served, task: str) -> set[str]:
    """All keys that a newcomer is given."""
    doc = Doc[Any]()
    marks = doc.get("marks", type=Map)
    async with served.join(task, doc) as peer:
        assert isinstance(peer, Peer)
        return set(marks.keys())


async def run_until_killed(served: Served, tasks: list[str], round_: int, promises: Promises) -> None:
    jobs = [
        asyncio.ensure_future(job)
        for task in tasks
        for job in (
            *(write(served, task, f"{round_}-{writer}", promises) for writer in range(WRITERS)),
            watch(served, task, promises),
        )
    ]
    if random.random() < 0.85:  # else it dies while they join, or before anything could be promised
        await promises.wait_for(random.randrange(1, 2 * FEW))
    await asyncio.sleep(random.uniform(0, 0.4))
    served.server.kill()
    await asyncio.gather(*jobs)


async def kill_and_compare(folder: Path, rounds: int, durability: str) -> int:
    """Over one data folder: write, kill, restart, read back; how many promises were kept. What blocks, in a thread."""
    promises = Promises()
    with contextlib.ExitStack() as stack:
        served = await asyncio.to_thread(stack.enter_context, serve(folder, "--durability", durability))
        tasks = [await asyncio.to_thread(served.new_task) for _ in range(TASKS_AT_A_TIME)]
        for round_ in range(rounds):
            if round_ % 10 == 9:  # a fresh document, so that reading back stays quick
                tasks = [*tasks[1:], await asyncio.to_thread(served.new_task)]
            await run_until_killed(served, tasks, round_, promises)
            await asyncio.to_thread(served.server.start)
            for task in tasks:
                lost = promises.kept.get(task, set()) - await read_back(served, task)
                assert not lost, f"{durability}, round {round_}: lost {sorted(lost)[:5]}"
            print(f"{durability}: kill {round_ + 1} of {rounds}, {promises.number()} promises kept", flush=True)
        for task, keys in promises.kept.items():
            assert keys <= await read_back(served, task)
        assert "all is sound" in await asyncio.to_thread(served.server.clew, "verify")
    return promises.number()


async def kill_both(folder: Path, rounds: int) -> None:
    """Both durabilities at once, for most of a round is waiting for a server to start."""
    kept = await asyncio.gather(
        *(kill_and_compare(folder / durability, rounds, durability) for durability in ("full", "process"))
    )
    assert all(promises > rounds * FEW / 4 for promises in kept), kept


@pytest.mark.timeout(300)
async def test_nothing_that_was_promised_is_lost_by_kill_minus_nine(tmp_path: Path) -> None:
    await kill_both(tmp_path, 8)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(0, SOAKED, PART))
async def test_nothing_that_was_promised_is_lost_by_a_thousand_kills(tmp_path: Path, first: int) -> None:
    """The kills ``first`` to ``first + PART``; with ``-s`` it says how far it is."""
    await kill_both(tmp_path, PART // 2)
