"""Nobody learns of, or touches, what is not theirs. One table over every route; one that is missing from it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import AppUnderTest, Browser, app_under_test

from crdt_docs.ids import TaskId, new_id
from server.domain.access import Role


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


@dataclass
class World:
    """What Ana owns and Eve is after."""

    ana: Browser
    eve: Browser
    task: str
    eves_task: str
    session: str
    token: str
    device: str
    turn: str


@pytest.fixture
async def world(app: AppUnderTest) -> World:
    ana, eve = await app.sign_in("ana"), await app.sign_in("eve")
    task = await ana.new_task("Secret merger")
    session = (await ana.post("/sessions", {"device": "phone"})).json["id"]
    token = (await ana.post("/tokens", {"task": task})).json["id"]
    device = (await ana.get(f"/sessions/{session}")).json["device"]
    assert (await ana.post(f"/tasks/{task}/messages", {"text": "Who buys whom?"})).status == 201
    turn = (await ana.get(f"/tasks/{task}/turns")).json["turns"][0]["id"]
    return World(ana, eve, task, await eve.new_task("Eve's own"), session, token, device, turn)


Ask = tuple[str, dict[str, Any] | None]
FOREIGN: dict[tuple[str, str], Callable[[World], Ask]] = {
    ("GET", "/sessions/{id}"): lambda w: (f"/sessions/{w.session}", None),
    ("PATCH", "/sessions/{id}"): lambda w: (f"/sessions/{w.session}", {"task_id": None}),
    ("POST", "/sessions/{id}/end"): lambda w: (f"/sessions/{w.session}/end", None),
    ("GET", "/tasks/{id}"): lambda w: (f"/tasks/{w.task}", None),
    ("PATCH", "/tasks/{id}"): lambda w: (f"/tasks/{w.task}", {"name": "mine"}),
    ("DELETE", "/tasks/{id}"): lambda w: (f"/tasks/{w.task}", None),
    ("GET", "/tasks/{id}/members"): lambda w: (f"/tasks/{w.task}/members", None),
    ("POST", "/tasks/{id}/members"): lambda w: (f"/tasks/{w.task}/members", {"user": "eve", "role": "owner"}),
    ("PATCH", "/tasks/{id}/members/{user}"): lambda w: (f"/tasks/{w.task}/members/{w.ana.user}", {"role": "viewer"}),
    ("DELETE", "/tasks/{id}/members/{user}"): lambda w: (f"/tasks/{w.task}/members/{w.ana.user}", None),
    ("POST", "/tasks/{id}/messages"): lambda w: (f"/tasks/{w.task}/messages", {"text": "boo"}),
    ("GET", "/tasks/{id}/working-set"): lambda w: (f"/tasks/{w.task}/working-set", None),
    ("GET", "/tasks/{id}/resume"): lambda w: (f"/tasks/{w.task}/resume", None),
    ("GET", "/tasks/{id}/export"): lambda w: (f"/tasks/{w.task}/export?format=yjs", None),
    ("POST", "/tasks/{id}/tickets"): lambda w: (f"/tasks/{w.task}/tickets", {}),
    ("GET", "/tasks/{id}/turns"): lambda w: (f"/tasks/{w.task}/turns", None),
    ("POST", "/turns/{id}/stop"): lambda w: (f"/turns/{w.turn}/stop", {}),
    ("DELETE", "/tokens/{id}"): lambda w: (f"/tokens/{w.token}", None),
    ("PATCH", "/devices/{id}"): lambda w: (f"/devices/{w.device}", {"name": "mine"}),
    ("DELETE", "/devices/{id}"): lambda w: (f"/devices/{w.device}", None),
}
"""For each route with an id in its path, how Eve would use it on what is Ana's. Agents' own are another table's."""

NAMED: dict[str, Callable[[World], tuple[str, str, dict[str, Any]]]] = {
    "a session in a message": lambda w: ("POST", f"/tasks/{w.eves_task}/messages", {"text": "x", "session": w.session}),
    "a session in a ticket": lambda w: ("POST", f"/tasks/{w.eves_task}/tickets", {"session": w.session}),
    "a device in a session": lambda w: ("POST", "/sessions", {"device": w.device}),
    "a task in a token": lambda w: ("POST", "/tokens", {"task": w.task}),
}
"""Ids of Ana's in bodies."""

