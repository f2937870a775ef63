"""What an agent may not do. One table over every route: what does not name agents is closed to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import Answered, AppUnderTest, Browser, app_under_test
from kit.intruder import FOREIGN, OPEN
from starlette.datastructures import Headers

from crdt_docs.ids import TaskId, TokenId, new_id
from server.domain.access import Role
from server.domain.agent import BUILT_IN
from server.domain.errors import Forbidden, NotFound, Unauthenticated
from server.domain.turn import HEAD_START
from server.doors.authority import require_account, require_login

ANYONE = set(OPEN)
OF_GRANTS = {
    ("GET", "/tasks"), ("GET", "/tasks/{id}"), ("GET", "/tasks/{id}/turns"), ("GET", "/tasks/{id}/working-set"),
    ("GET", "/tasks/{id}/resume"), ("POST", "/tasks/{id}/messages"), ("PUT", "/tasks/{id}/proposed-name"),
}  # fmt: skip
"""All that an agent may do with its grant, on its task."""
OF_HOSTS = {
    ("GET", "/turns/offers"), ("POST", "/turns/{id}/lease"), ("POST", "/turns/{id}/renew"), ("POST", "/turns/{id}/end"),
}  # fmt: skip
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    **{route: dict(attempt.body) for route, attempt in FOREIGN.items() if attempt.body is not None},
    **{route: dict(body) for route, body in OPEN.items() if body is not None},
    ("PUT", "/tasks/{id}/proposed-name"): {"name": "Acme"},
    ("POST", "/turns/{id}/end"): {"outcome": "done"},
}


@dataclass
class Scene:
    """A running turn of Ann's: her browser, the host that has it and the agent that answers it."""

    app: AppUnderTest
    ann: Browser
    host: Browser
    agent: Browser
    task: TaskId
    other: TaskId
    turn: str
    grant: TokenId
    device: str
    session: str

    async def state(self) -> list[Any]:
        """All that Ann can see."""
        paths = [
            "/tasks",
            "/tokens",
            "/devices",
            "/sessions",
            f"/tasks/{self.task}/members",
            f"/tasks/{self.task}/turns",
        ]
        return [(await self.ann.get(path)).json for path in paths]

    async def ask(self, who: Browser, route: tuple[str, str], task: str, turn: str) -> Answered:
        method, path = route
        noun = path.split("/")[1]
        ids = {"tasks": task, "turns": turn, "tokens": self.grant, "devices": self.device, "sessions": self.session}
        there = path.replace("{id}", ids.get(noun, new_id())).replace("{user}", self.ann.user)
        body = BODIES.get(route, {}) if method in ("POST", "PATCH", "PUT") else None
        return await who.ask(method, there, body)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with app_under_test(tmp_path) as app:
        ann = await app.sign_in("ann")
        await app.sign_in("eve")
        made = await ann.post("/tasks", {})
        task, other = TaskId(made.json["id"]), await ann.new_task("Another")
        _, secret = app.built_in.admit(await app.nouns.agents.ensure(None, BUILT_IN, app.clock.now()))
        host = app.holding(secret)
        session = (await ann.post("/sessions", {"device": "phone"})).json["id"]
        await ann.post(f"/tasks/{task}/messages", {"text": "Hello?"})
        turn = (await ann.get(f"/tasks/{task}/turns")).json["turns"][0]["id"]
        lease = (await host.post(f"/turns/{turn}/lease", {})).json
        agent = app.holding(lease["grant"]["token"])
        grant = (await app.doors.authentication.of_request(Headers(agent.headers))).token
        assert grant is not None
        yield Scene(app, ann, host, agent, task, other, turn, grant, ann.device, session)


def rows(scene: Scene) -> list[tuple[str, str]]:
    return [(row.method, row.path) for row in scene.app.rows]


async def test_the_tables_name_routes_that_are_there(scene: Scene) -> None:
    assert OF_GRANTS | OF_HOSTS | ANYONE <= set(rows(scene))
    assert {(row.method, row.path) for row in scene.app.rows if row.door == "host"} == OF_HOSTS
    assert {(row.method, row.path) for row in scene.app.rows if row.door in ("grant", "member")} == OF_GRANTS


async def test_attack_16_whatever_does_not_name_agents_is_closed_to_them_and_changes_nothing(scene: Scene) -> None:
    before = await scene.state()
    for route in rows(scene):
        if route not in OF_GRANTS | ANYONE:
            answer = await scene.ask(scene.agent, route, scene.task, scene.turn)
            assert (answer.status, answer.code) == (403, "forbidden"), route
        if route not in OF_HOSTS | ANYONE:
            answer = await scene.ask(scene.host, route, scene.task, scene.turn)
            assert (answer.status, answer.code) == (403, "forbidden"), route
        if route in OF_HOSTS or route == ("PUT", "/tasks/{id}/proposed-name"):
            answer = await scene.ask(scene.ann, route, scene.task, scene.turn)
            assert (answer.status, answer.code) == (403, "forbidden"), route
    assert await scene.state() == before


