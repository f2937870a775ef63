"""Worker processes from the host's side: real processes, whose programs are a line or two."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest
from kit.agent_process import is_alive, wait_until

from agent import workers
from agent.errors import WorkerLost
from agent.pipe import Boundary, Grant, Proposed
from agent.process import Worker
from agent.workers import Workers, open_workers

BEGIN = (
    "import json, os, socket, sys, time; sys.argv.pop(); fd, lifeline, server, model = json.loads(sys.argv[1]); "
    "pipe = socket.socket(fileno=fd); say = lambda **word: pipe.sendall(json.dumps(word).encode() + b'\\n'); "
)
READY = BEGIN + "say(word='ready', mind='test'); "
ECHO = READY + "\nwhile line := pipe.recv(4096): say(word='proposed', name=json.loads(line)['token'])"
SERVER = "http://127.0.0.1:1"


async def start(program: str, patience: float = 5.0) -> Worker:
    return await Worker.start(SERVER, None, boot=program, patience=patience)


async def test_a_worker_hears_and_is_heard_and_is_gone_when_it_is_ended() -> None:
    worker = await start(ECHO)
    worker.tell(Grant("名字"))
    assert await worker.hear() == Proposed("名字")
    assert not worker.ended
    await worker.end()
    assert not is_alive(worker.pid)


@pytest.mark.parametrize("program", ["raise SystemExit(3)", BEGIN + "pipe.sendall(b'hello\\n'); time.sleep(9)"])
async def test_a_worker_that_cant_begin_is_lost_and_leaves_nothing(program: str) -> None:
    with pytest.raises(WorkerLost):
        await start(program)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (READY, "ended"),
        (READY + "os.kill(os.getpid(), 11)", "ended"),
        (READY + "say(word='alive'); time.sleep(60)", "silent"),
        (READY + "pipe.sendall(b'x' * 2_000_000); time.sleep(60)", "understood"),
        (READY + "say(word='grant', token='x'); time.sleep(60)", "understood"),
    ],
)
async def test_a_worker_that_ends_hangs_or_babbles_is_lost(program: str, why: str) -> None:
    worker = await start(program, patience=0.5)
    with pytest.raises(WorkerLost, match=why):
        await worker.hear()
    await worker.end()
    assert not is_alive(worker.pid)


async def test_signs_of_life_keep_a_busy_worker() -> None:
    worker = await start(
        READY + "\nfor _ in range(8): time.sleep(0.1); say(word='alive')\nsay(word='boundary')", patience=0.5
    )
    assert await worker.hear() == Boundary()
    await worker.end()


async def test_no_bearer_is_in_a_workers_arguments_or_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_TOKEN", "very-secret")
    worker = await start(ECHO)
    worker.tell(Grant("granted-secret"))
    await worker.hear()
    for name in ("cmdline", "environ"):
        held = await anyio.Path(f"/proc/{worker.pid}/{name}").read_bytes()
        assert held and b"secret" not in held
    await worker.end()


async def lent(pool: Workers, task: str) -> int:
    async with pool.lend(task) as worker:
        return worker.pid


async def test_a_task_keeps_its_worker_for_a_while_and_others_get_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE", 0.3)
    monkeypatch.setattr(workers, "SPARE_AFTER", 0.0)
    async with open_workers(SERVER, None, boot=ECHO) as pool:
        first = await lent(pool, "one")
        assert await lent(pool, "one") == first
        assert await lent(pool, "two") != first
        await anyio.to_thread.run_sync(wait_until, gone(first))
        assert await lent(pool, "one") != first


async def test_a_worker_that_was_killed_or_left_in_error_is_not_lent_again() -> None:
    async with open_workers(SERVER, None, boot=ECHO) as pool:
        async with pool.lend("one") as worker:
            worker.kill()
            first = worker.pid
        assert not is_alive(first)
        with pytest.raises(WorkerLost):
            async with pool.lend("one") as worker:
                second = worker.pid
                raise WorkerLost("as a test says")
        assert not is_alive(second)
        assert await lent(pool, "one") not in (first, second)


async def test_all_workers_end_with_the_block() -> None:
    async with open_workers(SERVER, None, boot=ECHO) as pool:
        pids = [await lent(pool, "one"), await lent(pool, "two")]
    assert not any(is_alive(pid) for pid in pids)


def gone(pid: int) -> Callable[[], bool]:
    return lambda: not is_alive(pid)
