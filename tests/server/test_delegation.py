"""A place on a task that ends: on time, on open sockets too, and from then on as if it had never been."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kit.watching import Wire, closing, is_open, wire_in
from pycrdt import Doc, Text

from crdt_docs.ids import AgentId, DocName, new_id
from crdt_docs.messages.ywebsocket import update_frame
from server.domain.access import Principal, Role
from server.domain.errors import Conflict
from server.domain.policy import Denied


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    async with wire_in(tmp_path) as wire:
        yield wire


def at(wire: Wire, seconds: float) -> str:
    """That many seconds from now, as the API takes it."""
    return datetime.fromtimestamp(wire.app.clock.now() + seconds, UTC).isoformat()


def written(text: str) -> bytes:
    """An Update frame that says so in a root of its own."""
    doc = Doc({"text": Text(text)})
    return update_frame(doc.get_update())


async def test_attack_15_a_place_ends_on_time_in_mid_edit_and_nothing_after_it_is_taken(wire: Wire) -> None:
    owner, bob = await wire.app.sign_in(), await wire.app.sign_in("bob")
    task = await owner.new_task("Secret merger")
    until = at(wire, 300)
    made = await owner.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor", "until": until})
    assert made.status == 201 and made.json["until"] and not made.json["over"]
    writing, listening = await wire.watch(bob, task), await wire.watch(bob, task, "/margin")
    owners = await wire.watch(owner, task)
    await writing.send(written("in time"))
    assert await is_open(writing)
    before = (await wire.app.rooms.read(DocName(task))).seq

    wire.app.clock.advance(299)
    assert await is_open(writing)
    wire.app.clock.advance(1)
    await writing.send(written("too late"))
    assert await closing(writing) == (4403, "delegation_over")
    assert await closing(listening) == (4403, "delegation_over")
    assert await is_open(owners)
    assert (await wire.app.rooms.read(DocName(task))).seq == before

    for answer in (
        await bob.get(f"/tasks/{task}"),
        await bob.post(f"/tasks/{task}/tickets", {}),
        await bob.post(f"/tasks/{task}/messages", {"text": "x"}),
    ):
        assert answer.status == 403 and answer.json["reason"] == "delegation_over"
        assert b"Secret merger" not in answer.body
    listed = (await bob.get("/tasks")).json
    assert listed["tasks"] == [] and listed["withheld"] == 0
    assert b"Secret merger" not in (await bob.post("/sessions", {"first_message": "Secret merger"})).body
    members = (await owner.get(f"/tasks/{task}/members")).json["members"]
    assert {one["name"]: one["over"] for one in members} == {"owner": False, "bob": True}

    longer = await owner.patch(f"/tasks/{task}/members/{bob.user}", {"until": at(wire, 60)})
    assert longer.status == 200 and longer.json["role"] == "editor"
    again = await wire.watch(bob, task)
    assert await is_open(again)
    await owner.patch(f"/tasks/{task}/members/{bob.user}", {"until": None})
    wire.app.clock.advance(120)
    assert await is_open(again)
    for socket in (again, owners):
        await socket.close()


async def test_attack_12_13_a_role_is_in_force_from_the_next_frame_and_a_commenter_writes_the_margin_alone(
    wire: Wire,
) -> None:
    owner, bob = await wire.app.sign_in(), await wire.app.sign_in("bob")
    task = await owner.new_task()
    await owner.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
    main, margin = await wire.watch(bob, task), await wire.watch(bob, task, "/margin")
    await main.send(written("allowed"))
    assert await is_open(main)
    seq = (await wire.app.rooms.read(DocName(task))).seq
    await owner.patch(f"/tasks/{task}/members/{bob.user}", {"role": "commenter"})
    await main.send(written("refused"))
    await margin.send(written("a comment"))
    assert await is_open(main) and await is_open(margin)
    assert (await wire.app.rooms.read(DocName(task))).seq == seq
    assert (await wire.app.rooms.read(DocName(task, "margin"))).seq == 1
    assert (await bob.post(f"/tasks/{task}/messages", {"text": "x"})).status == 403
    for socket in (main, margin):
        await socket.close()


async def test_the_end_of_a_place_is_its_agents_too(wire: Wire) -> None:
    owner, bob = await wire.app.sign_in(), await wire.app.sign_in("bob")
    task = await owner.new_task()
    await owner.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor", "until": at(wire, 60)})
    assert (await bob.post(f"/tasks/{task}/messages", {"text": "Who buys whom?"})).status == 201
    agent = Principal(bob.user, "Clerk", "agent", AgentId(new_id()), cap=Role.EDITOR, housed=True)
    assert await wire.app.doors.authority.role(agent, task) is Role.EDITOR
    wire.app.clock.advance(60)
    with pytest.raises(Denied):
        await wire.app.doors.authority.role(agent, task)
    dismissed = await wire.app.nouns.turns.dismiss(wire.app.clock.now())
    assert [after.status for _, after in dismissed] == ["failed"]


async def test_a_task_keeps_an_owner_who_has_no_end(wire: Wire) -> None:
    owner = await wire.app.sign_in()
    await wire.app.sign_in("bob")
    task = await owner.new_task()
    ending = {"user": "bob", "role": "owner", "until": at(wire, 60)}
    assert (await owner.post(f"/tasks/{task}/members", ending)).status == 422
    assert (await owner.patch(f"/tasks/{task}/members/{owner.user}", {"until": at(wire, 60)})).status == 422
    assert (
        await owner.post(f"/tasks/{task}/members", {**ending, "role": "viewer", "until": at(wire, -1)})
    ).status == 422
    with pytest.raises(Conflict):
        await wire.app.nouns.tasks.set_role(task, owner.user, Role.OWNER, 0.0, wire.app.clock.now() + 60)
    assert (await owner.get(f"/tasks/{task}")).json["role"] == "owner"
