"""Updates over HTTP: what was written without a connection is taken whole or not at all, and is no look at the task."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import Answered, AppUnderTest, Browser, app_under_test

from crdt_docs.ids import DocName, TaskId, new_ordered_id
from crdt_docs.lib0 import varuint
from crdt_docs.updates.compose import Composer
from server.domain.log import Snapshot
from server.http.updates import LONGEST


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


@pytest.fixture
async def ann(app: AppUnderTest) -> Browser:
    return await app.sign_in("ann", "phone")


def written(root: str, key: str, text: str, *, client: int = 7, clock: int = 0, **fields: object) -> bytes:
    """An update by a client that has said all before ``clock``: one entry."""
    composer = Composer(client, clock, lambda parent, key: None)
    entry = composer.set_map(root, key)
    composer.set_text(entry, "text", text)
    for name, value in fields.items():
        composer.set(entry, name, value)
    return composer.finish()


async def bring(who: Browser, task: str, update: bytes, generation: int = 1) -> Answered:
    body = {"update": b64encode(update).decode(), "generation": generation}
    return await who.post(f"/tasks/{task}/updates", body)


async def working_set(who: Browser, task: str) -> dict[str, Any]:
    read: dict[str, Any] = (await who.get(f"/tasks/{task}/working-set")).json
    return read


async def test_what_was_written_offline_is_there_once_however_often_it_is_brought(ann: Browser) -> None:
    task = await ann.new_task()
    said = written("constraints", "c1", "Never below 150 k€", severity="critical")
    first, again = await bring(ann, task, said), await bring(ann, task, said)
    assert (first.status, again.status) == (201, 201) and first.json == again.json
    read = await working_set(ann, task)
    assert [one["text"] for one in read["constraints"]] == ["Never below 150 k€"]
    assert read["seq"] == first.json["seq"]
    (span,) = [one for one in (await ann.get(f"/tasks/{task}/authors")).json["spans"] if one["client"] == 7]
    assert (span["user"]["name"], span["device"]["name"], span["via"]) == ("ann", "phone", "sync")


async def test_what_was_said_offline_makes_a_turn_and_moves_the_task_up(app: AppUnderTest, ann: Browser) -> None:
    task = await ann.new_task()
    message, edits = new_ordered_id(int(app.clock.now() * 1000)), []
    app.rooms.tell(lambda name, seq, edited, keys: edits.append(edited))
    assert (await bring(ann, task, written("messages", message, "Where do we stand?", role="user"))).status == 201
    (turn,) = (await ann.get(f"/tasks/{task}/turns")).json["turns"]
    assert turn["messages"] == [message] and edits == [True]


async def test_to_bring_something_is_no_look_at_what_others_wrote(app: AppUnderTest, ann: Browser) -> None:
    task, bob = await ann.new_task(), await app.sign_in("bob")
    await ann.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
    await ann.post(f"/tasks/{task}/messages", {"text": "Hello"})
    assert (await bring(bob, task, written("constraints", "c1", "Cap at 2 M€", client=8))).status == 201
    assert (await bring(ann, task, written("questions", "q1", "Who signs?"))).status == 201
    changes = (await ann.get(f"/tasks/{task}/resume")).json["facts"]["changes"]
    assert [(one["text"], one["you"]) for one in changes if one["by"] == "bob"] == [("Cap at 2 M€", False)]


async def test_what_does_not_fit_changes_nothing_and_says_which_rule_it_was(app: AppUnderTest, ann: Browser) -> None:
    task, bob = await ann.new_task(), await app.sign_in("bob")
    await ann.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
    name = DocName(TaskId(task))
    assert (await bring(ann, task, written("decisions", "d1", "Irish law", client=7))).status == 201
    before = await app.rooms.read(name)

    crowd = varuint(10_001) + b"".join(b"\x01" + varuint(1000 + one) + b"\x00\x00\x01" for one in range(10_001))
    for who, update, generation, status, reason in (
        (ann, written("questions", "q1", "Who?", client=9, clock=5), 1, 409, "gap"),
        (bob, written("questions", "q1", "Who?", client=9), 2, 409, "generation"),
        (ann, b"\xff\xff", 1, 422, None),
        (ann, b"", 1, 422, None),
        (ann, crowd + b"\x00", 1, 413, None),
    ):  # fmt: skip
        answer = await bring(who, task, update, generation)
        assert (answer.status, answer.json.get("reason")) == (status, reason), (update[:20], answer.body)
        if update:
            assert (await app.rooms.read(name)).update == before.update


async def test_nobody_brings_words_under_an_id_that_is_somebody_else_s_for_good(
    app: AppUnderTest, ann: Browser
) -> None:
    task, bob = await ann.new_task(), await app.sign_in("bob")
    await ann.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
    await ann.post(f"/tasks/{task}/messages", {"text": "Hello"})
    name = DocName(TaskId(task))
    async with app.rooms.room(name) as room:
        ((client, end),) = room.gate.state_vector.items()
    answer = await bring(bob, task, written("questions", "q1", "Who?", client=client, clock=end))
    assert (answer.status, answer.json["reason"]) == (409, "gap")


async def test_a_copy_of_an_older_generation_is_not_taken(app: AppUnderTest, ann: Browser) -> None:
    task = await ann.new_task()
    name = DocName(TaskId(task))
    assert (await bring(ann, task, written("decisions", "d1", "Irish law"))).status == 201
    read = await app.rooms.read(name)
    await app.rooms.fork(name, Snapshot(read.seq, read.update), "restored")
    late = written("decisions", "d2", "English law", clock=read.seq and 5)
    assert (await bring(ann, task, late, 1)).json["reason"] == "generation"
    assert (await ann.post(f"/tasks/{task}/tickets", {})).json["generation"] == 2
    assert (await bring(ann, task, written("decisions", "d2", "English law", client=8), 2)).status == 201


async def test_a_body_may_hold_no_more_than_is_said(ann: Browser) -> None:
    task = await ann.new_task()
    assert (await bring(ann, task, bytes(LONGEST + 1))).status == 422
    assert (await bring(ann, task, bytes(LONGEST * 2))).status == 413
    answer = await ann.post(f"/tasks/{task}/updates", {"update": "not base64!", "generation": 1})
    assert answer.status == 422 and answer.json["errors"][0]["at"].endswith("update")


async def test_who_may_not_write_brings_nothing(app: AppUnderTest, ann: Browser) -> None:
    task, bob, eve = await ann.new_task(), await app.sign_in("bob"), await app.sign_in("eve")
    await ann.post(f"/tasks/{task}/members", {"user": "bob", "role": "commenter"})
    said = written("decisions", "d1", "Irish law")
    assert [(await bring(who, task, said)).status for who in (bob, eve)] == [403, 404]
    assert (await working_set(ann, task))["decisions"] == []
