"""Attacks by what was under way: requests, grants and deletions that outlive what was taken back or erased."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import Answered, AppUnderTest, Browser, app_under_test

from crdt_docs.ids import DocName, TaskId, new_id
from crdt_docs.schema import seed
from crdt_docs.updates.compose import Composer
from server.config import Config
from server.domain.access import Principal, Role
from server.domain.erasure import Wish
from server.domain.errors import ClewError, Conflict, Unauthenticated
from server.domain.login import Login
from server.services import Services, open_services
from server.store.erasure import Erasures
from server.store.examine import known_tasks, tasks_with_words

GRANT = "urn:ietf:params:oauth:grant-type:device_code"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as made:
        yield made


async def form(app: AppUnderTest, path: str, **fields: str) -> Answered:
    body = "&".join(f"{name}={value}" for name, value in fields.items()).encode()
    return await app.nobody.ask("POST", path, body, content_type="application/x-www-form-urlencoded")


async def login_of(app: AppUnderTest, browser: Browser) -> Login:
    return next(one for one in await app.nouns.logins.of_user(browser.user) if one.device == browser.device)


async def test_attack_47_what_a_device_gave_and_nobody_has_fetched_goes_with_the_device(app: AppUnderTest) -> None:
    owner, thief = await app.sign_in("owner"), await app.sign_in("owner", "stolen")
    asked = (await form(app, "/device/authorize", client_id="clew", role="owner")).json
    approve = {"code": asked["user_code"], "verdict": "approve", "role": "owner", "ttl": 31622400}
    assert (await thief.post("/device/decide", approve)).status == 200
    invited = (await thief.post("/invitations")).json["url"].partition("#")[2]
    link = (await thief.post("/links")).json["url"].partition("#k=")[2]
    kept = (await owner.post("/invitations")).json["url"].partition("#")[2]
    assert (await owner.delete(f"/devices/{thief.device}")).status in (200, 204)
    polled = await form(app, "/device/token", grant_type=GRANT, device_code=asked["device_code"])
    assert (polled.status, polled.json) == (400, {"error": "invalid_grant"})
    assert (await app.nobody.post("/invitations/accept", {"secret": invited, "name": "Sneaky"})).status == 401
    assert (await app.nobody.post("/signin", {"key": link})).status == 401
    assert (await app.nobody.post("/invitations/check", {"secret": kept})).json == {"good": True}, "another device's"


async def test_attack_47_what_was_authenticated_before_a_revocation_makes_no_way_in_after_it(app: AppUnderTest) -> None:
    owner, thief = await app.sign_in("owner"), await app.sign_in("owner", "stolen")
    login, nouns, now = await login_of(app, thief), app.nouns, app.clock.now()
    grant, _, _ = await nouns.device_grants.ask("clew", None, Role.OWNER, 60, now)
    user = login.user
    await owner.delete(f"/devices/{thief.device}")
    with pytest.raises(Unauthenticated):
        await app.doors.links.issue(user, login.id)
    with pytest.raises(Unauthenticated):
        await nouns.invitations.issue(user, now, login.id)
    with pytest.raises(Unauthenticated):
        await nouns.identities.add("https://id.example", "thief", user, now, login=login.id)
    with pytest.raises(Conflict):
        await nouns.passkeys.add(login, b"id", b"key", 0, "key", False, now)
    assert not await nouns.device_grants.approve(grant.id, user, Role.OWNER, 60, None, now, login.id)
    for table in ("links WHERE used_at IS NULL", "invitations", "identities", "passkeys"):
        assert await nouns.database.all(f"SELECT * FROM {table}") == []


async def test_attack_46_an_export_leaves_out_what_others_wrote_while_they_were_on_the_task(app: AppUnderTest) -> None:
    ana, bob = await app.sign_in("ana"), await app.sign_in("bob")
    task = await ana.new_task("Diary")
    await ana.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
    for who, text in ((ana, "ANA-SAID-THIS"), (bob, "BOB-SAID-THIS"), (ana, "ANA-ANSWERED")):
        assert (await who.post(f"/tasks/{task}/messages", {"text": text})).status == 201
    assert (await ana.delete(f"/tasks/{task}/members/{bob.user}")).status == 204
    ticket = (await ana.post("/me/export")).json["ticket"]
    got = await ana.get("/me/export", clew_export=ticket)
    [diary] = got.json["tasks"]
    assert sorted(said["text"] for said in diary["working_set"]["messages"]) == ["", "ANA-ANSWERED", "ANA-SAID-THIS"]
    assert b"BOB-SAID-THIS" not in got.body and bob.user.encode() not in got.body
    shown = (await ana.get(f"/tasks/{task}/working-set")).json["messages"]
    assert "BOB-SAID-THIS" in [said["text"] for said in shown], "the task itself is as it was"


async def test_attack_14_a_device_that_a_task_shuts_out_does_not_delete_it_by_erasing_its_person(
    app: AppUnderTest,
) -> None:
    flo = await app.sign_in("flo")
    task = await flo.new_task("guarded")
    await app.nouns.database.write(
        "INSERT INTO policies (task, resume, device, confirm, changed_at) VALUES (?, 'members', 'bound', 'none', 0)",
        task,
    )
    app.doors.authority.forget(task)
    refused = await flo.post("/me/erase", {"confirm": "flo"})
    assert (refused.status, refused.json["reason"]) == (403, "policy_device")
    assert b"guarded" not in refused.body and (await flo.get("/me")).status == 200
    assert await app.nouns.tasks.role(flo.user, task) == Role.OWNER
    await app.nouns.database.write("DELETE FROM policies")
    app.doors.authority.forget(task)
    assert (await flo.post("/me/erase", {"confirm": "flo"})).status == 200


async def test_attack_43_an_heirs_place_hangs_on_no_link_and_a_withdrawal_takes_no_owner(app: AppUnderTest) -> None:
    fay, gus, ida = await app.sign_in("fay"), await app.sign_in("gus"), await app.sign_in("ida")
    task = await fay.new_task()
    share = (await fay.post(f"/tasks/{task}/shares", {"role": "viewer"})).json
    id, _, secret = share["url"].partition("#")[2].partition(".")
    for who in (gus, ida):
        app.clock.advance(1)
        assert (await who.post("/shares/redeem", {"id": id, "secret": secret})).json["fresh"] is True
    assert (await fay.post("/me/erase", {"confirm": "fay"})).status == 200
    members = (await gus.get(f"/tasks/{task}/members")).json["members"]
    assert [(one["role"], one["link"]) for one in members] == [("owner", None), ("viewer", id)]
    # as a folder of before has it: the owner's place still names the link
    await app.nouns.database.write("UPDATE members SET share = ? WHERE user = ?", id, gus.user)
    assert (await gus.delete(f"/tasks/{task}/shares/{id}")).status == 204
    assert (await gus.get(f"/tasks/{task}")).json["role"] == "owner" and (await ida.get(f"/tasks/{task}")).status == 404


async def begin(services: Services, who: Principal, name: str) -> TaskId:
    task, document = await services.nouns.tasks.create(who.user, name, services.clock.now()), new_id()

    def plant(composer: Composer) -> None:
        seed(composer, name=name, document=document)

    await services.rooms.compose(DocName(task.id), who, plant, fresh=True)
    return task.id


async def person(services: Services, name: str) -> Principal:
    user = await services.nouns.users.add(name, services.clock.now())
    return Principal(user.id, name, authenticated_at=services.clock.monotonic())


def holding(folder: Path, mark: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and mark in path.read_bytes()]


def documents(data: Path) -> set[str]:
    with closing(sqlite3.connect(data / "log.db")) as log:
        return {row[0] for row in log.execute("SELECT task FROM documents")}


async def test_attack_44_what_is_under_way_while_its_person_is_erased_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_services(Config(data=tmp_path, durability="process", agent=False)) as services:
        vic, bob = await person(services, "vic"), await person(services, "bob")
        await begin(services, vic, "first")
        bobs = await begin(services, bob, "bob's")
        close, remove, late = Erasures.close_doors, Erasures.remove, list[TaskId]()

        async def close_late(self: Erasures, what: Any) -> None:
            if not late:  # it was authenticated in time, and commits between the look and the doors' closing
                late.append(await begin(services, vic, "VICS-SECRET"))
            await close(self, what)

        async def remove_late(self: Erasures, what: Any, stubs: Any) -> None:
            for made in (
                services.nouns.tasks.create(vic.user, "VICS-SECRET", 1.0),
                services.nouns.tasks.add_member(bobs, vic.user, Role.EDITOR, 1.0),
                services.nouns.devices.add(vic.user, "VICS-SECRET", "browser", 1.0),
                services.nouns.links.issue(vic.user, 1.0),
                services.nouns.tokens.issue(vic.user, role=Role.OWNER, at=1.0, expires_at=1e12),
            ):
                with pytest.raises(ClewError):
                    await made
            await remove(self, what, stubs)

        monkeypatch.setattr(Erasures, "close_doors", close_late)
        monkeypatch.setattr(Erasures, "remove", remove_late)
        await services.parts.erasure.erase(vic.user, Wish())
        with pytest.raises(Conflict):
            await services.nouns.tasks.create(vic.user, "VICS-SECRET", 1.0)
        assert [task.name for task in await services.nouns.tasks.every()] == ["bob's"]
        assert late and documents(tmp_path) == {bobs}
        assert not holding(tmp_path, b"VICS-SECRET")


async def test_attack_43_a_deletion_that_a_crash_interrupted_is_finished_and_nothing_else_goes(tmp_path: Path) -> None:
    config = Config(data=tmp_path, durability="process", agent=False)
    async with open_services(config) as services:
        ann = await person(services, "ann")
        stays, gone, older = [await begin(services, ann, name) for name in ("stays", "gone", "older")]
        await services.nouns.tasks.delete(ann.user, gone)  # and here the power went
        await services.nouns.tasks.delete(ann.user, older)
        # an older clew.db beside a newer log: the task is in the log alone, and nobody has deleted it
        await services.nouns.database.write("DELETE FROM deleted_tasks WHERE task = ?", older)
    assert documents(tmp_path) == {stays, gone, older}
    async with open_services(config) as services:
        assert await services.nouns.tasks.role(ann.user, stays) == Role.OWNER
    assert documents(tmp_path) == {stays, older} == set(tasks_with_words(tmp_path / "log.db"))
    assert known_tasks(tmp_path / "clew.db") == frozenset([str(stays)])
    async with open_services(config) as services:
        await services.nouns.tasks.create(ann.user, "brought back", 1.0, task=gone)
        assert (await services.rooms.read(DocName(stays))).update
