"""Workers crash, hang and outgrow their memory, and that costs one request each."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pycrdt import Doc, Text

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.rope import Rope, Stretch
from crdt_docs.schema import seed_update
from crdt_docs.updates.parse import parse
from server.domain import garbage
from server.domain.garbage import LITTLE, Heap
from server.engine.failures import EngineFailed, Verdict
from server.engine.lanes import Limits
from server.engine.pool import Engine, LaneName

CRASHERS = json.loads((Path(__file__).parents[1] / "fixtures" / "native_crashers.json").read_text())
SEED = seed_update(1, name="Acme", document="00000000-0000-4000-8000-000000000001")
NAMES = (
    "apply_all",
    "echo",
    "about_me",
    "segfault",
    "leave",
    "spin",
    "doze",
    "hoard",
    "hoard_natively",
    "refuse",
    "panic",
)
JOBS = {name: f"kit.engine_jobs:{name}" for name in NAMES}


def make_engine(seconds: float = 1.0, memory: int = 3 << 27, waiting: int = 256, readers: int = 2) -> Engine:
    limits = Limits(seconds=seconds, memory=memory, waiting=waiting)
    return Engine(limits=limits, workers={"read": readers}, jobs={"read": JOBS, "parse": JOBS})


@pytest.fixture(scope="module")
async def engine() -> AsyncIterator[Engine]:
    async with make_engine() as made:
        yield made


async def about(engine: Engine) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await engine.run("read", "about_me"))
    return found


def children() -> set[int]:
    """The worker processes that this one has, zombies among them."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if int(parent) == os.getpid():
                found.add(int(entry.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("case", CRASHERS["cases"], ids=lambda case: case["name"])
@pytest.mark.parametrize("kind", ["text", "array", "map"])
async def test_updates_that_crash_the_engine_cost_at_most_a_worker(
    engine: Engine, case: dict[str, Any], kind: str
) -> None:
    base = {"base": [CRASHERS["base_document_hex"]], "text": [_long_text().hex()]}
    before = base.get(case["on"].split()[0], [])
    updates = [bytes.fromhex(update) for update in before + case["updates"]]
    other = asyncio.ensure_future(engine.project(SEED))
    try:
        await engine.run("read", "apply_all", updates, kind)
    except EngineFailed as failed:
        assert failed.verdict.quarantine
    assert (await other)["meta"]["name"] == "Acme"
    assert (await engine.project(SEED))["meta"]["name"] == "Acme"


def _long_text() -> bytes:
    doc: Doc[Text] = Doc(client_id=1)
    doc.get("t", type=Text).insert(0, "x" * 300)
    return doc.get_update()


async def test_the_known_crash_really_kills_a_worker_and_the_verdict_says_so(engine: Engine) -> None:
    before = engine.replaced
    (case,) = (case for case in CRASHERS["cases"] if case["name"] == "segfault_in_apply")
    updates = [bytes.fromhex(update) for update in [CRASHERS["base_document_hex"], *case["updates"]]]
    with pytest.raises(EngineFailed) as failed:
        await engine.run("read", "apply_all", updates, "text")
    assert failed.value.verdict is Verdict.CRASHED
    assert engine.replaced == before + 2


@pytest.mark.parametrize(
    ("job", "verdict"),
    [
        ("segfault", Verdict.CRASHED),
        ("leave", Verdict.CRASHED),
        ("panic", Verdict.CRASHED),
        ("spin", Verdict.HUNG),
        ("hoard", Verdict.OUTGREW),
        ("hoard_natively", Verdict.REFUSED),
        ("refuse", Verdict.REFUSED),
    ],
)
async def test_each_way_to_fail_has_its_verdict_and_the_next_job_its_result(
    engine: Engine, job: str, verdict: Verdict
) -> None:
    with pytest.raises(EngineFailed) as failed:
        await engine.run("read", job)
    assert failed.value.verdict is verdict
    assert failed.value.code == "unavailable"
    assert await engine.run("read", "echo", b"next") == b"next"


async def test_a_hang_with_the_gil_held_ends_in_time_and_blocks_nobody() -> None:
    async with make_engine(seconds=0.7) as engine:
        await engine.project(SEED)
        started = time.monotonic()
        hung = asyncio.ensure_future(engine.run("read", "spin"))
        others = 0
        while not hung.done():
            await engine.project(SEED)
            others += 1
        with pytest.raises(EngineFailed) as failed:
            hung.result()
        assert failed.value.verdict is Verdict.HUNG
        assert time.monotonic() - started < 40  # 1.4 s of CPU and two starts, on a machine that may be busy
        assert others > 5


async def test_words_typed_where_messages_are_meant_hang_nothing(engine: Engine) -> None:
    doc: Doc[Any] = Doc()
    doc.apply_update(SEED)
    doc.get("messages", type=Text).insert(0, "hi 😀")
    before = engine.replaced
    found = await engine.project(doc.get_update())
    assert found["messages"] == []
    assert found["meta"]["name"] == "Acme"
    assert engine.replaced == before


async def test_a_worker_that_gets_no_time_is_no_reason_to_set_the_document_aside() -> None:
    async with make_engine(seconds=0.2) as engine:
        with pytest.raises(EngineFailed) as failed:
            await engine.run("read", "doze", 60.0)
        assert failed.value.verdict is Verdict.STARVED
        assert not failed.value.verdict.quarantine


async def test_after_many_crashes_the_pool_is_whole_again() -> None:
    before = children()
    async with make_engine() as engine:
        for _ in range(3):
            with pytest.raises(EngineFailed):
                await engine.run("read", "segfault")
        results = await asyncio.gather(*(engine.run("read", "echo", bytes([n])) for n in range(40)))
        assert results == [bytes([n]) for n in range(40)]
        assert engine.replaced == 6
        assert len(children() - before) <= 4


async def test_a_refused_job_keeps_its_worker() -> None:
    async with make_engine(readers=1) as single:
        before = (await about(single))["pid"]
        with pytest.raises(EngineFailed):
            await single.run("read", "refuse")
        assert (await about(single))["pid"] == before


async def test_workers_are_niced_and_hold_one_socket_and_no_listener() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.set_inheritable(True)
        async with make_engine() as engine:
            found = await about(engine)
            sockets = [name for name in found["files"].values() if name.startswith("socket:")]
            assert len(sockets) == 1
            assert os.readlink(f"/proc/self/fd/{listener.fileno()}") not in sockets
            assert found["nice"] > os.nice(0)


async def test_nothing_is_left_behind_at_exit() -> None:
    before = children()
    async with make_engine() as engine:
        pid = (await about(engine))["pid"]
        assert pid in children()
        spinning = asyncio.ensure_future(engine.run("read", "spin"))
        waiting = [asyncio.ensure_future(engine.run("read", "doze", 30.0)) for _ in range(4)]
        await asyncio.sleep(0.3)
    for job in (spinning, *waiting):
        with pytest.raises(EngineFailed) as failed:
            await job
        assert failed.value.verdict is Verdict.CLOSED
    assert children() <= before
    with pytest.raises(EngineFailed):
        await engine.run("read", "echo", b"")


SERVER = """
import asyncio, json, sys
sys.path[:0] = json.loads(sys.argv[1])
from server.domain.garbage import LITTLE, Heap
from server.engine.lanes import Limits
from server.engine.pool import Engine

async def main():
    jobs = {"read": {"about_me": "kit.engine_jobs:about_me", "spin": "kit.engine_jobs:spin"}}
    async with Engine(limits=Limits(seconds=60.0), workers={"read": 1, "parse": 0}, jobs=jobs) as engine:
        pid = json.loads(await engine.run("read", "about_me"))["pid"]
        if sys.argv[2] == "busy":
            spinning = asyncio.ensure_future(engine.run("read", "spin"))
            await asyncio.sleep(0.5)
        print(pid, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("state", ["idle", "busy"])
def test_workers_die_with_a_server_that_was_killed(state: str) -> None:
    path = [entry for entry in sys.path if entry]
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, json.dumps(path), state], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    with server:
        assert server.stdout is not None
        worker = int(server.stdout.readline())
        assert is_alive(worker)
        server.send_signal(signal.SIGKILL)
        server.wait()
        deadline = time.monotonic() + 20
        while is_alive(worker) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not is_alive(worker)


async def test_an_engine_that_cannot_be_loaded_marks_no_document() -> None:
    jobs: dict[LaneName, dict[str, str]] = {"read": {"gone": "kit.engine_jobs:no_such_job"}}
    async with Engine(workers={"read": 1}, jobs=jobs) as engine:
        with pytest.raises(EngineFailed) as failed:
            await engine.project(SEED, "doc", 1)
        assert failed.value.verdict is Verdict.ABSENT
        assert not failed.value.verdict.quarantine
        assert "no_such_job" in failed.value.detail
        assert (await engine.parse(SEED)).update == SEED


async def test_a_worker_that_is_killed_while_it_starts_is_started_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_STARTS", str(tmp_path))
    async with Engine(workers={"read": 1, "parse": 0}, jobs={"read": JOBS}) as engine:
        assert await engine.run("read", "echo", b"here") == b"here"
    assert len(os.listdir(tmp_path)) == 2, "one that was to be ready, and the first for the job"


async def test_a_full_lane_says_so_and_marks_no_document() -> None:
    async with make_engine(waiting=2, readers=1) as engine:
        await engine.run("read", "echo", b"")
        jobs = [asyncio.ensure_future(engine.run("read", "doze", 0.5))]
        for _ in range(10):
            await asyncio.sleep(0)  # its worker has it
        jobs += [asyncio.ensure_future(engine.run("read", "doze", 0.0)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(EngineFailed) as failed:
            await engine.run("read", "echo", b"")
        assert failed.value.verdict is Verdict.BUSY
        assert not failed.value.verdict.quarantine
        assert await asyncio.gather(*jobs) == [b"rested"] * 3


async def test_whoever_asks_for_the_same_waits_for_one_job_even_if_the_first_goes_away(engine: Engine) -> None:
    first = asyncio.ensure_future(engine.project(SEED, "doc", 3))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(engine.project(SEED, "doc", 3))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second)["meta"]["name"] == "Acme"
    assert engine.cached("doc", 3) == await second
    assert engine.cached("doc", 4) is None
    engine.forget("doc")
    assert engine.cached("doc", 3) is None


async def test_a_document_that_fails_costs_one_job_while_its_seq_stands(engine: Engine) -> None:
    broken = b"\x01\x01\x01\x00\x04\x01\x01a\x7f"
    for _ in range(3):
        with pytest.raises(EngineFailed) as failed:
            await engine.project(broken, "doc", 5)
        assert failed.value.verdict is Verdict.REFUSED
    assert (await engine.project(SEED, "doc", 6))["meta"]["name"] == "Acme"
    with pytest.raises(EngineFailed):
        await engine.project(broken, "doc", 7)


async def test_a_parsed_frame_is_what_the_parser_makes_of_it(engine: Engine) -> None:
    doc: Doc[Any] = Doc(client_id=9)
    text = doc.get("t", type=Text)
    for number in range(3_000):
        text.insert(0, f"{number} 😀")
        if number % 3 == 0:
            del text[0:1]
    update = doc.get_update()
    assert await engine.parse(update) == parse(update)
    assert await engine.parse(b"\x00\x00") == parse(b"\x00\x00")


async def test_what_a_frame_is_refused_for_comes_back_as_itself(engine: Engine) -> None:
    before = engine.replaced
    with pytest.raises(Malformed, match="cut short") as malformed:
        await engine.parse(b"\x01\x01\x01")
    assert type(malformed.value) is Malformed
    deep = b"\x75\x01" * 80 + b"\x7e"
    with pytest.raises(TooLarge, match="deep"):
        await engine.parse(b"\x01\x01\x01\x00\x28\x01\x01m\x01k\x01" + deep + b"\x00")
    assert engine.replaced == before


async def test_long_arguments_arrive_whole_whatever_they_lie_in(engine: Engine) -> None:
    whole = bytes(range(256)) * 2_000
    rope = Rope((whole[:99], Stretch(bytearray(b"??" + whole[99:] + b"?"), 2, 2 + len(whole) - 99)))
    for argument in (whole, bytearray(whole), rope):
        assert await engine.run("read", "echo", argument) == whole
    assert await engine.run("read", "echo", Rope((b"short",))) == b"short"


async def test_what_is_long_is_let_go_of_a_little_at_a_time() -> None:
    class Thing:
        gone = 0

        def __del__(self) -> None:
            Thing.gone += 1

    heap = Heap(Thing() for _ in range(5 * LITTLE))
    some = heap[:10]
    del heap
    assert Thing.gone <= LITTLE
    for _ in range(6):
        await asyncio.sleep(0)
    assert Thing.gone == 5 * LITTLE - 10
    assert len(some) == 10


@pytest.mark.parametrize(
    ("new", "share", "late", "put_off", "searched"),
    [
        (40, 9.0, 9.0, 900.0, True),
        (39, 9.0, 9.0, 900.0, False),
        (40, 0.0, 9.0, 900.0, False),
        (40, 9.0, 0.0, 900.0, False),
        (40, 0.0, 0.0, 0.0, True),
    ],
    ids=["at rest", "too little is new", "busy", "not let run", "busy for long"],
)
async def test_all_is_looked_through_for_garbage_at_rest_or_in_the_end(
    monkeypatch: pytest.MonkeyPatch, new: int, share: float, late: float, put_off: float, searched: bool
) -> None:
    searches = list[int]()
    monkeypatch.setattr(garbage, "BEAT", 0.01)
    monkeypatch.setattr(garbage, "AT_REST", share * 100)
    monkeypatch.setattr(garbage, "LATE", late)
    monkeypatch.setattr(garbage, "PUT_OFF", put_off)
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, new))
    monkeypatch.setattr(gc, "collect", lambda: searches.append(1))
    garbage.FullSearch().begin()
    await asyncio.sleep(0.1)
    assert bool(searches) is searched
