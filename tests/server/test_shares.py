"""Share links: who comes in by one, as what, for how long; and that a link gives nothing that it does not say."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from joserfc.jwk import ECKey
from kit.app_under_test import HOST, ORIGIN, Answered, AppUnderTest, Browser
from kit.intruder import FOREIGN, WITHOUT_IDS, fill, new_world
from kit.keyed import new_key, proof, sign_in
from kit.watching import Wire, closing, is_open, wire_in

from crdt_docs.ids import DeviceId, TaskId, UserId, new_id
from server.domain.clock import iso
from server.domain.credential import hash_secret
from server.http.endpoint import PREFIX

TITLE = "Secret merger"


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    async with wire_in(tmp_path) as wire:
        yield wire


async def a_link(owner: Browser, task: str, **wanted: object) -> dict[str, Any]:
    """A new link of the task: what the owner was answered, and what is presented of it."""
    made = await owner.post(f"/tasks/{task}/shares", wanted)
    assert made.status == 201, made.body
    id, _, secret = made.json["url"].partition("#")[2].partition(".")
    assert id == made.json["id"] and len(secret) == 43
    answer: dict[str, Any] = {**made.json, "shown": {"id": id, "secret": secret}}
    return answer


async def present(app: AppUnderTest, link: dict[str, Any], **extra: str | None) -> Answered:
    """Present the link in a browser that nobody knows."""
    return await Browser(app.app, {"origin": ORIGIN}).post("/shares/redeem", link["shown"], **extra)


async def as_guest(app: AppUnderTest, link: dict[str, Any]) -> Browser:
    """Come in by the link in a browser that nobody knows."""
    answer = await present(app, link)
    assert answer.status == 200, answer.body
    guest = Browser(app.app, {"origin": ORIGIN, "cookie": answer.headers["set-cookie"].partition(";")[0]})
    me = (await guest.get("/me")).json
    guest.user, guest.device = UserId(me["user"]["id"]), DeviceId(me["device"])
    return guest


def prove(app: AppUnderTest, key: ECKey, method: str, path: str) -> str:
    """A proof by the key for one request."""
    return proof(key, method, f"http://{HOST}{path}", app.clock.now(), app.doors.proofs.nonces.issue())


async def test_a_guest_comes_in_under_a_name_of_ours_to_that_task_alone(wire: Wire) -> None:
    app, owner = wire.app, await wire.app.sign_in()
    task, other = await owner.new_task(TITLE), await owner.new_task("Another")
    link = await a_link(owner, task, role="editor", uses=2)
    assert link["url"].startswith(f"{ORIGIN}/s#") and link["secret" if "secret" in link else "id"] == link["id"]
    for method in ("GET", "HEAD"):  # what a preview or a scanner does
        assert (await app.nobody.ask(method, "//s", sec_purpose="prefetch")).status == 200
    assert (await app.nobody.get("/shares/redeem")).status in (404, 405)
    assert (await owner.get(f"/tasks/{task}/shares")).json["shares"][0]["uses"] == 0

    guest, second = await as_guest(app, link), await as_guest(app, link)
    name = (await guest.get("/me")).json["user"]["name"]
    assert name.startswith("Guest ") and name != (await second.get("/me")).json["user"]["name"]
    assert (await present(app, link)).status == 404  # both of its uses are used
    assert [one["id"] for one in (await guest.get("/tasks")).json["tasks"]] == [task]
    assert (await guest.post(f"/tasks/{task}/messages", {"text": "hello"})).status == 201
    assert (await guest.get(f"/tasks/{other}")).status == 404
    members = (await owner.get(f"/tasks/{task}/members")).json["members"]
    mine = next(one for one in members if one["user"] == guest.user)
    assert (await owner.patch(f"/tasks/{task}/members/{guest.user}", {"role": "owner"})).status == 422
    assert (await owner.post(f"/tasks/{task}/members", {"user": guest.user, "role": "owner"})).status == 422
    assert mine["guest"] and mine["link"] == link["id"] and mine["until"] == link["expires_at"]
    listed = (await owner.get(f"/tasks/{task}/shares")).json["shares"]
    assert [(one["uses"], one["open"], one["used_at"] is None) for one in listed] == [(2, False, False)]
    assert link["shown"]["secret"] not in str(listed)
    chinese = await present(app, await a_link(owner, task), accept_language="zh-CN")
    assert chinese.json["user"]["name"].startswith("访客")


async def test_no_bearer_joins_a_task_by_a_link_not_even_beside_a_cookie(wire: Wire) -> None:
    app, owner = wire.app, await wire.app.sign_in()
    bob = await app.sign_in("bob")
    task = await owner.new_task(TITLE)
    link, own = await a_link(owner, task, role="editor"), await bob.new_task("Bob's")
    bearer = (await bob.post("/tokens", {"task": own, "role": "viewer"})).json["token"]
    guest = await as_guest(app, link)
    answer = await guest.post("/shares/redeem", link["shown"], authorization=f"Bearer {bearer}")
    assert answer.status == 403
    members = (await owner.get(f"/tasks/{task}/members")).json["members"]
    assert bob.user not in [one["user"] for one in members]


async def test_a_link_withdrawn_takes_with_it_whoever_came_by_it_and_nobody_else(wire: Wire) -> None:
    app, owner = wire.app, await wire.app.sign_in()
    bob, cleo = await app.sign_in("bob"), await app.sign_in("cleo")
    task = await owner.new_task(TITLE)
    link, another = await a_link(owner, task, role="editor"), await a_link(owner, task)
    guest, stays = await as_guest(app, link), await as_guest(app, another)
    assert (await bob.post("/shares/redeem", link["shown"])).json["fresh"]
    assert (await cleo.post("/shares/redeem", link["shown"])).json["fresh"]
    await owner.post(f"/tasks/{task}/members", {"user": "cleo", "role": "viewer"})  # her own place from now on
    sockets = {name: await wire.watch(who, task) for name, who in (("guest", guest), ("bob", bob), ("stays", stays))}
    assert (await owner.delete(f"/tasks/{task}/shares/{link['id']}")).status == 204
    for name in ("guest", "bob"):
        assert (await closing(sockets[name]))[0] == 4403
    assert await is_open(sockets["stays"])
    for who in (guest, bob):
        assert (await who.get(f"/tasks/{task}")).status == 404 and (await who.get("/tasks")).json["tasks"] == []
    assert (await cleo.get(f"/tasks/{task}")).json["role"] == "viewer"
    assert (await present(app, link)).status == 404
    assert [one["id"] for one in (await owner.get(f"/tasks/{task}/shares")).json["shares"]] == [another["id"]]
    elsewhere = await a_link(owner, await owner.new_task("Another"))
    assert (await guest.post("/shares/redeem", elsewhere["shown"])).json["user"]["id"] != guest.user  # a guest anew
    assert (await owner.delete(f"/tasks/{task}/shares/{link['id']}")).status == 204  # again is the same as once
    await sockets["stays"].close()


async def test_a_link_changes_no_role_that_somebody_has_and_burns_no_use_for_it(wire: Wire) -> None:
    app, owner = wire.app, await wire.app.sign_in()
    bob, eve = await app.sign_in("bob"), await app.sign_in("eve")
    task = await owner.new_task()
    await owner.post(f"/tasks/{task}/members", {"user": "bob", "role": "viewer"})
    await owner.post(f"/tasks/{task}/members", {"user": "eve", "role": "owner"})
    link = await a_link(owner, task, role="editor", uses=1)
    for who, role in ((bob, "viewer"), (eve, "owner"), (owner, "owner")):
        answer = (await who.post("/shares/redeem", link["shown"])).json
        assert (answer["role"], answer["fresh"], answer["task"]) == (role, False, task)
        assert (await who.get(f"/tasks/{task}")).json["role"] == role
    assert (await owner.get(f"/tasks/{task}/shares")).json["shares"][0]["uses"] == 0
    assert (await owner.delete(f"/tasks/{task}/shares/{link['id']}")).status == 204
    assert (await bob.get(f"/tasks/{task}")).status == 200


async def test_of_fifty_who_present_a_link_for_one_at_once_one_comes_in(wire: Wire) -> None:
    owner = await wire.app.sign_in()
    task = await owner.new_task()
    link = await a_link(owner, task, uses=1)
    answers: list[int] = []

    async def attempt() -> None:
        answers.append((await present(wire.app, link)).status)

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(attempt)
    assert sorted(answers) == [200] + [404] * 49
    assert len((await owner.get(f"/tasks/{task}/members")).json["members"]) == 2


async def test_unknown_expired_used_and_withdrawn_links_get_one_answer(wire: Wire) -> None:
    app, owner = wire.app, await wire.app.sign_in()
    task = await owner.new_task()
    short, used = await a_link(owner, task, ttl=60), await a_link(owner, task, uses=1)
    withdrawn, good = await a_link(owner, task), await a_link(owner, task)
    guest = await as_guest(app, short)
    await as_guest(app, used)
    await owner.delete(f"/tasks/{task}/shares/{withdrawn['id']}")
    app.clock.advance(60)
    assert (await guest.get(f"/tasks/{task}")).status in (401, 403)  # who came by it is out when it ends
    wrong = {"shown": {**good["shown"], "secret": "A" * 43}}
    swapped = {"shown": {"id": good["id"], "secret": used["shown"]["secret"]}}
    unknown = {"shown": {"id": new_id(), "secret": good["shown"]["secret"]}}
    answers = [await present(app, link) for link in (short, used, withdrawn, wrong, swapped, unknown)]
    assert {answer.status for answer in answers} == {404} and len({answer.body for answer in answers}) == 1
    assert (await present(app, good)).status == 200


async def test_a_link_for_people_of_this_server_or_for_devices_with_a_key_lets_nobody_else_in(wire: Wire) -> None:
    app, owner = wire.app, await wire.app.sign_in()
    bob = await app.sign_in("bob")
    task = await owner.new_task(TITLE)
    known = await a_link(owner, task, sign_in=True)
    refused = await present(app, known)
    assert refused.status == 401 and refused.json["reason"] == "sign_in"
    assert (await bob.post("/shares/redeem", known["shown"])).status == 200
    keyed = await a_link(owner, task, registered=True)
    refused = await present(app, keyed)
    assert refused.status == 403 and refused.json["reason"] == "policy_device" and TITLE not in str(refused.body)
    listed = (await owner.get(f"/tasks/{task}/shares")).json["shares"]
    assert {one["id"]: one["uses"] for one in listed} == {keyed["id"]: 0, known["id"]: 1}
    key = new_key()
    came = await present(app, keyed, dpop=prove(app, key, "POST", f"{PREFIX}/shares/redeem"))
    assert came.status == 200
    headers = {"origin": ORIGIN, "cookie": came.headers["set-cookie"].partition(";")[0]}
    path = f"{PREFIX}/tasks/{task}"
    assert (await Browser(app.app, headers).get(f"/tasks/{task}", dpop=prove(app, key, "GET", path))).status == 200
    assert (await Browser(app.app, headers).get(f"/tasks/{task}")).status == 401  # a copied cookie
    await owner.ask("PUT", f"/tasks/{task}/policy", {"resume": "owner", "device": "any", "confirm": "none"})
    refused = await present(app, await a_link(owner, task))
    assert refused.status == 403 and refused.json["reason"] == "policy_resume"


async def test_a_guest_passes_nothing_on_and_takes_nothing_away(wire: Wire) -> None:
    """Every route of the API, tried by a guest who may edit: none for the account, none for the task's owners."""
    world = await new_world(wire.app)
    link = await a_link(world.ana, world.task, role="editor")
    guest = await as_guest(wire.app, link)
    before = await world.state()
    allowed = {
        ("GET", "/tasks"), ("GET", "/me"), ("POST", "/sessions"), ("POST", "/signout"), ("GET", "/devices/check"),
    }  # fmt: skip
    for method, path in sorted(WITHOUT_IDS - allowed):
        answer = await guest.ask(method, path, {} if method != "GET" else None)
        assert answer.status in (403, 422) or (method == "GET" and _is_own(answer, guest)), (method, path, answer.body)
    for method, path in (
        ("POST", "/tasks/{id}/members"), ("POST", "/tasks/{id}/shares"), ("GET", "/tasks/{id}/shares"),
        ("PUT", "/tasks/{id}/policy"), ("DELETE", "/tasks/{id}"), ("DELETE", "/tasks/{id}/shares/{share}"),
        ("PATCH", "/tasks/{id}/members/{user}"), ("DELETE", "/tasks/{id}/members/{user}"),
    ):  # fmt: skip
        attempt = FOREIGN[method, path]
        answer = await guest.ask(method, attempt.path(path, world.ids), fill(attempt.body, world.ids))
        assert answer.status == 403, (method, path, answer.body)
    assert await world.state() == before
    assert (await guest.post("/shares/redeem", link["shown"])).json["fresh"] is False
    elsewhere = await a_link(world.eve, world.eves_task)
    assert (await guest.post("/shares/redeem", elsewhere["shown"])).status == 403
    assert (await guest.get(f"/tasks/{world.task}")).status == 200


