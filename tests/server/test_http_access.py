"""What somebody may do with what is theirs: by their role, by their bearer, and until it is taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import AppUnderTest, app_under_test
from kit.intruder import World, fill, new_world

from crdt_docs.ids import TaskId, new_id
from server.domain.access import Role
from server.domain.errors import Forbidden


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


@pytest.fixture
async def world(app: AppUnderTest) -> World:
    return await new_world(app)


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
    ("POST", "/tasks/{id}/updates", {"update": "AAA=", "generation": 1}, Role.EDITOR),
    ("PATCH", "/tasks/{id}", {"status": "paused"}, Role.EDITOR),
    ("POST", "/tasks/{id}/members", {"user": "eve", "role": "viewer"}, Role.OWNER),
    ("GET", "/tasks/{id}/policy", None, Role.VIEWER),
    ("GET", "/tasks/{id}/shares", None, Role.OWNER),
    ("PUT", "/tasks/{id}/policy", {"resume": "members", "device": "any", "confirm": "none"}, Role.OWNER),
    ("DELETE", "/tasks/{id}", None, Role.OWNER),
]


@pytest.mark.parametrize("by", ["membership", "bearer"])
async def test_a_role_allows_what_it_says_and_no_more(app: AppUnderTest, world: World, by: str) -> None:
    bob = await app.sign_in("bob")
    for role in Role:
        if by == "membership":
            who, given = bob, {"user": "bob", "role": role.name.lower()}
            assert (await world.ana.post(f"/tasks/{world.task}/members", given)).status == 201
        else:
            who, _ = await app.with_bearer(world.ana, role)
        for method, path, body, least in ROLES:
            answer = await who.ask(method, path.replace("{id}", world.task), body)
            if role < least:
                assert answer.status == 403 and answer.code == "forbidden", (role, method, path)
            else:
                assert answer.status in (200, 201, 204), (role, method, path, answer.body)


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


async def test_a_bearer_takes_no_more_away_than_it_is(app: AppUnderTest, world: World) -> None:
    """A lesser role than its user's bounds what it may do to the account, too; itself it may always end."""
    for role in (Role.VIEWER, Role.EDITOR):
        script, token = await app.with_bearer(world.ana, role)
        _, other = await app.with_bearer(world.ana)
        begun = (await script.post("/sessions", {})).json["id"]
        before = await world.state()
        tries: list[tuple[str, str, dict[str, Any] | None]] = [
            ("DELETE", f"/tokens/{other}", None), ("DELETE", f"/tokens/{world.token}", None),
            ("DELETE", f"/devices/{world.device}", None), ("PATCH", f"/devices/{world.device}", {"name": "mine"}),
            ("POST", f"/sessions/{world.session}/end", None),
            ("PATCH", f"/sessions/{world.session}", {"task_id": None}),
        ]  # fmt: skip
        for method, path, body in tries:
            assert (await script.ask(method, path, body)).status == 403, path
        assert await world.state() == before
        assert (await script.patch(f"/sessions/{begun}", {"task_id": world.task})).status == 200
        assert (await script.post(f"/sessions/{begun}/end")).status == 204
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
    ("PATCH", "/tasks/{id}/members/{user}", {"role": "owner", "user": "eve"}),
    ("PATCH", "/tasks/{id}/members/{user}", {}),
    ("PATCH", "/tasks/{id}/members/{user}", {"until": "2020-01-01T00:00:00Z"}),
    ("PUT", "/tasks/{id}/policy", {"resume": "owner"}),
    ("PUT", "/tasks/{id}/policy", {"resume": "owner", "device": "any", "confirm": "none", "owner": "eve"}),
    ("PUT", "/tasks/{id}/policy", {"resume": "everyone", "device": "any", "confirm": "none"}),
    ("POST", "/tasks/{id}/shares", {"role": "owner"}),
    ("POST", "/tasks/{id}/shares", {"uses": 10**9}),
    ("POST", "/tasks/{id}/shares", {"secret": "A" * 43}),
    ("POST", "/shares/redeem", {"id": "{share}", "secret": "A" * 43, "role": "owner"}),
]


async def test_attack_17_a_field_that_is_not_offered_is_refused_and_changes_nothing(world: World) -> None:
    before = await world.state()
    for method, path, body in MASS:
        answer = await world.ana.ask(method, path.format_map({**world.ids, "id": world.task}), fill(body, world.ids))
        assert answer.status == 422 and answer.code == "invalid", (path, body)
        assert await world.state() == before, (path, body)


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


async def test_a_name_that_the_document_could_not_take_is_not_taken_at_all(
    app: AppUnderTest, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody's role was taken while they renamed: they are told so, and nothing has happened."""
    before = (await world.ana.get(f"/tasks/{world.task}")).json

    async def refuse(*_: object, **__: object) -> int:
        raise Forbidden("your role may not write here any more")

    with monkeypatch.context() as patch:
        patch.setattr(app.rooms, "compose", refuse)
        assert (await world.ana.patch(f"/tasks/{world.task}", {"name": "Half done", "status": "done"})).status == 403
    assert (await world.ana.get(f"/tasks/{world.task}")).json == before
