"""Copied cookies, forged proofs and stolen sessions, each by its number in the list of attacks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import OctKey, RSAKey
from kit.app_under_test import ORIGIN, AppUnderTest, Browser, app_under_test
from kit.clock import FakeClock
from kit.keyed import SECURE, Keyed, Machine, bind, bound, new_key, proof, sign_in
from starlette.datastructures import Headers

from crdt_docs.ids import TaskId
from server.domain.bound_session import BEGINNING, COOKIE_AGE, OVERLAP, STEP_DOWN
from server.domain.device import Level
from server.domain.errors import TooMany
from server.domain.proof import Target, Thumbprint
from server.doors.proofs import SLOT, Proofs, Unproven

URL = f"{ORIGIN}/api/v1/tasks"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as made:
        yield made


async def events(app: AppUnderTest) -> list[str]:
    return [one.event for one in await app.nouns.audit.latest()]


async def level(page: Keyed) -> str:
    listed = (await page.get("/devices")).json["devices"]
    return str(next(one["level"] for one in listed if one["current"]))


async def test_attack_01_the_cookie_of_before_a_sign_in_is_dead_after_it(app: AppUnderTest) -> None:
    page = await sign_in(app)
    planted = page.copied
    link = await app.doors.links.issue_by_name()
    again = await page.post("/signin", {"key": link})
    assert again.status == 201 and again.json["device"]["id"] == page.device, "the same key is the same device"
    assert again.headers["set-cookie"].partition(";")[0] != page.headers["cookie"]
    assert (await page.get("/me")).status == 401
    assert (await planted.get("/me", dpop=page.prove("GET", "/me"))).status == 401


async def test_attack_02_a_copied_cookie_opens_nothing_without_the_key_or_with_another(app: AppUnderTest) -> None:
    page, eve = await sign_in(app), await sign_in(app, "eve")
    task = await page.new_task()
    thief = page.copied
    for path in ("/me", "/tasks", f"/tasks/{task}", f"/tasks/{task}/working-set", f"/tasks/{task}/export?format=yjs"):
        without = await thief.get(path)
        with_another = await thief.get(path, dpop=eve.prove("GET", path))
        for answer in (without, with_another):
            assert (answer.status, answer.code) == (401, "unauthenticated"), path
        assert without.body == with_another.body and str(task).encode() not in without.body
        assert without.headers["www-authenticate"] == with_another.headers["www-authenticate"]
        assert without.headers["dpop-nonce"] == with_another.headers["dpop-nonce"]
    for path in (f"/tasks/{task}/tickets", "/links", "/tokens", "/signout"):
        assert (await thief.post(path, {})).status == 401, path
    assert (await page.get(f"/tasks/{task}")).status == 200
    assert (await events(app)).count("device.unproven") == 1, "it is noted once a minute, not at every try"


async def test_attack_03_a_stolen_bound_cookie_dies_with_its_age_and_with_the_owners_next_refresh(
    app: AppUnderTest,
) -> None:
    machine = await bind(app)
    page, key = machine.page, machine.page.key
    task = await page.new_task()
    assert await level(page) == "hardware"
    thief = Keyed(page.app, dict(page.headers), scheme="https", world=app, key=key)  # who has the software key as well
    assert (await page.copied.post(f"/tasks/{task}/tickets", {})).status == 401, "without it, not even a ticket"
    app.clock.advance(BEGINNING + 1)
    assert (await thief.get(f"/tasks/{task}")).status == 200
    assert (await machine.refresh()).status == 200
    assert (await thief.get(f"/tasks/{task}")).status == 200, "what was under way is let through"
    app.clock.advance(OVERLAP)
    assert (await thief.get(f"/tasks/{task}")).status == 401
    assert (await page.get(f"/tasks/{task}")).status == 200
    app.clock.advance(COOKIE_AGE)
    assert (await page.get(f"/tasks/{task}")).status == 401
    assert (await thief.post(f"/tasks/{task}/tickets", {})).status == 401


async def test_attack_04_a_refresh_that_another_key_signs_ends_the_login(app: AppUnderTest) -> None:
    stranger, rsa = new_key(), RSAKey.generate_key(2048, private=True)
    forged: list[Any] = [
        lambda m: bound(stranger, m.challenge),
        lambda m: bound(rsa, m.challenge, alg="RS256"),
        lambda m: bound(m.key, m.challenge, typ="JWT"),
        lambda m: bound(m.key, m.challenge, jwk=m.key.as_dict(private=False)),
        lambda m: bound(stranger, m.challenge, first=True),
        lambda m: bound(m.key, m.challenge, aud="https://evil.example"),
        lambda m: bound(m.key, "\ud800"),
        lambda m: bound(m.key, m.challenge).rpartition(".")[0] + ".",
        lambda m: "eyJ0eXAiOiJkYnNjK2p3dCIsImFsZyI6Im5vbmUifQ." + bound(m.key, m.challenge).split(".")[1] + ".",
        lambda m: "x" * 100_000,
    ]
    for number, forge in enumerate(forged):
        machine = await bind(app, f"user{number}")
        answer = await machine.refresh(forge(machine))
        assert answer.status == 401, number
        assert (await machine.page.get("/me")).status == 401, number
    assert (await events(app)).count("device.unbound") == len(forged)


async def test_attack_04_a_stale_or_repeated_challenge_is_asked_for_anew_and_a_foreign_session_is_nobodys(
    app: AppUnderTest,
) -> None:
    machine, other = await bind(app), await bind(app, "eve")
    used = bound(machine.key, machine.challenge)
    assert (await machine.refresh(used)).status == 200
    repeated = await machine.refresh(used)
    assert repeated.status == 403 and "set-cookie" not in repeated.headers
    assert (await machine.refresh(bound(machine.key, "never one"))).status == 403
    assert (await machine.refresh()).status == 200
    assert (await machine.refresh(session=other.session)).status == 401, "it is the cookie's own session, or none"
    assert (await machine.page.get("/me")).status == (await other.page.get("/me")).status == 200
    gone = await machine.refresh(session="no-such-session")
    assert gone.status == 200 and gone.json == {"session_identifier": "no-such-session", "continue": False}
    out = await machine.page.post("/signout")
    assert out.status == 204 and "Max-Age=0" in out.headers["set-cookie"]
    assert (await machine.refresh()).json == {"session_identifier": machine.session, "continue": False}


async def test_attack_04_only_who_was_just_signed_in_can_bind_the_session_and_once(app: AppUnderTest) -> None:
    machine = Machine(await sign_in(app, scheme="https"))
    eve = await sign_in(app, "eve", "https")
    theirs = eve.invitation.partition('challenge="')[2].partition('"')[0]
    for token in (bound(machine.key, theirs, first=True), bound(machine.key, "1.x", first=True), "", "a.b.c"):
        assert (await machine.register(token or " ")).status == 401, token
    private = bound(machine.key, machine.page.invitation, first=True, jwk=machine.key.as_dict(private=True))
    assert (await machine.register(private)).status == 401
    assert (await machine.register()).status == 200
    assert (await Machine(machine.page).register()).status == 401, "the login is bound; nobody binds it again"
    assert (await machine.page.get("/me")).status == 200
    late = Machine(await sign_in(app, "late", "https"))
    app.clock.advance(301)
    assert (await late.register()).status == 401
    plain = Machine(await sign_in(app, "plain"))
    assert plain.page.invitation == "" and (await plain.register()).status == 404


async def test_attack_05_a_forged_skip_reads_for_a_quarter_of_an_hour_and_is_noted(app: AppUnderTest) -> None:
    machine = await bind(app)
    page, login = machine.page, machine.page.headers["cookie"].partition(";")[0]
    task = await page.new_task()
    app.clock.advance(BEGINNING + 1)
    page.headers["cookie"] = login
    assert (await page.get(f"/tasks/{task}")).status == 401, "a bound login without its cookie is nobody"
    page.headers["secure-session-skipped"] = f"quota_exceeded;session_identifier={machine.session}"
    assert (await page.get(f"/tasks/{task}")).json["role"] == "viewer"
    for method, path in (("PATCH", f"/tasks/{task}"), ("POST", "/links"), ("POST", "/tokens"), ("POST", "/tasks")):
        refused = await page.ask(method, path, {})
        assert (refused.status, refused.json["reason"]) == (403, "stepped_down"), path
    ticket = (await page.post(f"/tasks/{task}/tickets", {})).json["ticket"]
    who = await app.doors.authentication.of_secret(f"ticket.{ticket}", task)
    assert who.level == Level.SOFTWARE and who.expires_at is not None
    assert (await app.doors.authority.role(who, task)).name == "VIEWER"
    assert (await page.copied.get(f"/tasks/{task}")).status == 401, "whoever only has the cookie does not even read"
    app.clock.advance(STEP_DOWN)
    assert (await page.get(f"/tasks/{task}")).status == 401
    assert who.expires_at <= app.clock.now()
    for other in ("because", "quota_exceeded", "quota_exceeded;session_identifier=other"):
        page.headers["secure-session-skipped"] = other
        assert (await page.get(f"/tasks/{task}")).status == 401, other
    assert (await events(app)).count("device.stepped_down") == 1
    assert (await machine.refresh()).status == 200
    assert (await page.patch(f"/tasks/{task}", {"name": "Mine again"})).status == 200


async def test_attack_05_a_bound_login_without_a_key_steps_down_to_no_socket(app: AppUnderTest) -> None:
    page = await sign_in(app, scheme="https")
    await app.nouns.database.write("DELETE FROM device_keys")
    machine = Machine(page)
    assert (await machine.register()).status == 200
    task = await page.new_task()
    app.clock.advance(BEGINNING + 1)
    thief = Browser(page.app, {"origin": SECURE, "cookie": page.headers["cookie"].partition(";")[0]}, scheme="https")
    thief.headers["secure-session-skipped"] = f'unreachable;session_identifier="{machine.session}"'
    assert (await thief.get(f"/tasks/{task}")).status == 200
    assert (await thief.post(f"/tasks/{task}/tickets", {})).status == 403


def test_attack_06_a_proof_that_is_not_exactly_right_proves_nothing() -> None:
    clock = FakeClock()
    proofs, key, there = Proofs(clock), new_key(), Target("GET", URL)
    nonce = proofs.nonces.issue()
    thumbprint = Thumbprint(key.thumbprint())

    def made(signer: Any = key, method: str = "GET", url: str = URL, **wrong: Any) -> str:
        return proof(signer, method, url, clock.now(), wrong.pop("nonce", nonce), **wrong)

    def shown(*values: str, target: Target | None = there) -> None:
        raw = [(b"dpop", value.encode()) for value in values]
        proofs.require(Headers(raw=raw), target, thumbprint)

    good = made()
    shown(good)
    shown(made(url=URL + "?format=yjs#part"))
    shown(made(url="HTTP://LOCALHOST:8484/api/v1/tasks"))
    wrong = {
        "a replay": good,
        "another key": made(new_key()),
        "no nonce": made(nonce=None),
        "another nonce": made(nonce="A" * 24),
        "another method": made(method="POST"),
        "another path": made(url=URL + "/x"),
        "another host": made(url="http://evil.example/api/v1/tasks"),
        "another scheme": made(url="https://localhost:8484/api/v1/tasks"),
        "no address": made(htu=None),
        "ten minutes old": made(iat=clock.now() - 600),
        "ten minutes ahead": made(iat=clock.now() + 600),
        "no time": made(iat=None),
        "a time that is none": made(iat=float("nan")),
        "a time beyond all": made(iat=10**400),
        "a true time": made(iat=True),
        "no id": made(jti=None),
        "an id that can be guessed": made(jti="1"),
        "an id that is no text": made(jti="\ud800" * 16),
        "a nonce that is no text": made(nonce="\ud800" * 24),
        "an address that is no text": made(htu="http://\ud800"),
        "an id of 100 kB": made(jti="x" * 100_000),
        "another type": made(typ="JWT"),
        "a private key in it": made(jwk=key.as_dict(private=True)),
        "another key in it": made(jwk=new_key().as_dict(private=False)),
        "no key in it": made(jwk=None),
        "a symmetric key": made(OctKey.generate_key(256), alg="HS256"),
        "RSA": made(RSAKey.generate_key(2048, private=True), alg="RS256"),
        "no algorithm": "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6Im5vbmUifQ." + good.split(".")[1] + ".",
        "nothing": "",
        "three dots": "...",
        "depth": "W" * 4000 + ".a.b",
    }
    for what, value in wrong.items():
        with pytest.raises(Unproven):
            shown(value)
            pytest.fail(what)
    for several in ((), (made(), made())):
        with pytest.raises(Unproven):
            shown(*several)
    with pytest.raises(Unproven):
        shown(made(), target=None)
    clock.advance(SLOT)
    shown(made())
    clock.advance(SLOT)
    with pytest.raises(Unproven):
        shown(made())


def test_attack_06_the_memory_of_proofs_is_bounded_and_forgets_none_that_may_come_again() -> None:
    clock = FakeClock()
    proofs, keys, there = Proofs(clock, most=3, of_one=2), [new_key(), new_key()], Target("GET", URL)

    def show(key: Any) -> str:
        made = proof(key, "GET", URL, clock.now(), proofs.nonces.issue())
        proofs.require(Headers({"dpop": made}), there, Thumbprint(key.thumbprint()))
        return made

    first = show(keys[0])
    show(keys[0])
    with pytest.raises(TooMany):
        show(keys[0])
    show(keys[1])
    with pytest.raises(TooMany):
        show(keys[1])
    with pytest.raises(Unproven):
        proofs.require(Headers({"dpop": first}), there, Thumbprint(keys[0].thumbprint()))
    assert len(proofs.replays) == 3
    clock.advance(2 * SLOT)
    show(keys[1])
    assert len(proofs.replays) == 1


async def test_attack_25_a_ticket_is_for_one_task_once_by_the_addresses_it_was_got_by(app: AppUnderTest) -> None:
    page = await sign_in(app)
    task, other = await page.new_task(), await page.new_task()
    door = app.doors.authentication

    async def ticket() -> str:
        return f"ticket.{(await page.post(f'/tasks/{task}/tickets', {})).json['ticket']}"

    async def opens(secret: str, there: TaskId = task, family: int | None = 4) -> bool:
        try:
            who = await door.of_secret(secret, there, family)
        except Exception as error:
            assert type(error).__name__ == "Unauthenticated" and not getattr(error, "nonce", "")
            return False
        assert who.level == Level.SOFTWARE
        return True

    once = await ticket()
    assert await opens(once) and not await opens(once)
    assert not await opens(await ticket(), other)
    assert not await opens(await ticket(), family=6)
    late = await ticket()
    app.clock.advance(31)
    assert not await opens(late)
    ended = await ticket()
    assert (await page.delete(f"/devices/{page.device}")).status == 204
    assert not await opens(ended)
    assert not any(once.partition(".")[2] in str(event) for event in await app.nouns.audit.latest())