def _is_own(answer: Answered, guest: Browser) -> bool:
    """Whether what was told is the guest's own and nobody else's."""
    return answer.status == 200 and b"ana" not in answer.body


async def test_a_bearer_makes_no_link_and_comes_in_by_none(wire: Wire) -> None:
    app, owner = wire.app, await wire.app.sign_in()
    task = await owner.new_task()
    script, _ = await app.with_bearer(owner)
    assert (await script.post(f"/tasks/{task}/shares", {})).status == 403
    link = await a_link(owner, task, uses=1)
    bob = await app.sign_in("bob")
    by_bearer, _ = await app.with_bearer(bob)
    answer = await by_bearer.post("/shares/redeem", link["shown"])
    assert answer.status == 200 and "set-cookie" in answer.headers  # to this door a bearer is nobody: a guest came in
    assert (await by_bearer.get(f"/tasks/{task}")).status == 404
    assert [event.event for event in await app.nouns.audit.latest()][:1] == ["share.used"]
    row = await app.nouns.database.one("SELECT hash FROM shares WHERE id = ?", link["id"])
    assert row is not None and row[0] == hash_secret(link["shown"]["secret"])
    assert await app.nouns.policies.place(bob.user, TaskId(task)) is None


async def test_who_does_not_meet_what_a_task_asks_burns_no_use_also_after_a_place_of_theirs_is_over(wire: Wire) -> None:
    app, owner, bob = wire.app, await sign_in(wire.app), await wire.app.sign_in("bob")
    task = await owner.new_task(TITLE)
    link = await a_link(owner, task, uses=1)
    until = iso(app.clock.now() + 60)
    await owner.post(f"/tasks/{task}/members", {"user": "bob", "role": "viewer", "until": until})
    app.clock.advance(61)
    rule = {"resume": "members", "device": "registered", "confirm": "none"}
    assert (await owner.ask("PUT", f"/tasks/{task}/policy", rule)).status == 200
    refused = await bob.post("/shares/redeem", link["shown"])
    assert (refused.status, refused.json["reason"]) == (403, "policy_device") and TITLE not in str(refused.body)
    assert (await owner.get(f"/tasks/{task}/shares")).json["shares"][0]["uses"] == 0


