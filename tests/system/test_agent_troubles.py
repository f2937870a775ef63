"""What an agent survives: kill -9 of a worker or of itself, a server that restarts, broken wires, deadly documents."""

from __future__ import annotations

import json
import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from kit.agent_process import is_alive, running_agent, start_agent, wait_until
from kit.conversation import Device, device, host_bearer
from kit.delay_proxy import DelayProxy
from kit.poisoned_wire import poisoned_wire
from kit.served import Served, serve
from pycrdt import Doc, Text

CRASHERS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "fixtures" / "native_crashers.json").read_text())
CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in CRASHERS["cases"]}
MARK = "(说：我也在)"
"""What a person writes before the first word of an answer, so that the script, which counts words, is not misled."""


@pytest.fixture(scope="module")
def bearer(served: Served) -> str:
    return host_bearer(served)


def numbers(last: int) -> list[str]:
    return [str(number) for number in range(1, last + 1)]


async def begin(laptop: Device, text: str, characters: int = 15) -> tuple[str, str]:
    """Say something and wait until its answer has begun: the message, and the answer's id."""
    said = await laptop.say(text)
    turn = await laptop.turn_of(said, "running")
    await laptop.until(lambda: len(laptop.words(turn["answer"])) > characters)
    return said, turn["answer"]


async def test_a_killed_workers_answer_is_gone_on_with_in_the_same_entry(
    served: Served, bearer: str, tmp_path: Path
) -> None:
    async with device(served, served.new_task()) as laptop, device(served, served.new_task()) as other:
        with running_agent(served.server.url, bearer, tmp_path / "log") as agent:
            said, answer = await begin(laptop, "count 60 every 20")
            kill_all(agent.workers())
            laptop.working_set.edit_words("messages", answer, "text", 0, insert=MARK)
            laptop.working_set.add_constraint("Ana's own")
            turn = await laptop.turn_of(said, "done")
            assert (turn["attempt"], turn["answer"]) == (2, answer)
            words = laptop.words(answer)
            assert words.startswith(MARK)
            assert words.removeprefix(MARK).split() == numbers(60)
            assert [item["text"] for item in laptop.contents.constraints] == ["Ana's own"]
            assert [item["id"] for item in laptop.contents.messages if item["role"] == "agent"] == [answer]

            said, answer = await begin(other, "repeat 60 every 20")
            kill_all(agent.workers())
            turn = await other.turn_of(said, "done")
            assert (turn["attempt"], turn["answer"]) == (2, answer)
            assert other.words(answer).split() == numbers(60)


