"""A person leaves, others work on, the server restarts and is killed: what changed is told all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from anyio import fail_after, sleep
from kit.served import Served, serve
from pycrdt import Doc

from crdt_docs.client import connect
from crdt_docs.working_set import WorkingSet


async def work_on(served: Served, task: str, token: str, *deeds: Callable[[WorkingSet], Any]) -> None:
    """Connect as a stock Python peer, do it, and be gone once it is durable."""
    doc: Doc[Any] = Doc()
    work = WorkingSet(doc, "somebody", lambda: 1_800_000_000_000)
    async with connect(served.server.url, task=task, token=token, doc=doc) as client:
        await client.barrier()
        for deed in deeds:
            deed(work)
        await client.barrier()


def missed(served: Served, task: str) -> list[tuple[str, str, str]]:
    shown = served.api.json("GET", f"/tasks/{task}/resume")
    assert shown["checked"]
    return [(one["what"], one["text"], one["by"]) for one in shown["facts"]["changes"]]


async def nothing_is_missed(served: Served, task: str) -> None:
    """Wait for the server to have taken note of who left: a client is gone before its server knows."""
    with fail_after(20):
        while missed(served, task):  # noqa: ASYNC110 (another process knows when, and tells nobody)
            await sleep(0.05)


async def test_what_changed_while_one_was_away_outlives_a_restart_and_a_kill(tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        wei = served.new_user("wei")
        task = served.new_task("Acme contract revision")
        served.api.json("POST", f"/tasks/{task}/members", {"user": "wei", "role": "editor"})
        await work_on(served, task, served.token, lambda work: work.decide("Net 30"))
        await nothing_is_missed(served, task)
        await work_on(served, task, wei, lambda work: work.ask("Which law governs?"))
        expected = [("added", "Which law governs?", "wei")]
        assert missed(served, task) == expected
        assert served.server.stop() == 0
        served.server.start()
        assert missed(served, task) == expected
        await work_on(served, task, wei, lambda work: work.decide("Irish law"))
        served.server.kill()
        served.server.start()
        assert sorted(missed(served, task)) == sorted([*expected, ("added", "Irish law", "wei")])
        await work_on(served, task, served.token)
        await nothing_is_missed(served, task)