async def test_nobody_comes_back_by_an_older_link_to_more_than_an_owner_has_left_them(wire: Wire) -> None:
    app, ann = wire.app, await wire.app.sign_in()
    task, bob = await ann.new_task(), await app.sign_in("bob")
    old = await a_link(ann, task, role="editor", uses=50, sign_in=True)
    member = f"/tasks/{task}/members/{bob.user}"

    async def came() -> str | int:
        answer = await bob.post("/shares/redeem", old["shown"])
        return str(answer.json["role"]) if answer.status == 200 else answer.status

    assert await came() == "editor"
    assert (await bob.delete(member)).status == 204
    assert await came() == "editor"  # who left comes back as they were

    assert (await ann.patch(member, {"role": "viewer"})).status == 200
    assert (await bob.delete(member)).status == 204
    assert await came() == "viewer"
    soon = app.clock.now() + 60
    assert (await ann.patch(member, {"role": "viewer", "until": iso(soon)})).status == 200
    assert (await bob.delete(member)).status == 204
    assert await came() == "viewer"
    me = next(one for one in (await ann.get(f"/tasks/{task}/members")).json["members"] if one["user"] == bob.user)
    assert me["until"] == iso(soon)
    app.clock.advance(61)
    assert await came() == 404

    assert (await ann.delete(member)).status == 204
    assert await came() == 404
    assert (await ann.get(f"/tasks/{task}/shares")).json["shares"][0]["uses"] == 4  # none was burned for nothing
    app.clock.advance(1)
    new = await a_link(ann, task, role="commenter", sign_in=True)
    assert (await bob.post("/shares/redeem", new["shown"])).json["role"] == "commenter"
    assert (await ann.delete(member)).status == 204
    assert (await ann.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})).status == 201
    assert (await bob.get(f"/tasks/{task}")).json["role"] == "editor"