WITHOUT_IDS = {
    ("POST", "/sessions"), ("GET", "/sessions"), ("POST", "/tasks"), ("GET", "/tasks"), ("POST", "/tokens"),
    ("GET", "/tokens"), ("GET", "/devices"), ("POST", "/signin"), ("POST", "/signout"), ("POST", "/links"),
    ("GET", "/me"), ("GET", "/openapi.json"),
}  # fmt: skip


async def test_every_route_is_in_the_table(app: AppUnderTest) -> None:
    there = {(row.method, row.path) for row in app.rows if row.door not in ("grant", "host")}
    assert {route for route in there if "{" in route[1]} == set(FOREIGN)
    assert {route for route in there if "{" not in route[1]} == WITHOUT_IDS


async def state_of(w: World) -> list[Any]:
    """All that Ana can see, to tell whether anything changed."""
    paths = [
        f"/tasks/{w.task}",
        f"/tasks/{w.task}/members",
        f"/sessions/{w.session}",
        "/tokens",
        "/devices",
        f"/tasks/{w.task}/turns",
    ]
    return [(await w.ana.get(path)).json for path in paths]


async def test_what_is_not_theirs_answers_as_what_is_not_there(world: World) -> None:
    before = await state_of(world)
    for route, how in FOREIGN.items():
        path, body = how(world)
        foreign = await world.eve.ask(route[0], path, body)
        absent = path
        for known in (world.session, world.task, world.token, world.device, world.turn):
            absent = absent.replace(known, new_id())
        nowhere = await world.eve.ask(route[0], absent, body)
        assert foreign.status == 404 and foreign.code == "not_found", route
        assert (foreign.body, foreign.headers) == (nowhere.body, nowhere.headers), route
        assert await state_of(world) == before, route


@pytest.mark.parametrize("route", FOREIGN, ids=lambda route: " ".join(route))
async def test_the_owner_is_not_refused(world: World, route: tuple[str, str]) -> None:
    """So that the table above fails for the right reason."""
    path, body = FOREIGN[route](world)
    if route in (("PATCH", "/tasks/{id}/members/{user}"), ("DELETE", "/tasks/{id}/members/{user}")):
        assert (await world.ana.ask(route[0], path, body)).status == 409  # she is the last owner
    else:
        assert (await world.ana.ask(route[0], path, body)).status in (200, 201, 204)


async def test_a_foreign_id_in_a_body_answers_as_an_unknown_one(world: World) -> None:
    hers = {world.session, world.device, world.task}
    for what, how in NAMED.items():
        method, path, body = how(world)
        foreign = await world.eve.ask(method, path, body)
        unknown = {key: new_id() if value in hers else value for key, value in body.items()}
        nowhere = await world.eve.ask(method, path, unknown)
        assert foreign.status == 404 and foreign.body == nowhere.body, what


async def test_without_a_credential_every_route_is_closed(app: AppUnderTest, world: World) -> None:
    for row in app.rows:
        path = row.path.replace("{id}", world.task).replace("{user}", world.ana.user)
        for headers in ({}, {"authorization": "Bearer " + "A" * 43}, {"cookie": "clew-8484=" + "A" * 43}):
            who = Browser(app.app, {"origin": "http://localhost:8484", **headers})
            answer = await who.ask(row.method, path, {} if row.method in ("POST", "PATCH", "PUT") else None)
            if row.door == "anyone":
                assert answer.status in (200, 422), row.path
            else:
                assert answer.status == 401 and answer.code == "unauthenticated", row.path
                assert answer.headers["www-authenticate"].startswith("Bearer")


ODD_IDS = [
    "..", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%5c..", "%00", "null", "0", "-1", "1 OR 1=1", "CON", "%F0%9F%98%80",
    "a" * 4000, "00000000-0000-0000-0000-00000000000G", "{id}", "%E2%80%AE",
]  # fmt: skip


async def test_what_is_no_id_is_not_there(world: World) -> None:
    for odd in ODD_IDS:
        for path in (f"/tasks/{odd}", f"/sessions/{odd}", f"/tasks/{odd}/export?format=yjs"):
            answer = await world.ana.get(path)
            assert answer.status == 404 and answer.code == "not_found", odd
        assert (await world.ana.delete(f"/tokens/{odd}")).status == 404


async def test_an_id_in_capitals_is_another_name_for_nothing(world: World) -> None:
    assert (await world.ana.get(f"/tasks/{world.task.upper()}")).status == 404
    assert (await world.ana.get(f"/tasks/{{{world.task}}}")).status == 404
    assert (await world.ana.get(f"/tasks/{world.task.replace('-', '')}")).status == 404


