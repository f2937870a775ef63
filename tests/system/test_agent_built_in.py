"""The agent that comes with the server, with nothing but the clerk for a mind."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from kit.agent_process import children_of, is_alive, wait_until
from kit.conversation import device
from kit.served import serve

SAID = "We decided to ship on Friday. The budget must stay under 300 euros. Who signs the contract?"


@pytest.mark.own_server
async def test_the_built_in_agent_answers_and_no_process_of_it_outlives_a_killed_server(tmp_path: Path) -> None:
    with serve(tmp_path / "served", agent=True) as served:
        task = served.api.json("POST", "/tasks", {})["id"]
        async with device(served, task) as laptop:
            said = await laptop.say(SAID)
            turn = await laptop.turn_of(said, "done", within=60)
            contents = laptop.contents
            assert "ship on Friday" in laptop.words(turn["answer"])
            assert ["ship on Friday" in item["text"] for item in contents.decisions] == [True]
            assert ["300 euros" in item["text"] for item in contents.constraints] == [True]
            assert [item["text"] for item in contents.questions] == ["Who signs the contract?"]
            await laptop.until(lambda: laptop.contents.meta["name"] not in ("", "Untitled task"))
        hosts = children_of(served.server.pid)
        nurseries = [nursery for host in hosts for nursery in children_of(host)]
        workers = [worker for nursery in nurseries for worker in children_of(nursery)]
        assert workers
        await anyio.to_thread.run_sync(served.server.kill)
        everybody = [*hosts, *nurseries, *workers]
        await anyio.to_thread.run_sync(wait_until, lambda: not any(is_alive(pid) for pid in everybody), 20.0)