@pytest.mark.parametrize("route", sorted(OF_GRANTS), ids=" ".join)
async def test_attack_16_a_grant_does_what_it_is_for_on_its_task_and_knows_of_no_other(
    scene: Scene, route: tuple[str, str]
) -> None:
    assert (await scene.ask(scene.agent, route, scene.task, scene.turn)).status in (200, 201)
    if "{id}" in route[1]:
        elsewhere = await scene.ask(scene.agent, route, scene.other, scene.turn)
        nowhere = await scene.ask(scene.agent, route, new_id(), scene.turn)
        assert elsewhere.status == 404 and elsewhere.body == nowhere.body
    else:
        assert [task["id"] for task in (await scene.agent.get("/tasks")).json["tasks"]] == [scene.task]


async def test_a_grant_names_no_session_and_asks_for_no_ticket(scene: Scene) -> None:
    named = await scene.agent.post(f"/tasks/{scene.task}/messages", {"text": "x", "session": scene.session})
    assert named.status == 404
    _, ticket = await scene.app.nouns.tickets.issue(
        scene.ann.user, scene.task, scene.app.clock.now(), token=scene.grant
    )
    with pytest.raises(Unauthenticated):
        await scene.app.doors.authentication.of_secret(f"ticket.{ticket}", scene.task)


async def test_the_principal_of_a_grant_is_the_agent_for_the_user(scene: Scene) -> None:
    who = await scene.app.doors.authentication.of_secret(f"token.{_bearer(scene.agent)}", scene.task)
    agent = await scene.app.nouns.agents.ensure(None, BUILT_IN, 0.0)
    assert (who.kind, who.agent, who.name, who.user) == ("agent", agent.id, BUILT_IN, scene.ann.user)
    assert (who.task, who.cap, who.key) == (scene.task, Role.EDITOR, f"agent:{agent.id}")
    for require in (require_account, require_login):
        with pytest.raises(Forbidden):
            require(who)
    assert await scene.app.doors.authority.role(who, scene.task) is Role.EDITOR
    with pytest.raises(NotFound):
        await scene.app.doors.authority.role(who, scene.other)


async def test_a_host_has_no_role_on_any_task_not_even_its_user_s(scene: Scene) -> None:
    app, now = scene.app, scene.app.clock.now()
    mine = await app.nouns.agents.ensure(scene.ann.user, "Mine", now)
    _, secret = await app.nouns.tokens.issue(
        scene.ann.user, role=Role.EDITOR, at=now, expires_at=now + 60, agent=mine.id
    )
    for bearer in (secret, _bearer(scene.host)):
        who = await app.doors.authentication.of_secret(f"token.{bearer}", scene.task)
        assert who.kind == "host"
        with pytest.raises(NotFound):
            await app.doors.authority.role(who, scene.task)
        for require in (require_account, require_login):
            with pytest.raises(Forbidden):
                require(who)


async def test_the_built_in_agent_s_bearer_is_one_is_kept_nowhere_and_dies_when_it_is_replaced(scene: Scene) -> None:
    agent = await scene.app.nouns.agents.ensure(None, BUILT_IN, 0.0)
    assert (await scene.host.post(f"/turns/{scene.turn}/renew", {})).status == 200
    _, secret = scene.app.built_in.admit(agent)
    assert (await scene.host.post(f"/turns/{scene.turn}/renew", {})).status == 401
    assert (await scene.app.holding(secret).post(f"/turns/{scene.turn}/renew", {})).status == 409  # another's lease
    scene.app.built_in.dismiss()
    assert (await scene.app.holding(secret).post(f"/turns/{scene.turn}/renew", {})).status == 401
    assert await scene.app.nouns.database.all("SELECT 1 FROM tokens WHERE kind = 'host'") == []


async def test_revoking_a_host_ends_what_it_was_given(scene: Scene) -> None:
    app, now = scene.app, scene.app.clock.now()
    mine = await app.nouns.agents.ensure(scene.ann.user, "Mine", now)
    token, secret = await app.nouns.tokens.issue(
        scene.ann.user, role=Role.EDITOR, at=now, expires_at=now + 60, agent=mine.id
    )
    listed = (await scene.ann.get("/tokens")).json["tokens"]
    assert [(one["id"], one["agent"]) for one in listed] == [(token.id, "Mine")]
    await scene.ann.post(f"/tasks/{scene.other}/messages", {"text": "And here?"})
    turn = (await scene.ann.get(f"/tasks/{scene.other}/turns")).json["turns"][0]["id"]
    app.clock.advance(HEAD_START)
    lease = (await app.holding(secret).post(f"/turns/{turn}/lease", {})).json
    agent = app.holding(lease["grant"]["token"])
    assert (await agent.get(f"/tasks/{scene.other}")).status == 200
    assert (await scene.ann.delete(f"/tokens/{token.id}")).status == 204
    assert (await agent.get(f"/tasks/{scene.other}")).status == 401


async def test_secrets_of_grants_stand_in_no_file(scene: Scene, tmp_path: Path) -> None:
    held = bytes_in(tmp_path)
    for who in (scene.agent, scene.host):
        assert _bearer(who).encode() not in held


def bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


def _bearer(who: Browser) -> str:
    return who.headers["authorization"].removeprefix("Bearer ")
