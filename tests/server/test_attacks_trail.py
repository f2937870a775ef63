"""Attacks on what is told of people and on what outlives them: agents, exports, revocations, the trail itself."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import HOST, ORIGIN, AppUnderTest, Browser, app_under_test
from kit.handing_over import hand_over
from kit.rooms import Peer
from starlette.datastructures import Headers

from crdt_docs.ids import DocName, TaskId, UserId
from server.domain.access import Principal, Role
from server.domain.audit import GENESIS, AuditEvent, Deed
from server.domain.errors import ClewError, Forbidden, TooMany, Unauthenticated
from server.domain.turn import HEAD_START
from server.rooms import quota
from server.store.keys import Keys
from server.store.opening import opened_texts


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as made:
        yield made


def bytes_in(folder: Path) -> bytes:
    """All that the files of a folder hold, and what is sealed in its log."""
    files = b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())
    return files + b"".join(text for _, text in opened_texts(folder / "log.db"))


@dataclass
class Acting:
    """An agent at work for Ana: its bearer and who it is by it."""

    ana: Browser
    host: Browser
    agent: Browser
    principal: Principal
    task: TaskId
    turn: str


async def act(app: AppUnderTest) -> Acting:
    ana = await app.sign_in("ana")
    task = await ana.new_task()
    assert (await ana.post(f"/tasks/{task}/messages", {"text": "Who buys whom?"})).status == 201
    ada = await app.nouns.agents.ensure(ana.user, "Ada", app.clock.now())
    issued = await app.nouns.tokens.issue(ana.user, role=Role.EDITOR, at=0, expires_at=9e12, agent=ada.id)
    host = app.holding(issued[1])
    app.clock.advance(HEAD_START)
    turn = (await ana.get(f"/tasks/{task}/turns")).json["turns"][0]["id"]
    lease = (await host.post(f"/turns/{turn}/lease", {})).json
    agent = app.holding(lease["grant"]["token"])
    principal = await app.doors.authentication.of_request(Headers({"host": HOST, **agent.headers}))
    return Acting(ana, host, agent, principal, task, turn)


async def join(app: AppUnderTest, who: Principal, task: TaskId, client: int) -> Peer:
    peer = Peer(client)
    role = await app.doors.authority.role(who, task)
    peer.connection = await app.rooms.join(DocName(task), who, role, peer)
    await peer.greet()
    return peer


async def test_an_agents_effective_right_is_the_lesser_of_its_grant_and_its_users_role_now(app: AppUnderTest) -> None:
    """RFC 8693: the agent acts for the person, on one task, and never for more than the person may at that moment."""
    acting = await act(app)
    bob = await app.sign_in("bob")
    assert acting.principal.key.startswith("agent:") and acting.principal.user == acting.ana.user
    assert acting.principal.expires_at is not None and acting.principal.expires_at <= app.clock.now() + 900
    assert await app.doors.authority.role(acting.principal, acting.task) == Role.EDITOR  # of an owner's own
    await acting.ana.post(f"/tasks/{acting.task}/members", {"user": "bob", "role": "owner"})
    await bob.patch(f"/tasks/{acting.task}/members/{acting.ana.user}", {"role": "viewer"})
    with pytest.raises(ClewError):
        await join(app, acting.principal, acting.task, 5)
    assert (await acting.agent.post(f"/tasks/{acting.task}/messages", {"text": "x"})).status in (401, 403)


async def test_a_grant_that_writes_too_much_is_closed_and_people_are_not_counted(
    app: AppUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quota, "UPDATES", (5.0, 1.0))
    acting = await act(app)
    peer = await join(app, acting.principal, acting.task, 7)
    for _ in range(4):
        await peer.type("x")
    assert peer.closed is None
    other = await join(app, acting.principal, acting.task, 8)
    await other.type("y")
    await other.type("y")
    assert other.closed == (4429, quota.WHY), "all connections of a grant spend one quota"
    with pytest.raises(TooMany):
        await app.rooms.compose(DocName(acting.task), acting.principal, lambda c: c.set("notes", "n", "z"))
    app.clock.advance(60)
    await peer.type("x")
    assert peer.closed is None
    ana = Principal(acting.ana.user, "ana", authenticated_at=app.clock.monotonic())
    person = await join(app, ana, acting.task, 9)
    for _ in range(50):
        await person.type("x")
    assert person.closed is None


async def test_the_switch_stops_every_agent_in_the_task_until_an_owner_allows_them(app: AppUnderTest) -> None:
    acting = await act(app)
    peer = await join(app, acting.principal, acting.task, 7)
    await peer.type("before ")
    path = f"/tasks/{acting.task}/agents"
    assert (await acting.agent.post(f"{path}/stop", {})).status == 403, "no agent has a hand on the switch"
    stopped = await acting.ana.post(f"{path}/stop", {})
    assert stopped.json == {"agents": "stopped", "turns": 1}
    assert peer.closed is not None and peer.closed[0] == 4403
    await peer.say(b"\x00\x02\x02\x00\x00")
    assert (await acting.agent.get(f"/tasks/{acting.task}")).status == 401
    assert (await acting.host.post(f"/turns/{acting.turn}/lease", {})).status == 409
    await acting.ana.post(f"/tasks/{acting.task}/messages", {"text": "Still there?"})
    turns = (await acting.ana.get(f"/tasks/{acting.task}/turns")).json["turns"]
    assert [turn["status"] for turn in turns] == ["stopped"], "nothing is queued while agents are off"
    bob = await app.sign_in("bob")
    await acting.ana.post(f"/tasks/{acting.task}/members", {"user": "bob", "role": "editor"})
    assert (await bob.post(f"{path}/allow", {})).status == 403
    assert (await acting.ana.post(f"{path}/allow", {})).json["agents"] == "allowed"
    await acting.ana.post(f"/tasks/{acting.task}/messages", {"text": "And now?"})
    turns = (await acting.ana.get(f"/tasks/{acting.task}/turns")).json["turns"]
    assert [(turn["status"], len(turn["messages"])) for turn in turns] == [("queued", 1), ("stopped", 1)]
    events = [event.event for event in await app.nouns.audit.latest(20, acting.task)]
    assert "agents.stopped" in events and "agents.allowed" in events


async def test_who_is_let_in_to_one_task_does_not_stop_its_agents(app: AppUnderTest) -> None:
    ana = await app.sign_in("ana")
    task = await ana.new_task()
    link = (await ana.post(f"/tasks/{task}/shares", {"role": "editor"})).json
    id_, _, secret = link["url"].partition("#")[2].partition(".")
    guest = Browser(app.app, {"origin": ORIGIN})
    joined = await guest.post("/shares/redeem", {"id": id_, "secret": secret})
    guest.headers["cookie"] = joined.headers["set-cookie"].partition(";")[0]
    visiting, _ = await hand_over(app, ana, task)
    for who in (guest, visiting):
        assert (await who.post(f"/tasks/{task}/messages", {"text": "I may write."})).status == 201
        assert (await who.post(f"/tasks/{task}/agents/stop", {})).status == 403
    assert (await ana.get(f"/tasks/{task}/agents")).json["agents"] == "allowed"


async def test_attack_45_the_trail_shows_what_was_changed_removed_or_cut_off(tmp_path: Path) -> None:
    async with app_under_test(tmp_path) as app:
        ana = await app.sign_in("ana")
        for _ in range(6):
            token = (await ana.post("/tokens", {})).json
            await ana.delete(f"/tokens/{token['id']}")
        audit = app.nouns.audit
        assert await audit.findings() == []
        number, head = await audit.head()
        known = await audit.findings(number, head)
        assert known == [] and number >= 13
        with pytest.raises(ValueError, match="noun and a verb"):
            await audit.append("token.made", 1.0, by=(await audit.latest(1))[0].by, subjects=["some words of a text"])
        assert token["token"].encode() not in bytes_in(tmp_path)
        with closing(sqlite3.connect(tmp_path / "clew.db")) as other:
            kept = other.execute("SELECT * FROM audit ORDER BY id").fetchall()
            columns = ", ".join("?" * len(kept[0]))

            async def found(sql: str, *values: object) -> list[str]:
                other.execute(sql, values)
                other.commit()
                told = [why for _, why in await audit.findings()]
                other.execute("DELETE FROM audit")
                other.executemany(f"INSERT INTO audit VALUES ({columns})", kept)
                other.commit()
                assert await audit.findings() == []
                return told

            assert await found("UPDATE audit SET event = 'token.kept' WHERE id = 4") == ["it was changed"]
            assert await found("UPDATE audit SET user = ? WHERE id = 5", "x") == ["who is named was changed"]
            assert await found("UPDATE audit SET subjects = '[]' WHERE id = 5") == ["who is named was changed"]
            assert "are missing" in (await found("DELETE FROM audit WHERE id = 6"))[0]
            assert "are missing" in (await found("DELETE FROM audit WHERE id > 9"))[0], "the tail was cut"
            other.execute("DELETE FROM audit WHERE id > 9")
            other.commit()
        await audit.append("token.made", app.clock.now(), by=(await audit.latest(1))[0].by)
        assert any("are missing" in why for _, why in await audit.findings()), "no later event hides it"


async def test_attack_45_a_trail_that_was_shortened_with_its_end_is_not_sealed(tmp_path: Path) -> None:
    async with app_under_test(tmp_path) as app:
        ana = await app.sign_in("ana")
        for _ in range(3):
            await ana.post("/tokens", {})
        number, head = await app.nouns.audit.head()
        with closing(sqlite3.connect(tmp_path / "clew.db")) as other:
            other.execute("DELETE FROM audit WHERE id = ?", (number,))
            before = other.execute("SELECT hash FROM audit ORDER BY id DESC LIMIT 1").fetchone()[0]
            other.execute("UPDATE audit_ends SET last = ?, head = ?", (number - 1, before))
            other.commit()
        assert any("not sealed" in why for _, why in await app.nouns.audit.findings())
        await ana.post("/tokens", {})
        assert any("not sealed" in why for _, why in await app.nouns.audit.findings()), "nor ever again"
        assert any(at == number for at, _ in await app.nouns.audit.findings(number, head)), "a noted head tells, too"


async def test_attack_45_a_trail_that_was_put_back_to_an_earlier_end_shows_for_ever(tmp_path: Path) -> None:
    async with app_under_test(tmp_path) as app:
        ana, audit = await app.sign_in("ana"), app.nouns.audit
        with closing(sqlite3.connect(tmp_path / "clew.db")) as other:
            earlier = other.execute("SELECT * FROM audit_ends").fetchone()
            for _ in range(3):
                await ana.post("/tokens", {})
            assert await audit.findings() == []
            other.execute("DELETE FROM audit WHERE id > ?", (earlier[3],))
            other.execute("INSERT OR REPLACE INTO audit_ends VALUES (?, ?, ?, ?, ?, ?)", earlier)
            other.commit()
        assert any("earlier end" in why for _, why in await audit.findings()), "its seal was good then"
        for _ in range(5):
            await ana.post("/tokens", {})
        assert await audit.findings() != [], "nor is it forgotten once the trail is longer than it was"


async def test_attack_45_an_event_that_was_cut_on_one_side_cannot_be_on_the_other(app: AppUnderTest) -> None:
    ana, bob = await app.sign_in("ana"), await app.sign_in("bob")
    task = await ana.new_task()
    await ana.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
    await ana.delete(f"/tasks/{task}/members/{bob.user}")
    assert await app.nouns.audit.cut({bob.user}, 9.0) > 0
    assert await app.nouns.audit.findings() == []
    halved = await app.nouns.database.all("SELECT id FROM audit WHERE cut = 1 AND user = ?", ana.user)
    assert len(halved) == 2
    await app.nouns.database.write(
        "UPDATE audit SET user = NULL, agent = NULL, device = NULL, session = NULL, token = NULL, salt_by = NULL"
        " WHERE cut = 1 AND user = ?", ana.user,
    )  # fmt: skip
    found = await app.nouns.audit.findings()
    assert found == [(row[0], "who is named was cut, and nothing says so") for row in halved]


async def test_a_trail_of_before_there_were_seals_goes_on_and_can_be_cut(app: AppUnderTest) -> None:
    before, database, audit = GENESIS, app.nouns.database, app.nouns.audit
    for number in range(1, 4):
        event = AuditEvent("token.made", float(number), Deed(user=UserId("somebody")), None, ("a-token",))
        before = event.chained(before)
        await database.write(
            "INSERT INTO audit (id, at, event, user, subjects, hash) VALUES (?, ?, ?, ?, ?, ?)",
            number, event.at, event.event, "somebody", '["a-token"]', before,
        )  # fmt: skip
    assert await audit.findings() == []
    await app.sign_in("ana")
    assert await audit.findings() == []
    assert await audit.cut({"somebody"}, 9.0) == 3 and await audit.findings() == []
    assert all(event.by.user != "somebody" for event in await audit.latest())
    await database.write("UPDATE audit SET hash = x'00' WHERE id = 3")
    assert await audit.findings() != []


async def test_pruning_keeps_the_chain_and_says_what_is_gone(app: AppUnderTest) -> None:
    ana = await app.sign_in("ana")
    await ana.post("/tokens", {})
    app.clock.advance(86400 * 500)
    ana = await app.sign_in("ana")
    gone = await app.nouns.audit.prune(app.clock.now() - 86400 * 400, app.clock.now())
    assert gone >= 2 and await app.nouns.audit.findings() == []
    assert (await app.nouns.audit.latest(1))[0].subjects == (f"1-{gone}",)
    assert all(event.at > app.clock.now() - 86400 * 400 for event in await app.nouns.audit.latest())


async def test_attack_46_an_export_has_all_of_ones_own_and_nothing_of_anybody_else(app: AppUnderTest) -> None:
    ana, bob = await app.sign_in("ana", "ANAS-LAPTOP"), await app.sign_in("bob", "BOBS-PHONE")
    shared, own = await ana.new_task("Merger"), await ana.new_task("Diary")
    bobs = await bob.new_task("BOBS-SECRET")
    await ana.post(f"/tasks/{shared}/members", {"user": "bob", "role": "editor"})
    for who, task, text in (
        (ana, shared, "ANA-SAID-THIS"), (bob, shared, "BOB-SAID-THIS"), (ana, own, "ANA-KEEPS-THIS"),
        (bob, bobs, "BOB-KEEPS-THIS"),
    ):  # fmt: skip
        assert (await who.post(f"/tasks/{task}/messages", {"text": text})).status == 201
    await bob.post("/tokens", {})
    script, _ = await app.with_bearer(ana)
    assert (await script.post("/me/export")).status == 403, "no bearer takes a person along"

    made = await ana.post("/me/export")
    assert made.status == 201 and made.headers["cache-control"] == "no-store"
    ticket = {"clew_export": made.json["ticket"]}
    assert (await bob.get("/me/export", **ticket)).status == 401
    elsewhere = await app.sign_in("ana", "another device")
    assert (await elsewhere.get("/me/export", **ticket)).status == 401
    got = await ana.get("/me/export", **ticket)
    assert got.status == 200, got.body
    assert (await ana.get("/me/export", **ticket)).status == 401, "once"

    text = got.body.decode()
    for mine in ("ANA-SAID-THIS", "ANA-KEEPS-THIS", "ANAS-LAPTOP", "Merger", "Diary"):
        assert mine in text
    for foreign in ("BOB-SAID-THIS", "BOB-KEEPS-THIS", "BOBS-PHONE", "BOBS-SECRET", bob.user, bob.device):
        assert foreign not in text
    told = got.json
    assert told["profile"]["name"] == "ana" and {task["name"] for task in told["tasks"]} == {"Merger", "Diary"}
    [diary] = [task for task in told["tasks"] if task["name"] == "Diary"]
    assert [message["text"] for message in diary["working_set"]["messages"]] == ["ANA-KEEPS-THIS"]
    assert all(secret not in text for secret in (made.json["ticket"], ana.headers["cookie"].partition("=")[2]))

    made = await ana.post("/me/export")
    app.clock.advance(301)
    assert (await ana.get("/me/export", clew_export=made.json["ticket"])).status == 401, "for minutes"


async def test_attack_46_who_has_a_passkey_shows_it_before_taking_along_or_erasing(app: AppUnderTest) -> None:
    ana = await app.sign_in("ana")
    await app.nouns.database.write(
        "INSERT INTO passkeys (id, credential, user, public_key, sign_count, name, synced, created_at)"
        " VALUES ('p', x'01', ?, x'01', 0, 'key', 0, 0)",
        ana.user,
    )
    assert (await ana.post("/me/export")).status == 403
    assert (await ana.post("/me/erase", {"confirm": "ana"})).status == 403
    proven = "UPDATE logins SET proven_at = ?, proven_by = ? WHERE user = ?"
    await app.nouns.database.write(proven, app.clock.now(), "number-match", ana.user)
    assert (await ana.post("/me/export")).status == 403
    await app.nouns.database.write(proven, app.clock.now(), "passkey", ana.user)
    assert (await ana.post("/me/export")).status == 201


async def test_a_person_erases_themselves_once_they_have_confirmed_it(app: AppUnderTest, tmp_path: Path) -> None:
    ana, bob = await app.sign_in("ana"), await app.sign_in("bob")
    task = await ana.new_task("OF-ANA-ALONE")
    await ana.post(f"/tasks/{task}/messages", {"text": "WORDS-OF-ANA"})
    assert (await ana.post("/me/erase", {"confirm": "somebody"})).status == 422
    told = (await ana.post("/me/erase", {"confirm": "ana", "dry_run": True})).json
    assert told["done"] is False and told["private"] == 1 and told["places"]
    assert (await ana.get(f"/tasks/{task}")).status == 200 and b"WORDS-OF-ANA" in bytes_in(tmp_path)
    script, _ = await app.with_bearer(ana)
    assert (await script.post("/me/erase", {"confirm": "ana"})).status == 403
    gone = await ana.post("/me/erase", {"confirm": "ana"})
    assert gone.status == 200 and gone.json["done"] is True, gone.body
    assert "storage" in gone.headers["clear-site-data"]
    assert (await ana.get("/me")).status == 401 and (await script.get("/tasks")).status == 401
    assert (await bob.get("/me")).status == 200
    stored = bytes_in(tmp_path)
    assert b"OF-ANA-ALONE" not in stored and b"WORDS-OF-ANA" not in stored and ana.user.encode() not in stored


async def test_attack_47_a_revocation_counts_between_ticket_and_upgrade_and_between_upgrade_and_first_frame(
    app: AppUnderTest,
) -> None:
    ana = await app.sign_in("ana")
    task = await ana.new_task()
    doors = app.doors.authentication

    async def ticket(who: Browser) -> str:
        made = await who.post(f"/tasks/{task}/tickets", {})
        assert made.status == 201, made.body
        return f"ticket.{made.json['ticket']}"

    first = await ticket(ana)
    await ana.delete(f"/devices/{ana.device}")
    with pytest.raises(Unauthenticated):
        await doors.of_secret(first, task)

    again = await app.sign_in("ana")
    who = await doors.of_secret(await ticket(again), task)
    await again.delete(f"/devices/{again.device}")  # it is known who comes, and they are not in yet
    with pytest.raises(Forbidden):
        await join(app, who, task, 3)

    third = await app.sign_in("ana")
    peer = Peer(4)
    who = await doors.of_secret(await ticket(third), task)
    peer.connection = await app.rooms.join(DocName(task), who, Role.OWNER, peer)
    before = (await app.rooms.read(DocName(task))).seq
    await third.delete(f"/devices/{third.device}")
    assert peer.closed is not None and peer.closed[0] == 4403
    await peer.greet()
    await peer.type("too late")
    assert peer.frames == [] and (await app.rooms.read(DocName(task))).seq == before


class Died(BaseException):
    """The process, between two steps."""


async def test_attack_48_what_was_revoked_before_a_crash_is_revoked_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store commits first: a server that dies before it has told anybody comes back with all doors closed."""
    async with app_under_test(tmp_path) as app:
        ana = await app.sign_in("ana")
        task = await ana.new_task()
        bob = await app.sign_in("bob")
        await ana.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
        token = (await ana.post("/tokens", {})).json
        ticket = (await bob.post(f"/tasks/{task}/tickets", {})).json["ticket"]
        mine = Principal(ana.user, "ana", authenticated_at=app.clock.monotonic())

        async def die(*_: Any) -> None:
            raise Died

        monkeypatch.setattr(app.rooms, "revoke", die)
        for revoke in (
            app.doors.revocation.token(mine, token["id"]),
            app.doors.revocation.member(mine, task, bob.user),
            app.doors.revocation.device(Principal(ana.user, "ana"), ana.device),  # type: ignore[arg-type]
        ):
            with pytest.raises(Died):
                await revoke
    async with app_under_test(tmp_path) as app:
        script = app.holding(token["token"])
        assert (await script.get("/tasks")).status == 401
        browser = Browser(app.app, ana.headers)
        assert (await browser.get("/tasks")).status == 401
        assert (await Browser(app.app, bob.headers).get(f"/tasks/{task}")).status == 404
        with pytest.raises(Unauthenticated):
            await app.doors.authentication.of_secret(f"ticket.{ticket}", task)


def test_what_was_erased_is_known_by_keyed_hashes_alone(tmp_path: Path) -> None:
    with Keys(tmp_path) as keys:
        keys.note_erased("user", ["a-person"], 1.0)
        assert keys.erased("user", ["a-person", "another"]) == {"a-person"}
        assert keys.erased("task", ["a-person"]) == set()
        first = keys.of_task("one")
        assert keys.of_task("one") == first and keys.find(first.kid) == ("one", first.key)
        keys.copy_to(tmp_path / "copy.db")
        keys.shred(["one"])
        assert keys.find(first.kid) is None and keys.of_task("one") != first
    for name in ("keys.db", "copy.db"):
        stored = (tmp_path / name).read_bytes()
        assert first.key not in stored and b"a-person" not in stored
