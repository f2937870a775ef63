"""The built-in agent's process: how it gets its bearer, what becomes of it, and that it never outlives its server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from kit.app_under_test import AppUnderTest, app_under_test

from crdt_docs.ids import new_id
from server.cli.agent import without_token
from server.domain.agent import BUILT_IN, Agent
from server.domain.clock import SystemClock
from server.turns import built_in
from server.turns.built_in import BuiltInAgent

STAYS = """
import os, sys
folder = sys.argv[1]
bearer = sys.stdin.readline().strip()
open(os.path.join(folder, f"{os.getpid()}.new"), "w").write(" ".join([bearer, *sys.argv[2:]]))
os.rename(os.path.join(folder, f"{os.getpid()}.new"), os.path.join(folder, f"{os.getpid()}.seen"))
print("ready", file=sys.stderr, flush=True)
sys.stdin.read()
"""
FAILS = "import sys; print('no such model', file=sys.stderr); sys.exit(3)"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


@asynccontextmanager
async def running(app: AppUnderTest, *command: str) -> AsyncIterator[tuple[BuiltInAgent, list[str]]]:
    said: list[str] = []

    async def register() -> Agent:
        return await app.nouns.agents.ensure(None, BUILT_IN, app.clock.now())

    async with BuiltInAgent(
        register, app.built_in, app.desk.abandon, SystemClock(), command=command, say=said.append
    ) as agent:
        agent.start("http://127.0.0.1:1")
        yield agent, said


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not holds():  # noqa: ASYNC110 - another process does it
            await anyio.sleep(0.01)


def seen(folder: Path) -> list[list[str]]:
    return [file.read_text().split() for file in sorted(folder.glob("*.seen"))]


async def test_its_bearer_comes_by_standard_input_and_opens_the_offers(app: AppUnderTest, tmp_path: Path) -> None:
    async with running(app, sys.executable, "-c", STAYS, str(tmp_path)) as (agent, said):
        await until(lambda: bool(seen(tmp_path)) and "ready" in said)
        ((bearer, *arguments),) = seen(tmp_path)
        assert arguments == ["--server", "http://127.0.0.1:1", "--token-file", "-", "--until-eof"]
        assert agent.state == "running" and agent.pid is not None
        assert (await app.holding(bearer).post(f"/turns/{new_id()}/renew")).status == 404
        arguments = (Path("/proc") / str(agent.pid) / "cmdline").read_text().split("\0")
        variables = (Path("/proc") / str(agent.pid) / "environ").read_text()
        assert bearer not in arguments and bearer not in variables
        pid = agent.pid
    assert not (Path("/proc") / str(pid)).exists()
    assert (await app.holding(bearer).get("/turns/offers")).status == 401


async def test_one_that_was_killed_is_started_again_under_another_bearer_and_its_turn_is_offered_anew(
    app: AppUnderTest, tmp_path: Path
) -> None:
    ann = await app.sign_in("ann")
    task = await ann.new_task()
    await ann.post(f"/tasks/{task}/messages", {"text": "Hello?"})
    turn = (await ann.get(f"/tasks/{task}/turns")).json["turns"][0]["id"]
    async with running(app, sys.executable, "-c", STAYS, str(tmp_path)) as (agent, said):
        await until(lambda: len(seen(tmp_path)) == 1)
        first = seen(tmp_path)[0][0]
        assert (await app.holding(first).post(f"/turns/{turn}/lease", {})).status == 200
        assert agent.pid is not None
        os.kill(agent.pid, signal.SIGKILL)
        await until(lambda: len(seen(tmp_path)) == 2)
        assert (await app.holding(first).post(f"/turns/{turn}/renew", {})).status == 401
        (again,) = (await ann.get(f"/tasks/{task}/turns")).json["turns"]
        assert (again["status"], again["attempt"]) == ("queued", 2)
        assert agent.restarts == 1 and any("exit code -9" in line for line in said)


async def test_one_that_fails_is_tried_less_and_less_often_and_told_of_once(
    app: AppUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built_in, "FIRST_DELAY", 0.01)
    async with running(app, sys.executable, "-c", FAILS) as (agent, said):
        await until(lambda: agent.restarts >= 3)
        assert agent.trouble == "exit code 3"
        assert said == [
            "no such model",
            "clew: the built-in agent ended (exit code 3); it is started again, at longer intervals",
        ]


async def test_where_there_is_no_agent_the_server_says_so_and_goes_on(app: AppUnderTest) -> None:
    async with running(app, "/nowhere/at/all") as (agent, said):
        await until(lambda: agent.restarts >= 1)
        assert agent.state == "waiting" and len(said) == 1 and "can't be started" in said[0]


async def test_it_ends_with_a_server_that_was_killed(tmp_path: Path) -> None:
    """Its input ends when nobody holds the other end any more."""
    parent = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {STAYS!r}, {str(tmp_path)!r}], stdin=subprocess.PIPE,"
        " stderr=subprocess.DEVNULL, start_new_session=True)\n"
        "child.stdin.write(b'secret\\n'); child.stdin.flush(); print(child.pid, flush=True); time.sleep(600)\n"
    )
    process = await anyio.open_process([sys.executable, "-c", parent], stdout=subprocess.PIPE)
    assert process.stdout is not None
    pid = int((await process.stdout.receive()).split()[0])
    await until(lambda: len(seen(tmp_path)) == 1)
    process.kill()
    await process.wait()
    await until(lambda: not (Path("/proc") / str(pid)).exists())


def test_clew_agent_takes_a_bearer_off_the_command_line() -> None:
    assert without_token(["--server", "u", "--token", "s3cret", "--task", "t"]) == (
        ["--server", "u", "--task", "t"],
        "s3cret",
    )
    assert without_token(["--token=s3cret", "--token-file", "f"]) == (["--token-file", "f"], "s3cret")
    assert without_token(["--server", "u"]) == (["--server", "u"], None)


def test_clew_agent_becomes_the_agent() -> None:
    command = [sys.executable, "-m", "server.cli.main", "agent", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "usage: clew agent" in done.stdout and "--until-eof" in done.stdout