ROLES: list[tuple[str, str, dict[str, Any] | None, Role]] = [
    ("GET", "/tasks/{id}", None, Role.VIEWER),
    ("GET", "/tasks/{id}/members", None, Role.VIEWER),
    ("GET", "/tasks/{id}/export?format=yjs", None, Role.VIEWER),
    ("POST", "/tasks/{id}/tickets", {}, Role.VIEWER),
    ("POST", "/tasks/{id}/messages", {"text": "hello"}, Role.EDITOR),
    ("PATCH", "/tasks/{id}", {"status": "paused"}, Role.EDITOR),
    ("POST", "/tasks/{id}/members", {"user": "eve", "role": "viewer"}, Role.OWNER),
    ("DELETE", "/tasks/{id}", None, Role.OWNER),
]


@pytest.mark.parametrize("by", ["membership", "bearer"])
@pytest.mark.parametrize(("method", "path", "body", "least"), ROLES)
async def test_a_role_allows_what_it_says_and_no_more(
    app: AppUnderTest, world: World, method: str, path: str, body: dict[str, Any] | None, least: Role, by: str
) -> None:
    there = path.replace("{id}", world.task)
    await app.sign_in("bob")
    for role in Role:
        if by == "membership":
            who = await app.sign_in("bob")
            given = await world.ana.post(f"/tasks/{world.task}/members", {"user": "bob", "role": role.name.lower()})
            assert given.status == 201
        else:
            who, _ = await app.with_bearer(world.ana, role)
        answer = await who.ask(method, there, body)
        if role < least:
            assert answer.status == 403 and answer.code == "forbidden"
        else:
            assert answer.status in (200, 201, 204)
            break


async def test_a_bearer_for_one_task_reaches_nothing_else(app: AppUnderTest, world: World) -> None:
    other = await world.ana.new_task("Another")
    script, token = await app.with_bearer(world.ana, Role.OWNER, TaskId(world.task))
    assert [t["id"] for t in (await script.get("/tasks")).json["tasks"]] == [world.task]
    assert (await script.get(f"/tasks/{other}")).status == 404
    assert (await script.post(f"/tasks/{other}/tickets", {})).status == 404
    begun = await script.post("/sessions", {"first_message": "Another"})
    assert [c["task"]["id"] for c in begun.json["candidates"]] == [world.task]
    assert (await script.patch(f"/sessions/{begun.json['id']}", {"task_id": other})).status == 404
    assert (await script.patch(f"/sessions/{begun.json['id']}", {"task_id": world.task})).status == 200
    closed: list[tuple[str, str, dict[str, Any] | None]] = [
        ("POST", "/tasks", {}), ("GET", "/tokens", None), ("GET", "/devices", None), ("GET", "/sessions", None),
        ("DELETE", f"/devices/{world.device}", None), ("POST", "/tokens", {}), ("POST", "/links", {}),
        ("POST", "/signout", {}),
    ]  # fmt: skip
    for method, path, body in closed:
        assert (await script.ask(method, path, body)).status == 403, path
    assert (await script.delete(f"/tokens/{world.token}")).status == 404
    assert (await script.delete(f"/tokens/{token}")).status == 204
    assert (await script.get("/me")).status == 401


async def test_a_bearer_begets_no_credential_that_would_outlive_it(app: AppUnderTest, world: World) -> None:
    script, _ = await app.with_bearer(world.ana)
    for path in ("/tokens", "/links", "/signout"):
        assert (await script.post(path, {})).status == 403
    ticket = await script.post(f"/tasks/{world.task}/tickets", {})
    assert ticket.status == 201


MASS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/tasks", {"name": "x", "owner": "eve"}),
    ("POST", "/tasks", {"name": "x", "id": new_id()}),
    ("POST", "/tasks", {"name": "x", "role": "owner"}),
    ("PATCH", "/tasks/{id}", {"name": "x", "created_by": "eve"}),
    ("PATCH", "/tasks/{id}", {"role": "owner"}),
    ("PATCH", "/tasks/{id}", {}),
    ("PATCH", "/tasks/{id}", {"status": "deleted"}),
    ("POST", "/sessions", {"user": "eve"}),
    ("PATCH", "/sessions/{session}", {"task_id": None, "user": "eve"}),
    ("PATCH", "/sessions/{session}", {}),
    ("POST", "/tokens", {"user": "owner"}),
    ("POST", "/tokens", {"expires_at": 9e12}),
    ("POST", "/tasks/{id}/messages", {"text": "x", "author": "eve"}),
    ("POST", "/tasks/{id}/messages", {"text": "x", "id": new_id()}),
    ("POST", "/tasks/{id}/members", {"user": "eve", "role": "god"}),
    ("POST", "/tasks/{id}/members", {"user": "eve", "role": 4}),
    ("POST", "/tasks/{id}/tickets", {"life": 9000}),
    ("PATCH", "/devices/{device}", {"name": "x", "kind": "y"}),
    ("POST", "/links", {"user": "owner"}),
]


