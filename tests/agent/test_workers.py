"""Worker processes from the host's side: a real nursery and real processes, whose lives are a line or two."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from kit.agent_process import children_of, is_alive, wait_until

from agent import workers
from agent.errors import WorkerLost
from agent.pipe import Boundary, Grant, Proposed
from agent.process import Nursery, Worker
from agent.workers import Workers, open_workers

NURSERY = """
import json, os, socket, time
from agent.nursery import main

def say(**word):
    pipe.sendall(json.dumps(word).encode() + b"\\n")

def run(descriptor, server, model):
    global pipe
    pipe = socket.socket(fileno=descriptor)
    say(word="ready", pid=os.getpid())
    live()

"""
ECHO = "while line := pipe.recv(4096): say(word='proposed', name=json.loads(line)['token'])"
SERVER = "http://127.0.0.1:1"


@asynccontextmanager
async def nursery_of(life: str, patience: float = 5.0) -> AsyncIterator[Nursery]:
    nursery = Nursery(SERVER, None, f"{NURSERY}def live(): {life}\n\nmain(run, print)", patience)
    try:
        yield nursery
    finally:
        await nursery.close()


async def test_a_worker_hears_and_is_heard_and_is_gone_when_it_is_ended() -> None:
    async with nursery_of(f"\n    {ECHO}") as nursery:
        one, other = await nursery.bear(), await nursery.bear()
        for worker, name in ((one, "名字"), (other, "name")):
            worker.tell(Grant(name))
            assert await worker.hear() == Proposed(name)
        await one.end()
        wait_until(gone(one.pid), 1)
        assert is_alive(other.pid)
        await other.end()


async def test_workers_that_cant_be_loaded_are_lost() -> None:
    for program in ("raise SystemExit(3)", "import nothing_of_that_name"):
        nursery = Nursery(SERVER, None, program)
        with pytest.raises(WorkerLost):
            await nursery.bear()


@pytest.mark.parametrize(
    ("life", "why"),
    [
        ("pass", "ended"),
        ("os.kill(os.getpid(), 11)", "ended"),
        ("say(word='alive'); time.sleep(60)", "silent"),
        ("pipe.sendall(b'x' * 2_000_000); time.sleep(60)", "understood"),
        ("say(word='grant', token='x'); time.sleep(60)", "understood"),
    ],
)
async def test_a_worker_that_ends_hangs_or_babbles_is_lost(life: str, why: str) -> None:
    async with nursery_of(life, patience=0.5) as nursery:
        worker = await nursery.bear()
        with pytest.raises(WorkerLost, match=why):
            await worker.hear()
        await worker.end()
        wait_until(gone(worker.pid), 10)


async def test_signs_of_life_keep_a_busy_worker() -> None:
    life = "\n    for _ in range(15): time.sleep(0.1); say(word='alive')\n    say(word='boundary')"
    async with nursery_of(life, patience=1.2) as nursery:
        worker = await nursery.bear()
        assert await worker.hear() == Boundary()
        await worker.end()


async def test_a_worker_that_computes_may_be_silent_for_longer_but_not_for_ever() -> None:
    compute = "\n    end = time.monotonic() + {0}\n    while time.monotonic() < end: pass\n    say(word='boundary')"
    async with nursery_of(compute.format(3), patience=2) as nursery:
        worker = await nursery.bear()
        assert await worker.hear() == Boundary()
        await worker.end()
    async with nursery_of(compute.format(60), patience=0.2) as nursery:
        worker = await nursery.bear()
        with pytest.raises(WorkerLost, match="silent"):
            await worker.hear()
        await worker.end()


async def test_a_nursery_that_was_killed_is_started_again_and_its_workers_live_on() -> None:
    async with nursery_of(f"\n    {ECHO}") as nursery:
        first = await nursery.bear()
        [process] = [pid for pid in children_of(os.getpid()) if first.pid in children_of(pid)]
        os.kill(process, signal.SIGKILL)
        await anyio.to_thread.run_sync(wait_until, gone(process))
        second = await nursery.bear()
        for worker in (first, second):
            worker.tell(Grant("still here"))
            assert await worker.hear() == Proposed("still here")
            await worker.end()


async def test_no_bearer_is_in_a_workers_arguments_or_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_TOKEN", "very-secret")
    async with nursery_of(f"\n    {ECHO}") as nursery:
        worker = await nursery.bear()
        worker.tell(Grant("granted-secret"))
        await worker.hear()
        for name in ("cmdline", "environ"):
            held = await anyio.Path(f"/proc/{worker.pid}/{name}").read_bytes()
            assert held and b"secret" not in held
        await worker.end()


@asynccontextmanager
async def pool() -> AsyncIterator[Workers]:
    async with nursery_of(f"\n    {ECHO}") as nursery, open_workers(nursery) as made:
        yield made


async def lent(made: Workers, task: str) -> int:
    async with made.lend(task) as worker:
        return worker.pid


async def test_a_task_keeps_its_worker_for_a_while_and_others_get_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE", 0.3)
    async with pool() as made:
        first = await lent(made, "one")
        assert await lent(made, "one") == first
        assert await lent(made, "two") != first
        await anyio.to_thread.run_sync(wait_until, gone(first))
        assert await lent(made, "one") != first


async def test_a_task_never_has_two_workers() -> None:
    async with pool() as made, made.lend("one") as first:
        found: list[Worker] = []

        async def lend_again() -> None:
            async with made.lend("one") as second:
                found.append(second)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lend_again)
            assert await lent(made, "two") != first.pid
            assert found == []
            tasks.cancel_scope.cancel()


async def test_a_worker_that_was_killed_or_left_in_error_is_not_lent_again() -> None:
    async with pool() as made:
        async with made.lend("one") as worker:
            worker.kill()
            first = worker.pid
        wait_until(gone(first), 1)
        with pytest.raises(WorkerLost):
            async with made.lend("one") as worker:
                second = worker.pid
                raise WorkerLost("as a test says")
        wait_until(gone(second), 1)
        assert await lent(made, "one") not in (first, second)


async def test_all_workers_end_with_the_block() -> None:
    async with pool() as made:
        pids = [await lent(made, "one"), await lent(made, "two")]
    wait_until(lambda: not any(is_alive(pid) for pid in pids), 1)


def gone(pid: int) -> Callable[[], bool]:
    return lambda: not is_alive(pid)
