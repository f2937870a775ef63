"""Passkeys, honest and not: attacks 1 and 7."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from kit.app_under_test import ORIGIN, Answered, AppUnderTest, Browser, app_under_test
from kit.authenticator import PRESENT, Authenticator, encode
from kit.handing_over import hand_over

from server.domain.policy import CONFIRM_LIFE


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


async def add(browser: Browser, authenticator: Authenticator) -> Answered:
    options = (await browser.post("/passkeys/options", {})).json["options"]
    return await browser.post("/passkeys", {"credential": authenticator.make(options)})


async def new_owner(app: AppUnderTest, name: str = "owner") -> tuple[Browser, Authenticator]:
    """Somebody who is signed in and has a passkey."""
    browser, authenticator = await app.sign_in(name), Authenticator()
    added = await add(browser, authenticator)
    assert added.status == 201, added.body
    browser.headers["cookie"] = added.headers["set-cookie"].partition(";")[0]
    return browser, authenticator


def stranger(app: AppUnderTest) -> Browser:
    return Browser(app.app, {"origin": ORIGIN})


async def enter(browser: Browser, authenticator: Authenticator, options: dict[str, Any] | None = None) -> Answered:
    options = options or (await browser.post("/signin/passkey/options", {})).json["options"]
    return await browser.post("/signin/passkey", {"credential": authenticator.use(options)})


async def test_attack_01_the_cookie_changes_at_a_passkeys_making_and_at_sign_in(app: AppUnderTest) -> None:
    before = await app.sign_in()
    added = await add(before, authenticator := Authenticator())
    assert added.status == 201 and (await before.get("/me")).status == 401
    same = Browser(app.app, {"origin": ORIGIN, "cookie": added.headers["set-cookie"].partition(";")[0]})
    assert (await same.get("/me")).json["device"] == before.device
    entered = await enter(same, authenticator)
    assert entered.status == 201 and entered.headers["set-cookie"].partition(";")[0] != same.headers["cookie"]
    assert (await same.get("/me")).status == 401


async def test_a_passkey_signs_in_without_a_name_and_is_listed_renamed_and_removed(app: AppUnderTest) -> None:
    owner, authenticator = await new_owner(app)
    entered = await enter(phone := stranger(app), authenticator)
    assert entered.status == 201 and entered.json["user"]["id"] == owner.user
    phone.headers["cookie"] = entered.headers["set-cookie"].partition(";")[0]
    [listed] = (await phone.get("/passkeys")).json["passkeys"]
    assert listed["used_at"] is not None and not listed["synced"]
    assert (await owner.patch(f"/passkeys/{listed['id']}", {"name": "Key ring"})).json["name"] == "Key ring"
    assert (await phone.delete(f"/passkeys/{listed['id']}")).status == 204
    assert (await enter(stranger(app), authenticator)).status == 401


async def test_a_sign_in_by_passkey_proves_the_person_for_five_minutes(app: AppUnderTest) -> None:
    owner, authenticator = await new_owner(app)
    app.clock.advance(301)
    second = await owner.post("/passkeys/options", {})
    assert second.status == 403 and second.json["reason"] == "unproven"
    [listed] = (await owner.get("/passkeys")).json["passkeys"]
    assert (await owner.delete(f"/passkeys/{listed['id']}")).json["reason"] == "unproven"
    options = (await owner.post("/passkeys/proof/options", {})).json["options"]
    assert [one["id"] for one in options["allowCredentials"]] == [encode(authenticator.id)]
    assert (await owner.post("/passkeys/proof", {"credential": authenticator.use(options)})).status == 200
    login = (await app.nouns.logins.of_user(owner.user))[0]
    assert login.proven_at == app.clock.now()
    assert (await owner.post("/passkeys/options", {})).status == 200


WRONG: dict[str, dict[str, Any]] = {
    "the person is not verified": {"flags": PRESENT},
    "nobody is there": {"flags": 0x04},
    "a page inside another's frame": {"client": {"crossOrigin": True}},
    "a page that names who frames it": {"client": {"topOrigin": "https://evil.example"}},
    "another origin": {"origin": "https://localhost:8484"},
    "another port": {"origin": "http://localhost:8485"},
    "another name's passkey": {"name": "evil.example"},
    "another kind of ceremony": {"client": {"type": "payment.get"}},
    "a bogus signature": {"key": ec.generate_private_key(ec.SECP256R1())},
    "another's handle": {"handle": b"0123456789abcdef"},
    "no handle": {"handle": b""},
    "an unknown credential": {"id": b"unknown"},
}


async def test_attack_07_a_passkey_is_refused_alike_whatever_is_wrong(app: AppUnderTest) -> None:
    _, authenticator = await new_owner(app)
    never = await enter(stranger(app), Authenticator(id=b"never"))
    for wrong, how in WRONG.items():
        refused = await enter(stranger(app), replace(authenticator, **how))
        assert refused.status == 401 and "set-cookie" not in refused.headers, wrong
        assert refused.body == never.body, wrong
    assert (await enter(stranger(app), authenticator)).status == 201  # the honest one still is taken


async def test_attack_07_nothing_unverified_is_registered(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    bad = [
        Authenticator(flags=PRESENT),
        Authenticator(client={"crossOrigin": True}),
        Authenticator(origin="https://evil.example"),
        Authenticator(name="evil.example"),
    ]
    for authenticator in bad:
        assert (await add(owner, authenticator)).status == 401
    assert (await owner.get("/passkeys")).json == {"passkeys": []}
    assert (await owner.get("/me")).status == 200


async def test_attack_07_a_challenge_is_good_once_for_its_purpose_its_login_and_five_minutes(
    app: AppUnderTest,
) -> None:
    owner, authenticator = await new_owner(app)
    eve, _ = await new_owner(app, "eve")
    options = (await stranger(app).post("/signin/passkey/options", {})).json["options"]
    assert (await enter(stranger(app), authenticator, options)).status == 201
    assert (await enter(stranger(app), authenticator, options)).status == 401  # replayed
    options = (await stranger(app).post("/signin/passkey/options", {})).json["options"]
    proof = await owner.post("/passkeys/proof", {"credential": authenticator.use(options)})
    assert proof.status == 401  # a sign-in's challenge proves nothing
    options = (await eve.post("/passkeys/proof/options", {})).json["options"]
    assert (await owner.post("/passkeys/proof", {"credential": authenticator.use(options)})).status == 401  # another's
    options = (await stranger(app).post("/signin/passkey/options", {})).json["options"]
    app.clock.advance(301)
    assert (await enter(stranger(app), authenticator, options)).status == 401  # too late
    forged = {"challenge": encode(b"x" * 32)}
    assert (await enter(stranger(app), authenticator, forged)).status == 401  # never given out


async def test_attack_07_another_persons_credential_proves_nothing(app: AppUnderTest) -> None:
    owner, authenticator = await new_owner(app)
    eve, _ = await new_owner(app, "eve")
    options = (await eve.post("/passkeys/proof/options", {})).json["options"]
    assert (await eve.post("/passkeys/proof", {"credential": authenticator.use(options)})).status == 401
    options = (await eve.post("/passkeys/options", {})).json["options"]
    taken = await eve.post("/passkeys", {"credential": replace(authenticator).make(options)})
    assert taken.status == 409  # it is the owner's, and stays so
    assert (await enter(stranger(app), authenticator)).json["user"]["id"] == owner.user


async def test_a_counter_that_goes_back_is_a_copy(app: AppUnderTest) -> None:
    _, authenticator = await new_owner(app)
    authenticator.count = 5
    assert (await enter(stranger(app), authenticator)).status == 201
    assert (await enter(stranger(app), authenticator)).status == 401
    authenticator.count = 6
    assert (await enter(stranger(app), authenticator)).status == 201


async def test_attack_07_what_is_no_credential_is_refused_in_the_same_words(app: AppUnderTest) -> None:
    deep = {"response": {"clientDataJSON": encode(b"[" * 100_000)}}
    for credential in ({}, {"rawId": 7}, {"rawId": "é", "response": []}, deep):
        refused = await stranger(app).post("/signin/passkey", {"credential": credential})
        assert refused.status == 401 and refused.code == "unauthenticated"


async def test_an_address_in_numbers_has_no_passkeys(app: AppUnderTest) -> None:
    by_number = Browser(app.app, {"origin": "http://127.0.0.1:8484", "host": "127.0.0.1:8484"})
    told = await by_number.post("/signin/passkey/options", {})
    assert told.status == 422 and "localhost" in told.json["detail"]


MATCH = {"resume": "members", "device": "any", "confirm": "number-match"}


async def test_attack_20_a_number_match_makes_no_more_of_a_device_than_who_answered_it_has_shown(
    app: AppUnderTest,
) -> None:
    owner, authenticator = await new_owner(app)
    laptop = await app.sign_in("owner", "stolen")  # is signed in, and has shown nothing
    plain, secret = await laptop.new_task("plain"), await laptop.new_task("secret")
    assert (await owner.ask("PUT", f"/tasks/{secret}/policy", MATCH)).status == 200
    phone, _ = await hand_over(app, laptop, plain)
    assert (await phone.get(f"/tasks/{plain}")).status == 200  # it is let in, and unconfirmed
    assert (await laptop.post(f"/devices/{phone.device}/keep")).status == 204
    for who in (laptop, phone):
        assert (await who.get(f"/tasks/{secret}")).json["reason"] == "policy_confirm"
        assert (await who.ask("PUT", f"/tasks/{plain}/policy", MATCH)).json["reason"] == "lockout"
        await refused_a_fresh_proof(who)
    [listed] = (await owner.get("/passkeys")).json["passkeys"]
    assert (await phone.delete(f"/passkeys/{listed['id']}")).json["reason"] == "unproven"


async def refused_a_fresh_proof(who: Browser) -> None:
    """What takes a person who has just shown a passkey does not take this one."""
    for path, body in (("/me/export", {}), ("/me/erase", {"confirm": "owner"}), ("/passkeys/options", {})):
        answer = await who.post(path, body)
        assert (answer.status, answer.json["reason"]) == (403, "unproven"), path


async def test_attack_20_a_number_match_that_goes_back_to_a_passkey_confirms_and_is_no_fresh_proof(
    app: AppUnderTest,
) -> None:
    owner, _ = await new_owner(app)
    plain, secret = await owner.new_task("plain"), await owner.new_task("secret")
    assert (await owner.ask("PUT", f"/tasks/{secret}/policy", MATCH)).status == 200
    app.clock.advance(CONFIRM_LIFE - 60)
    phone, _ = await hand_over(app, owner, secret)
    assert (await phone.get(f"/tasks/{secret}")).status == 200
    other, _ = await hand_over(app, owner, plain)
    assert (await owner.post(f"/devices/{phone.device}/keep")).status == 204
    third, _ = await hand_over(app, phone, secret)
    assert (await third.get(f"/tasks/{secret}")).status == 200
    await refused_a_fresh_proof(phone)
    assert (await owner.ask("PUT", f"/tasks/{plain}/policy", {**MATCH, "confirm": "passkey"})).status == 200
    assert (await phone.get(f"/tasks/{plain}")).json["reason"] == "policy_confirm"
    laptop = await app.sign_in("owner", "stolen")
    assert (await laptop.post(f"/devices/{other.device}/keep")).status == 204  # whoever keeps it has shown nothing
    assert (await other.get(f"/tasks/{secret}")).json["reason"] == "policy_confirm"
    app.clock.advance(60)  # as old as the passkey that it goes back to, on every device
    for who in (owner, phone, third):
        assert (await who.get(f"/tasks/{secret}")).json["reason"] == "policy_confirm"