def kill_all(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


async def test_a_killed_host_takes_its_workers_along_and_the_next_one_goes_on(
    served: Served, bearer: str, tmp_path: Path
) -> None:
    async with device(served, served.new_task()) as laptop:
        first = start_agent(served.server.url, host_bearer(served), tmp_path / "first")
        said, answer = await begin(laptop, "count 60 every 20")
        processes = first.processes()
        assert len(processes) == 2
        first.kill()
        wait_until(lambda: not any(is_alive(pid) for pid in processes), 10)
        laptop.working_set.add_constraint("Ana's own")
        with running_agent(served.server.url, bearer, tmp_path / "second"):
            turn = await laptop.turn_of(said, "done")
        assert turn["answer"] == answer
        assert laptop.words(answer).split() == numbers(60)
        assert [item["id"] for item in laptop.contents.messages if item["role"] == "agent"] == [answer]
        assert [item["text"] for item in laptop.contents.constraints] == ["Ana's own"]


async def test_documents_that_crash_or_hang_the_engine_take_down_only_their_own_turns(
    served: Served, bearer: str, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        wire = await stack.enter_async_context(poisoned_wire(served.server.port))
        devices = {name: await stack.enter_async_context(device(served, served.new_task())) for name in CASES}
        hung = await stack.enter_async_context(device(served, served.new_task()))
        healthy = await stack.enter_async_context(device(served, served.new_task()))
        for name, case in CASES.items():
            wire.poison[devices[name].task] = [*base_of(case), *map(bytes.fromhex, case["updates"])]
        url = f"http://127.0.0.1:{wire.port}"
        agent = stack.enter_context(running_agent(url, bearer, tmp_path / "log", patience=3.0))
        said = {name: await devices[name].say("Hello") for name in CASES}
        waiting = await hung.say("say Wait.\nblock 60")
        await healthy.turn_of(await healthy.say("Anybody there?"), "done")
        ends = {name: await devices[name].turn_of(said[name], "failed", "done", within=60) for name in CASES}
        crashed = ends["segfault_in_apply"]
        assert (crashed["status"], crashed["attempt"], crashed["why"]) == ("failed", 3, "a worker ended")
        refused = ends["panic_blockset_exclude"]
        assert (refused["status"], refused["attempt"], refused["why"]) == ("failed", 3, "the document can't be read")
        silent = await hung.turn_of(waiting, "failed", within=60)
        assert (silent["attempt"], silent["why"]) == (3, "a worker went silent")
        await healthy.turn_of(await healthy.say("Still there?"), "done")
        assert agent.process.poll() is None


def base_of(case: dict[str, Any]) -> list[bytes]:
    if case["on"] == "base":
        return [bytes.fromhex(CRASHERS["base_document_hex"])]
    if case["on"].startswith("text of 300 characters"):
        doc: Doc[Any] = Doc(client_id=1)
        text = doc.get("t", type=Text)
        text += "x" * 300
        return [doc.get_update()]
    return []


async def test_a_wire_that_breaks_in_mid_answer_only_delays_it(served: Served, bearer: str, tmp_path: Path) -> None:
    async with DelayProxy(served.server.port) as wire, device(served, served.new_task()) as laptop:
        with running_agent(f"http://127.0.0.1:{wire.port}", bearer, tmp_path / "log"):
            said, answer = await begin(laptop, "count 80 every 20")
            wire.cut()
            laptop.working_set.add_constraint("Ana's own")
            await anyio.sleep(0.3)
            wire.mend()
            turn = await laptop.turn_of(said, "done")
            assert (turn["attempt"], turn["answer"]) == (1, answer)
            assert laptop.words(answer).split() == numbers(80)


async def test_a_bearer_that_is_revoked_ends_the_answer_and_then_the_agent(served: Served, tmp_path: Path) -> None:
    token = served.server.new_token("owner", "--agent", "Helper")
    async with device(served, served.new_task()) as laptop:
        agent = start_agent(served.server.url, str(token["token"]), tmp_path / "log")
        said, answer = await begin(laptop, "count 1000 every 10")
        await anyio.to_thread.run_sync(served.api.ask, "DELETE", f"/tokens/{token['id']}")
        await laptop.client.barrier()
        words = laptop.words(answer)
        assert await anyio.to_thread.run_sync(agent.wait) == 1
        await laptop.client.barrier()
        assert laptop.words(answer) == words
        assert str(token["token"]) not in agent.log.read_text()
        turn = await laptop.turn_of(said, "queued")
        await laptop.stop(turn["id"])


@pytest.mark.own_server
async def test_a_servers_kill_and_restart_is_survived_in_mid_answer(tmp_path: Path) -> None:
    with serve(tmp_path / "served") as served:
        async with device(served, served.new_task()) as laptop:
            with running_agent(served.server.url, host_bearer(served), tmp_path / "log") as agent:
                said, answer = await begin(laptop, "count 120 every 20")
                await anyio.to_thread.run_sync(served.server.kill)
                await anyio.sleep(0.2)
                await anyio.to_thread.run_sync(served.server.start)
                turn = await laptop.turn_of(said, "done", within=90)
                assert turn["answer"] == answer
                await laptop.until(lambda: laptop.words(answer).endswith("120 "))
                assert laptop.words(answer).split() == numbers(120)
                again = await laptop.say("And now?")
                await laptop.turn_of(again, "done")
                assert agent.process.poll() is None


async def test_an_agent_ends_with_its_input_and_gives_its_turns_back(
    served: Served, bearer: str, tmp_path: Path
) -> None:
    async with device(served, served.new_task()) as laptop:
        agent = start_agent(served.server.url, bearer, tmp_path / "log", "--until-eof")
        said, _ = await begin(laptop, "count 500 every 20")
        processes = agent.processes()
        agent.close_input()
        assert await anyio.to_thread.run_sync(agent.wait) == 0
        wait_until(lambda: not any(is_alive(pid) for pid in processes), 10)
        turn = await laptop.turn_of(said, "queued", within=10)
        assert turn["why"] == "the agent was ended"
        await laptop.stop(turn["id"])
