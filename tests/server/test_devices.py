"""Devices and their keys: whose a key is, what a sign-in makes of it, and what the list says of each."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kit.app_under_test import ORIGIN, AppUnderTest, Browser, app_under_test
from kit.keyed import Keyed, bind, new_key, proof, sign_in
from starlette.datastructures import Headers

from crdt_docs.ids import DeviceId
from server.domain.access import Role
from server.domain.device import Level
from server.domain.errors import Unauthenticated
from server.domain.proof import Target
from server.http.endpoint import PREFIX


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as made:
        yield made


async def test_the_list_says_what_each_device_can_prove(app: AppUnderTest) -> None:
    plain, keyed, bound = await app.sign_in(), await sign_in(app), (await bind(app)).page
    assert (await keyed.post("/sessions", {})).status == 201
    listed = {one["id"]: one for one in (await keyed.get("/devices")).json["devices"]}
    assert {id: one["level"] for id, one in listed.items()} == {
        plain.device: "none",
        keyed.device: "software",
        bound.device: "hardware",
    }
    assert listed[keyed.device]["current"] and listed[keyed.device]["sessions"] == 1
    assert listed[plain.device]["sessions"] == 0
    assert (await keyed.delete(f"/devices/{bound.device}")).status == 204
    renamed = await keyed.patch(f"/devices/{keyed.device}", {"name": "Desk"})
    assert (renamed.json["name"], renamed.json["level"]) == ("Desk", "software")
    assert (await bound.get("/me")).status == 401 and (await plain.get("/me")).status == 200


async def test_a_browser_with_a_key_is_its_device_again_and_a_cookie_without_it_is_another(app: AppUnderTest) -> None:
    page = await sign_in(app)
    again = await sign_in(app, key=page.key)
    assert again.device == page.device, "the cookie was lost, the key was not"
    copied = again.copied
    entered = await copied.post("/signin", {"key": await app.doors.links.issue_by_name()})
    assert entered.status == 201 and entered.json["device"]["id"] != page.device
    back = await sign_in(app, key=page.key)
    assert (await back.delete(f"/devices/{back.device}")).status == 204
    assert (await back.get("/me")).status == 401
    anew = await sign_in(app, key=page.key)
    assert anew.device != page.device, "what was revoked stays revoked, though its person may come back"


async def test_a_browser_that_had_no_key_gets_one_when_it_signs_in_again(app: AppUnderTest) -> None:
    plain = await app.sign_in()
    page = Keyed(app.app, dict(plain.headers), world=app)
    entered = await page.post("/signin", {"key": await app.doors.links.issue_by_name()})
    assert entered.json["device"]["id"] == plain.device
    page.headers["cookie"] = entered.headers["set-cookie"].partition(";")[0]
    assert (await page.get("/me")).status == 200 and (await page.copied.get("/me")).status == 401


async def test_people_who_share_a_browser_have_a_key_each_and_the_wrong_one_burns_no_link(app: AppUnderTest) -> None:
    ana = await sign_in(app)
    link = {"key": await app.doors.links.issue_by_name("eve")}
    eve = Keyed(app.app, {"origin": ORIGIN}, world=app, key=ana.key)
    refused = await eve.post("/signin", link)
    assert (refused.status, refused.json["reason"]) == (409, "another_key")
    eve.key = new_key()
    assert (await eve.post("/signin", link)).status == 201
    unknown = await Keyed(app.app, {"origin": ORIGIN}, world=app, key=ana.key).post("/signin", {"key": "A" * 43})
    assert unknown.status == 401, "whose key it is, only a good link learns"


async def test_a_bearer_has_its_devices_level_only_with_a_proof_of_its_key(app: AppUnderTest) -> None:
    page, now = await sign_in(app), app.clock.now()
    device = DeviceId(page.device)
    _, secret = await app.nouns.tokens.issue(page.user, role=Role.EDITOR, at=now, expires_at=now + 60, device=device)
    ath = base64.urlsafe_b64encode(hashlib.sha256(secret.encode()).digest()).rstrip(b"=").decode()
    door, url = app.doors.authentication, f"{ORIGIN}{PREFIX}/tasks"
    target = Target("GET", url)

    async def level(scheme: str, **wrong: object) -> Level:
        headers = {"authorization": f"{scheme} {secret}"}
        if scheme == "DPoP":
            key = wrong.pop("key", page.key)
            nonce = app.doors.proofs.nonces.issue()
            headers["dpop"] = proof(key, "GET", url, now, nonce, **{"ath": ath, **wrong})  # type: ignore[arg-type]
        return (await door.of_request(Headers(headers), target)).level

    assert await level("Bearer") == Level.NONE
    assert await level("DPoP") == Level.SOFTWARE
    for wrong in ({"ath": None}, {"ath": "A" * 43}, {"key": new_key()}):
        with pytest.raises(Unauthenticated):
            await level("DPoP", **wrong)
    with pytest.raises(Unauthenticated):
        await door.of_request(Headers({"authorization": f"DPoP {secret}"}), target)


async def test_every_answer_to_a_proof_brings_the_next_nonce_and_the_old_one_is_good_for_a_while(
    app: AppUnderTest,
) -> None:
    page = await sign_in(app)
    first = (await page.get("/me")).headers["dpop-nonce"]
    app.clock.advance(121)
    late = proof(page.key, "GET", f"{ORIGIN}{PREFIX}/me", app.clock.now(), first)
    answer = await Browser.ask(page, "GET", "/me", dpop=late)
    assert answer.status == 200 and answer.headers["dpop-nonce"] != first
    app.clock.advance(121)
    stale = proof(page.key, "GET", f"{ORIGIN}{PREFIX}/me", app.clock.now(), first)
    refused = await Browser.ask(page, "GET", "/me", dpop=stale)
    assert refused.status == 401 and "use_dpop_nonce" in refused.headers["www-authenticate"]
    assert "device.unproven" not in [one.event for one in await app.nouns.audit.latest()], "that was no theft"
