"""What a task asks of whoever opens it: judged purely, and held at every door, at once also on open sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import Browser
from kit.keyed import sign_in
from kit.watching import Wire, closing, is_open, wire_in

from crdt_docs.ids import TaskId, TokenId, UserId, new_id
from server.control.operator import Operator
from server.domain.access import Principal, Role
from server.domain.agent import BUILT_IN
from server.domain.device import Level
from server.domain.policy import CONFIRM_LIFE, Allow, Deny, Place, Policy, Reason, judge
from server.domain.turn import Host

NOW = 1_000_000.0
SOMEBODY = Principal(UserId("u"), "ann")
RIGHT_AWAY = {"proven_at": NOW - 1, "proven_by": "passkey"}
OPEN = {"resume": "members", "device": "any", "confirm": "none"}
TITLE = "Secret merger"


@pytest.mark.parametrize(
    ("place", "who", "denied"),
    [
        (Place(Role.VIEWER), {}, None),
        (Place(Role.EDITOR, Policy(resume="owner")), {}, "policy_resume"),
        (Place(Role.OWNER, Policy(resume="owner")), {}, None),
        (Place(Role.OWNER, Policy(device="registered")), {}, "policy_device"),
        (Place(Role.OWNER, Policy(device="registered")), {"level": Level.SOFTWARE}, None),
        (Place(Role.OWNER, Policy(device="bound")), {"level": Level.SOFTWARE}, "policy_device"),
        (Place(Role.OWNER, Policy(device="bound")), {"level": Level.HARDWARE}, None),
        (Place(Role.VIEWER, keyed=True), {}, "policy_device"),
        (Place(Role.VIEWER, keyed=True), {"level": Level.SOFTWARE}, None),
        (Place(Role.OWNER, Policy(confirm="number-match")), {}, "policy_confirm"),
        (Place(Role.OWNER, Policy(confirm="number-match")), RIGHT_AWAY, None),
        (Place(Role.OWNER, Policy(confirm="passkey")), RIGHT_AWAY, None),
        (Place(Role.OWNER, Policy(confirm="passkey")), {**RIGHT_AWAY, "proven_by": "number-match"}, "policy_confirm"),
        (Place(Role.OWNER, Policy(confirm="passkey")), {**RIGHT_AWAY, "proven_by": None}, "policy_confirm"),
        (Place(Role.OWNER, Policy(confirm="passkey")), {"proven_at": NOW - CONFIRM_LIFE}, "policy_confirm"),
        (Place(Role.EDITOR, until=NOW), {}, "delegation_over"),
        (Place(Role.EDITOR, until=NOW + 1), {}, None),
        (Place(Role.EDITOR, Policy(device="bound", confirm="passkey")), {"kind": "agent", "housed": True}, None),
        (Place(Role.EDITOR, Policy(device="registered")), {"kind": "agent"}, "policy_device"),
        (Place(Role.EDITOR, Policy(resume="owner")), {"kind": "agent", "housed": True}, "policy_resume"),
    ],
)
def test_a_place_and_a_principal_give_a_verdict(place: Place, who: dict[str, Any], denied: Reason | None) -> None:
    verdict = judge(replace(SOMEBODY, **who), place, NOW)
    assert verdict == (Allow(place.role, place.until) if denied is None else Deny(denied))


def test_a_verdict_allows_no_more_than_the_credential() -> None:
    assert judge(replace(SOMEBODY, cap=Role.VIEWER), Place(Role.OWNER), NOW) == Allow(Role.VIEWER, None)


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    async with wire_in(tmp_path) as wire:
        yield wire


async def everything_told(who: Browser, task: str) -> list[tuple[int, bytes]]:
    """What somebody gets who asks for the task by every road that there is."""
    asked = [("GET", path) for path in ("", "/working-set", "/resume", "/export", "/turns", "/members", "/policy")]
    asked += [("POST", "/tickets"), ("POST", "/messages"), ("PATCH", ""), ("DELETE", ""), ("PUT", "/policy")]
    bodies: dict[tuple[str, str], object] = {
        ("POST", "/messages"): {"text": "x"},
        ("PATCH", ""): {"name": "mine"},
        ("PUT", "/policy"): OPEN,
        ("POST", "/tickets"): {},
    }
    answers = [await who.ask(one[0], f"/tasks/{task}{one[1]}", bodies.get(one)) for one in asked]
    return [(answer.status, answer.body) for answer in answers]


async def test_attack_14_a_browser_without_a_key_gets_no_door_of_a_task_for_registered_devices(wire: Wire) -> None:
    owner, plain = await sign_in(wire.app), await wire.app.sign_in("owner", "plain")
    task, other = await owner.new_task(TITLE), await owner.new_task("Another")
    script, _ = await wire.app.with_bearer(owner)
    inside, outside = await wire.watch(owner, task), await wire.watch(plain, task)
    elsewhere = await wire.watch(plain, other)
    early = (await plain.post(f"/tasks/{task}/tickets", {})).json["ticket"]

    assert (await owner.ask("PUT", f"/tasks/{task}/policy", {**OPEN, "device": "registered"})).status == 200
    assert await closing(outside) == (4403, "policy_device")
    assert await is_open(inside) and await is_open(elsewhere)

    for who in (plain, script):
        for status, body in await everything_told(who, task):
            assert status == 403 and b'"policy_device"' in body and TITLE.encode() not in body
        listed = await who.get("/tasks")
        assert [one["id"] for one in listed.json["tasks"]] == [other] and listed.json["withheld"] == 1
        begun = await who.post("/sessions", {"first_message": TITLE})
        if who is plain:
            made = (await who.post("/me/export")).json["ticket"]
            exported = await who.get("/me/export", clew_export=made)
            assert exported.status == 200 and TITLE.encode() not in exported.body and b"policy_device" in exported.body
        assert TITLE.encode() not in listed.body + begun.body
    assert await closing(await wire.by(f"ticket.{early}", task)) == (4403, "policy_device")
    said = await wire.hocuspocus(script.headers["authorization"].removeprefix("Bearer "), task)
    assert said == (b"\x02\x01", "policy_device")
    assert (await owner.get(f"/tasks/{task}")).json["name"] == TITLE
    assert (await owner.get("/tasks")).json["withheld"] == 0
    for socket in (inside, elsewhere):
        await socket.close()


async def test_an_owner_is_told_before_locking_themselves_out(wire: Wire) -> None:
    owner = await wire.app.sign_in()
    task = await owner.new_task(TITLE)
    socket = await wire.watch(owner, task)
    for rules in ({"device": "bound"}, {"device": "registered"}, {"confirm": "passkey"}, {"confirm": "number-match"}):
        refused = await owner.ask("PUT", f"/tasks/{task}/policy", {**OPEN, **rules})
        assert refused.status == 409 and refused.json["reason"] == "lockout" and "at once" in refused.json["detail"]
    assert (await owner.get(f"/tasks/{task}/policy")).json == OPEN and await is_open(socket)
    sure = {**OPEN, "device": "bound", "confirm_lockout": True}
    assert (await owner.ask("PUT", f"/tasks/{task}/policy", sure)).status == 200
    assert await closing(socket) == (4403, "policy_device")
    assert (await owner.get(f"/tasks/{task}")).json["reason"] == "policy_device"


async def test_a_task_for_its_owners_closes_to_its_other_members_and_opens_again(wire: Wire) -> None:
    owner, bob = await wire.app.sign_in(), await wire.app.sign_in("bob")
    task = await owner.new_task(TITLE)
    await owner.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
    mine, his = await wire.watch(owner, task), await wire.watch(bob, task)
    assert (await owner.ask("PUT", f"/tasks/{task}/policy", {**OPEN, "resume": "owner"})).status == 200
    assert await closing(his) == (4403, "policy_resume") and await is_open(mine)
    assert (await bob.post(f"/tasks/{task}/tickets", {})).json["reason"] == "policy_resume"
    await owner.patch(f"/tasks/{task}/members/{bob.user}", {"role": "owner"})
    wire.app.clock.advance(0.1)
    his = await wire.watch(bob, task)
    assert await is_open(his)
    await owner.patch(f"/tasks/{task}/members/{bob.user}", {"role": "editor"})
    assert await closing(his) == (4403, "policy_resume")
    assert (await owner.ask("PUT", f"/tasks/{task}/policy", OPEN)).status == 200
    wire.app.clock.advance(0.1)  # what was authenticated before a change is held to it
    his = await wire.watch(bob, task)
    assert await is_open(his)
    for socket in (mine, his):
        await socket.close()
    events = [event.event for event in await wire.app.nouns.audit.latest()]
    assert events.count("policy.changed") == 2


async def test_a_confirmation_opens_the_task_for_a_working_day_and_is_asked_for_again_at_the_next_lease(
    wire: Wire,
) -> None:
    owner = await wire.app.sign_in()
    task = await owner.new_task(TITLE)
    login = (await wire.app.nouns.logins.of_user(owner.user))[0]
    await wire.app.nouns.logins.prove(owner.user, login.id, wire.app.clock.now())
    assert (await owner.ask("PUT", f"/tasks/{task}/policy", {**OPEN, "confirm": "passkey"})).status == 200
    socket = await wire.watch(owner, task)
    assert await is_open(socket)
    wire.app.clock.advance(CONFIRM_LIFE)
    assert (await owner.get(f"/tasks/{task}")).json["reason"] == "policy_confirm"
    assert (await owner.post(f"/tasks/{task}/tickets", {})).json["reason"] == "policy_confirm"
    assert (await closing(socket))[0] == 4401  # its lease has run out, and nothing gets it another


async def test_a_person_s_own_agent_has_no_part_in_a_task_that_asks_for_proofs_and_the_server_s_has(wire: Wire) -> None:
    owner = await sign_in(wire.app)
    task = await owner.new_task(TITLE)
    agents, now = wire.app.nouns.agents, wire.app.clock.now()
    mine, housed = await agents.ensure(owner.user, "Ada", now), await agents.ensure(None, BUILT_IN, now)
    own = Host(TokenId(new_id()), mine.id, "Ada", owner.user)
    built_in = Host(TokenId(new_id()), housed.id, BUILT_IN)
    await owner.post(f"/tasks/{task}/messages", {"text": "Who buys whom?"})
    turns = wire.app.nouns.turns
    assert (await owner.get(f"/tasks/{task}/turns")).json["turns"]
    assert [own.may_take(turn) for turn in await turns.queued(now)] == [True]
    assert (await owner.ask("PUT", f"/tasks/{task}/policy", {**OPEN, "device": "registered"})).status == 200
    queued = await turns.queued(now)
    assert [(own.may_take(turn), built_in.may_take(turn)) for turn in queued] == [(False, True)]
    leased = await turns.lease(queued[0].id, built_in, now)
    agent = wire.app.holding(leased.given.token or "")
    assert (await agent.get(f"/tasks/{task}/working-set")).status == 200


async def test_what_non_owners_said_is_answered_no_more_once_a_task_is_for_its_owners(wire: Wire) -> None:
    owner, bob = await wire.app.sign_in(), await wire.app.sign_in("bob")
    task = await owner.new_task(TITLE)
    await owner.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
    await bob.post(f"/tasks/{task}/messages", {"text": "Who buys whom?"})
    assert (await bob.get(f"/tasks/{task}/turns")).json["turns"]
    await wire.app.nouns.policies.set(TaskId(task), Policy(resume="owner"), wire.app.clock.now())
    dismissed = await wire.app.nouns.turns.dismiss(wire.app.clock.now())
    assert [(before.status, after.status) for before, after in dismissed] == [("queued", "failed")]


async def test_the_operator_opens_a_task_whose_owners_are_shut_out(wire: Wire) -> None:
    owner, app = await wire.app.sign_in(), wire.app
    task = await owner.new_task(TITLE)
    sure = {**OPEN, "device": "bound", "confirm_lockout": True}
    assert (await owner.ask("PUT", f"/tasks/{task}/policy", sure)).status == 200
    assert (await owner.ask("PUT", f"/tasks/{task}/policy", OPEN)).status == 403
    operator = Operator(app.nouns, app.clock, lambda: "", revokes=app.doors.revocation)
    assert (await operator.answer("tasks.unlock", {"task": TITLE}))["task"]["id"] == task
    assert (await owner.get(f"/tasks/{task}/policy")).json == OPEN
