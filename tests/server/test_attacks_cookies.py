"""A cookie that comes without what it must be shown with, at the doors that are open to anyone: attacks 2 and 5."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kit.app_under_test import AppUnderTest, Browser, app_under_test
from kit.handing_over import offer
from kit.keyed import SECURE, Keyed, Machine, bind, new_key, sign_in

from server.domain.bound_session import BEGINNING

WAYS_IN = {
    "POST /signin", "POST /signin/passkey/options", "POST /signin/passkey", "POST /signin/proxy", "POST /oidc",
    "POST /oidc/logout", "POST /invitations/check", "POST /invitations/accept", "POST /device/authorize",
    "POST /device/token",
}  # fmt: skip
"""What is open to anyone and takes nobody's cookie for a person: by these one gets out of having stepped down."""


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as made:
        yield made


async def unbound(app: AppUnderTest, machine: Machine) -> Browser:
    """Somebody who has all of the browser but its bound cookie, which it would need by now."""
    app.clock.advance(BEGINNING + 1)
    page = machine.page
    cookie = page.headers["cookie"].partition(";")[0]
    return Keyed(page.app, {"origin": SECURE, "cookie": cookie}, scheme="https", world=app, key=page.key)


async def test_attack_05_who_has_stepped_down_comes_in_nowhere_but_by_signing_in(app: AppUnderTest) -> None:
    machine, eve = await bind(app), await app.sign_in("eve")
    made = await offer(machine.page, await machine.page.new_task())
    theirs = await eve.new_task()
    id, _, secret = (await eve.post(f"/tasks/{theirs}/shares", {})).json["url"].partition("#")[2].partition(".")
    thief = await unbound(app, machine)
    skipped = f"quota_exceeded;session_identifier={machine.session}"
    bodies = {
        "POST /shares/redeem": {"id": id, "secret": secret},
        "POST /handoffs/redeem": made.shown,
        "POST /handoffs/collect": {"id": made.id, "claim": "x"},
    }
    unsafe = {f"{row.method} {row.path}" for row in app.rows if row.door == "anyone" and row.method != "GET"}
    assert unsafe - WAYS_IN == set(bodies)
    for row, body in bodies.items():
        refused = await thief.post(row.removeprefix("POST "), body, secure_session_skipped=skipped)
        assert (refused.status, refused.json["reason"]) == (403, "stepped_down"), row
    assert (await eve.get(f"/tasks/{theirs}/shares")).json["shares"][0]["uses"] == 0
    assert (await machine.refresh()).status == 200
    assert (await machine.page.get(f"/handoffs/{made.id}")).json["state"] == "offered"
    key = await app.doors.links.issue_by_name("owner")
    again = await thief.post("/signin", {"key": key}, secure_session_skipped=skipped)
    assert again.status == 201


async def test_attack_02_a_cookie_without_what_binds_it_presents_an_offer_as_nobody(app: AppUnderTest) -> None:
    machine = await bind(app)
    made = await offer(machine.page, await machine.page.new_task())
    thief = await unbound(app, machine)
    presented = await thief.post("/handoffs/redeem", made.shown)
    assert presented.status == 202 and "task" not in presented.json  # and so it is asked for a number
    assert (await machine.refresh()).status == 200
    assert (await machine.page.get(f"/handoffs/{made.id}")).json["state"] == "claimed"


async def test_attack_02_who_signs_in_beside_a_copied_cookie_signs_nobody_else_out(app: AppUnderTest) -> None:
    for scheme in ("http", "https"):
        victim = await sign_in(app, f"dan-{scheme}", scheme) if scheme == "http" else (await bind(app)).page
        for thief in (victim.copied, Keyed(victim.app, dict(victim.headers), scheme=scheme, world=app, key=new_key())):
            key = await app.doors.links.issue_by_name("eve")
            assert (await thief.post("/signin", {"key": key})).status == 201
            assert (await victim.get("/me")).status == 200
    plain, key = await app.sign_in("plain"), await app.doors.links.issue_by_name("plain")
    assert (await plain.post("/signin", {"key": key})).status == 201
    assert (await plain.get("/me")).status == 401  # it has no key, and its cookie was changed