async def test_a_field_that_is_not_offered_is_refused_and_changes_nothing(world: World) -> None:
    before = await state_of(world)
    for method, path, body in MASS:
        there = path.format(id=world.task, session=world.session, device=world.device)
        answer = await world.ana.ask(method, there, body)
        assert answer.status == 422 and answer.code == "invalid" and answer.json["errors"], (path, body)
        assert await state_of(world) == before, (path, body)


async def test_a_revoked_bearer_is_nobody(app: AppUnderTest, world: World) -> None:
    script, token = await app.with_bearer(world.ana)
    assert (await script.get("/me")).status == 200
    assert (await world.ana.delete(f"/tokens/{token}")).status == 204
    answer = await script.get("/me")
    assert answer.status == 401 and answer.code == "unauthenticated"
    assert (await world.ana.delete(f"/tokens/{token}")).status == 204  # again is the same as once


async def test_an_expired_bearer_is_nobody(app: AppUnderTest, world: World) -> None:
    script, _ = await app.with_bearer(world.ana, life=60)
    app.clock.advance(59)
    assert (await script.get("/me")).status == 200
    app.clock.advance(2)
    assert (await script.get("/me")).status == 401


async def test_a_revoked_device_loses_all_its_doors(app: AppUnderTest, world: World) -> None:
    phone = await app.sign_in("ana", "tablet")
    made = await phone.post("/tokens", {"ttl": 600})
    script = app.holding(made.json["token"])
    assert (await script.get("/me")).status == 200
    assert (await world.ana.delete(f"/devices/{phone.device}")).status == 204
    assert (await phone.get("/me")).status == 401 and (await script.get("/me")).status == 401
    assert phone.device not in [d["id"] for d in (await world.ana.get("/devices")).json["devices"]]
    assert (await world.ana.get("/me")).status == 200


async def test_whoever_is_taken_off_a_task_is_a_stranger_at_once(app: AppUnderTest, world: World) -> None:
    bob = await app.sign_in("bob")
    await world.ana.post(f"/tasks/{world.task}/members", {"user": "bob", "role": "owner"})
    assert (await bob.get(f"/tasks/{world.task}")).status == 200
    assert (await world.ana.delete(f"/tasks/{world.task}/members/{bob.user}")).status == 204
    assert (await bob.get(f"/tasks/{world.task}")).status == 404
    assert (await bob.post(f"/tasks/{world.task}/messages", {"text": "still here"})).status == 404
    rejoined = await world.ana.post(f"/tasks/{world.task}/members", {"user": "bob", "role": "viewer"})
    assert rejoined.status == 201 and (await bob.get(f"/tasks/{world.task}")).json["role"] == "viewer"


async def test_a_member_may_leave_and_the_last_owner_may_not(app: AppUnderTest, world: World) -> None:
    bob = await app.sign_in("bob")
    await world.ana.post(f"/tasks/{world.task}/members", {"user": "bob", "role": "viewer"})
    assert (await bob.delete(f"/tasks/{world.task}/members/{world.ana.user}")).status == 403
    assert (await bob.delete(f"/tasks/{world.task}/members/{bob.user}")).status == 204
    for answer in (
        await world.ana.delete(f"/tasks/{world.task}/members/{world.ana.user}"),
        await world.ana.patch(f"/tasks/{world.task}/members/{world.ana.user}", {"role": "editor"}),
        await world.ana.post(f"/tasks/{world.task}/members", {"user": "ana", "role": "editor"}),
    ):
        assert answer.status == 409 and answer.code == "conflict"
    assert (await world.ana.get(f"/tasks/{world.task}")).json["role"] == "owner"


async def test_a_signed_out_browser_is_nobody_and_its_cookie_is_cleared(app: AppUnderTest, world: World) -> None:
    out = await world.ana.post("/signout")
    assert out.status == 204 and "Max-Age=0" in out.headers["set-cookie"]
    assert (await world.ana.get("/me")).status == 401
    assert (await world.ana.post("/signout")).status == 401
