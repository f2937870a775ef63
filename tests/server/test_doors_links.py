"""One-time links and the cookie that they become."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from kit.app_under_test import HOST, ORIGIN, AppUnderTest, Browser, app_under_test
from starlette.datastructures import Headers

from server.domain.credential import Secret
from server.doors.cookie import Cookies


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


async def redeem(app: AppUnderTest, key: str, **headers: str) -> Browser | None:
    browser = Browser(app.app, {"origin": ORIGIN, **headers})
    answer = await browser.post("/signin", {"key": key})
    if answer.status != 201:
        assert answer.status == 401 and "set-cookie" not in answer.headers
        return None
    browser.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
    return browser


async def test_nobody_is_owner_by_coming_first(app: AppUnderTest) -> None:
    answer = await app.nobody.post("/signin", {"key": "x"})
    assert answer.status == 401 and await app.nouns.users.all() == []


async def test_a_link_signs_in_once_and_is_burned(app: AppUnderTest) -> None:
    key = await app.doors.links.issue_by_name()
    browser = await redeem(app, key)
    assert browser is not None
    assert (await browser.get("/me")).json["user"]["name"] == "owner"
    assert await redeem(app, key) is None
    assert (await browser.get("/me")).status == 200


async def test_of_fifty_who_redeem_at_once_one_is_let_in(app: AppUnderTest) -> None:
    key = await app.doors.links.issue_by_name()
    statuses: Counter[int] = Counter()

    async def attempt() -> None:
        statuses[(await Browser(app.app).post("/signin", {"key": key})).status] += 1

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(attempt)
    assert statuses == {201: 1, 401: 49}
    [owner] = await app.nouns.users.all()
    assert len(await app.nouns.devices.of_user(owner.id)) == 1


async def test_a_link_lives_ten_minutes(app: AppUnderTest) -> None:
    early, late = await app.doors.links.issue_by_name(), await app.doors.links.issue_by_name()
    app.clock.advance(599)
    assert await redeem(app, early) is not None
    app.clock.advance(2)
    assert await redeem(app, late) is None


async def test_used_expired_and_unknown_links_answer_in_the_same_words(app: AppUnderTest) -> None:
    used, expired = await app.doors.links.issue_by_name(), await app.doors.links.issue_by_name()
    await redeem(app, used)
    app.clock.advance(601)
    bodies = {
        (await Browser(app.app).post("/signin", {"key": key})).body for key in (used, expired, "A" * 43, "../x", "é")
    }
    assert len(bodies) == 1


async def test_a_get_or_a_preview_burns_nothing(app: AppUnderTest) -> None:
    key = await app.doors.links.issue_by_name()
    for path in ("//", f"//?k={key}", "/signin", f"/signin?key={key}"):
        for method in ("GET", "HEAD"):
            assert (await Browser(app.app).ask(method, path, sec_purpose="prefetch")).status in (200, 405)
    assert await redeem(app, key) is not None


async def test_the_cookie_is_out_of_reach_of_pages(app: AppUnderTest) -> None:
    key = await app.doors.links.issue_by_name()
    answer = await Browser(app.app).post("/signin", {"key": key})
    pair, *attributes = answer.headers["set-cookie"].split("; ")
    assert pair.startswith("clew-8484=") and len(pair) == len("clew-8484=") + 43
    assert set(attributes) == {"Max-Age=2592000", "Path=/", "HttpOnly", "SameSite=Strict"}
    assert key not in answer.body.decode() and pair[10:] not in answer.body.decode()


def test_under_tls_the_cookie_belongs_to_this_host_alone() -> None:
    headers = Headers({"host": "clew.example"})
    set_cookie = Cookies(secure=True).grant(headers, Secret("abc"))
    assert set_cookie.startswith("__Host-clew=abc;") and "; Secure" in set_cookie and "Domain" not in set_cookie
    assert Cookies(secure=True).read(Headers({"host": "clew.example", "cookie": "clew-443=evil"})) is None


def test_a_planted_second_cookie_signs_nobody_in() -> None:
    cookies = Cookies(secure=False)
    twice = Headers({"host": HOST, "cookie": "clew-8484=mine; clew-8484=planted"})
    assert cookies.read(twice) is None
    assert cookies.read(Headers({"host": HOST, "cookie": "a=b; clew-8484=mine; clew-8485=other"})) == "mine"


async def test_signing_in_again_makes_a_new_login_on_the_same_device(app: AppUnderTest) -> None:
    first = await redeem(app, await app.doors.links.issue_by_name())
    assert first is not None
    again = await redeem(app, await app.doors.links.issue_by_name(), cookie=first.headers["cookie"])
    assert again is not None and again.headers["cookie"] != first.headers["cookie"]
    assert (await first.get("/me")).status == 401
    me = (await again.get("/me")).json
    assert [d["id"] for d in (await again.get("/devices")).json["devices"]] == [me["device"]]


async def test_a_planted_login_does_not_survive_signing_in(app: AppUnderTest) -> None:
    mallory = await app.sign_in("mallory")
    victim = await redeem(app, await app.doors.links.issue_by_name("ana"), cookie=mallory.headers["cookie"])
    assert victim is not None and (await victim.get("/me")).json["user"]["name"] == "ana"
    assert (await mallory.get("/me")).status == 401


async def test_a_second_device_gets_a_link_of_its_own(app: AppUnderTest) -> None:
    laptop = await app.sign_in()
    made = await laptop.post("/links")
    assert made.status == 201 and made.json["url"].startswith(f"{ORIGIN}/#k=")
    phone = await redeem(
        app,
        made.json["url"].partition("#k=")[2],
        **{"user-agent": "Mozilla/5.0 (Linux; Android 16; Pixel 7) Chrome/156.0 Mobile Safari/537.36"},
    )
    assert phone is not None
    devices = {d["name"]: d["kind"] for d in (await phone.get("/devices")).json["devices"]}
    assert devices == {"laptop": "script", "Chrome on Android": "phone"}


async def test_a_login_ends_after_thirty_days(app: AppUnderTest) -> None:
    browser = await app.sign_in()
    app.clock.advance(30 * 86400 - 1)
    assert (await browser.get("/me")).status == 200
    app.clock.advance(2)
    assert (await browser.get("/me")).status == 401


async def test_a_revoked_device_leaves_no_link_to_come_back_by(app: AppUnderTest) -> None:
    stolen = await app.sign_in()
    made = (await stolen.post("/links")).json["url"].partition("#k=")[2]
    owner = await redeem(app, await app.doors.links.issue_by_name((await stolen.get("/me")).json["user"]["name"]))
    assert owner is not None
    device = (await stolen.get("/me")).json["device"]
    assert (await owner.ask("DELETE", f"/devices/{device}")).status in (200, 204)
    assert await redeem(app, made) is None
