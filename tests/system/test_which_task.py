"""Which task a session is about, asked of a real server over real documents that were written through sockets."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from kit.first_messages import continuations, something_new, tasks
from kit.served import Served
from kit.wire import Api
from pycrdt import Doc

from crdt_docs.ids import new_id
from crdt_docs.working_set import WorkingSet

SOME = ("acme", "borealis", "mobile", "server", "lease", "miniapp")
"""Two contracts and a lease, two releases and an upgrade."""


@pytest.fixture(scope="module")
def person(served: Served) -> str:
    """The bearer of somebody who has no other tasks."""
    return served.new_user(f"maya-{new_id()[:8]}")


async def fill(served: Served, token: str, task: dict[str, Any]) -> str:
    """Make the task as a client would; its id."""
    key = Api(served.server.port, token).new_task(task["name"])
    doc: Doc[Any] = Doc()
    async with served.join(key, doc, token=token) as peer:
        made = WorkingSet(doc, by="maya", now=lambda: int(time.time() * 1000))
        for document in task["documents"]:
            made.add_document(document["title"], document["markdown"])
        for constraint in task["constraints"]:
            made.add_constraint(constraint)
        for decision in task["decisions"]:
            made.decide(decision)
        for question in task["questions"]:
            asked = made.ask(question["text"])
            for answer in question["answers"]:
                made.answer(asked, answer)
        for message in task["messages"]:
            made.add_message(message)
        await peer.push()
        await peer.barrier()
    return key


def begin(api: Api, message: str, **more: str) -> dict[str, Any]:
    begun: dict[str, Any] = api.json("POST", "/sessions", {"first_message": message, **more})
    return begun


def have_read(api: Api, chosen: dict[str, Any], ids: dict[str, str]) -> None:
    """Wait until the server has read all documents; a session begins without what a busy machine has not read yet."""
    for key, task in chosen.items():
        deadline = time.monotonic() + 60
        while begin(api, task["documents"][0]["markdown"])["suggestion"] != ids[key]:
            assert time.monotonic() < deadline, key


async def test_first_messages_find_their_tasks_among_real_documents(served: Served, person: str) -> None:
    chosen = {one["key"]: one for one in tasks() if one["key"] in SOME}
    ids = {key: await fill(served, person, one) for key, one in chosen.items()}
    api, stranger = Api(served.server.port, person), Api(served.server.port, served.token)
    await asyncio.to_thread(have_read, api, chosen, ids)
    asked = [one for one in continuations() if one.task in SOME]
    answers = [begin(api, one.text) for one in asked]
    right = [ids[one.task or ""] for one in asked]
    first = [answer["candidates"][0]["task"]["id"] for answer in answers]
    assert sum(a == b for a, b in zip(first, right, strict=True)) >= 0.9 * len(asked)
    suggested = [answer["suggestion"] for answer in answers]
    assert all(a in (b, None) for a, b in zip(suggested, right, strict=True))
    assert sum(a == b for a, b in zip(suggested, right, strict=True)) >= 0.6 * len(asked)
    for one in something_new():
        assert begin(api, one.text)["suggestion"] is None, one.text
    for key, task in chosen.items():
        draft = begin(api, task["documents"][0]["markdown"], lang="zh")
        assert draft["suggestion"] == ids[key] and draft["candidates"][0]["why"].startswith("您粘贴的文字")
        theirs = begin(stranger, task["documents"][0]["markdown"])["candidates"]
        assert not {candidate["task"]["id"] for candidate in theirs} & {*ids.values()}
