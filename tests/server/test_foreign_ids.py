"""What is not theirs is as what is not there: attack 9, over every route and both sockets. A missing row fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kit.app_under_test import AppUnderTest, Browser, app_under_test, on_the_wire
from kit.intruder import FOREIGN, NAMED, OPEN, WITHOUT_IDS, World, fill, new_world, nobodys
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from crdt_docs.ids import new_id
from crdt_docs.lib0 import varstring
from server.domain.access import Role

HEADERS = ("content-type", "cache-control", "content-security-policy", "www-authenticate")


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


@pytest.fixture
async def world(app: AppUnderTest) -> World:
    return await new_world(app)


async def test_attack_09_every_route_is_in_the_table(app: AppUnderTest) -> None:
    there = {(row.method, row.path) for row in app.rows if row.door not in ("grant", "host")}
    assert {route for route in there if "{" in route[1]} == set(FOREIGN)
    assert {route for route in there if "{" not in route[1]} == WITHOUT_IDS | set(OPEN)
    assert {(row.method, row.path) for row in app.rows if row.door == "anyone"} == set(OPEN)


async def test_attack_09_what_is_not_theirs_answers_as_what_is_not_there(world: World) -> None:
    before = await world.state()
    for route, attempt in FOREIGN.items():
        foreign = await attempt.by(world.eve, route, world.ids)
        nowhere = await attempt.by(world.eve, route, nobodys(world.ids))
        assert foreign.status == 404 and foreign.code == "not_found", route
        assert (foreign.body, foreign.headers) == (nowhere.body, nowhere.headers), route
    assert await world.state() == before


async def test_attack_09_the_owner_is_not_refused(world: World) -> None:
    """So that the test above fails for the right reason. What deletes comes last, a task last of all."""
    for route in sorted(FOREIGN, key=lambda route: (route[0] == "DELETE", route == ("DELETE", "/tasks/{id}"))):
        answer = await FOREIGN[route].by(world.ana, route, world.ids)
        assert answer.status in FOREIGN[route].owner, (route, answer.body)


async def test_attack_09_a_foreign_id_in_a_body_answers_as_an_unknown_one(world: World) -> None:
    own = {"own": world.eves_task}
    for what, naming in NAMED.items():
        path = naming.path.format(own=world.eves_task)
        foreign = await world.eve.ask(naming.method, path, fill(naming.body, {**world.ids, **own}))
        nowhere = await world.eve.ask(naming.method, path, fill(naming.body, {**nobodys(world.ids), **own}))
        assert foreign.status == 404 and foreign.body == nowhere.body, what


async def test_attack_09_a_foreign_task_on_a_socket_is_as_one_that_is_not_there(app: AppUnderTest) -> None:
    ana, eve = await app.sign_in("ana"), await app.sign_in("eve")
    task, eves = await ana.new_task("Secret merger"), await eve.new_task("Eve's own")
    _, token = await app.with_bearer(eve)
    _, secret = await app.nouns.tokens.issue(eve.user, role=Role.OWNER, at=0.0, expires_at=9e9)

    async def told(port: int, name: str) -> tuple[int, str]:
        url = f"ws://127.0.0.1:{port}/sync/{name}"
        offered = [Subprotocol("clew.v1"), Subprotocol(f"token.{secret}")]
        async with connect(url, subprotocols=offered, proxy=None) as socket:
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
        assert closed.value.rcvd is not None
        return closed.value.rcvd.code, closed.value.rcvd.reason

    async def answered(port: int, name: str) -> bytes:
        async with connect(f"ws://127.0.0.1:{port}/hocuspocus", proxy=None) as socket:
            await socket.send(varstring(name) + b"\x02\x00" + varstring(secret) + varstring("4.0.0"))
            said = await socket.recv()
        assert isinstance(said, bytes)
        return said.removeprefix(varstring(name))

    async with on_the_wire(app.app) as port:
        for part in ("", "/margin"):
            foreign = await told(port, task + part)
            assert foreign[0] == 4404 and foreign == await told(port, new_id() + part)
            said = await answered(port, task + part)
            assert said[:2] == b"\x02\x01" and said == await answered(port, new_id() + part)
            assert await answered(port, eves + part) != said  # hers, so that the line above is no accident
    assert token and (await ana.get(f"/tasks/{task}")).status == 200


async def test_without_a_credential_every_route_is_closed(app: AppUnderTest, world: World) -> None:
    for row in app.rows:
        route = (row.method, row.path)
        for headers in ({}, {"authorization": "Bearer " + "A" * 43}, {"cookie": "clew-8484=" + "A" * 43}):
            who = Browser(app.app, {"origin": "http://localhost:8484", **headers})
            path = row.path.replace("{id}", world.ids["task"]).format_map(world.ids)
            answer = await who.ask(row.method, path, {} if row.method in ("POST", "PATCH", "PUT") else None)
            if route in OPEN:
                assert answer.status in (200, 401, 404, 422), route
            else:
                assert answer.status == 401 and answer.code == "unauthenticated", route
                assert answer.headers["www-authenticate"].startswith("Bearer")
