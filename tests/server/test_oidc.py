"""Sign-in by way of an organisation, against a provider of our own that can lie, over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from joserfc.jwk import OctKey, RSAKey
from kit.app_under_test import ORIGIN, Answered, AppUnderTest, Browser, app_under_test
from kit.authenticator import Authenticator
from kit.clock import FakeClock
from kit.openid_provider import CLIENT, SECRET, Lies, OpenIdProvider, openid_provider

from server.doors.provider import Organisation

CALLBACK = f"{ORIGIN}/api/v1/oidc/callback"


@pytest.fixture(scope="module")
def serving() -> Iterator[OpenIdProvider]:
    with openid_provider() as provider:
        yield provider


@pytest.fixture
def provider(serving: OpenIdProvider) -> OpenIdProvider:
    """The one provider, honest again, at the clock of the application under test."""
    serving.lies, serving.person = Lies(), {"sub": "248289761001", "name": "Jane Doe"}
    serving.now = FakeClock().now
    return serving


@pytest.fixture
async def app(tmp_path: Path, provider: OpenIdProvider) -> AsyncIterator[AppUnderTest]:
    own = Organisation(provider.issuer, CLIENT, SECRET, "all", "Acme")
    async with app_under_test(tmp_path, organisation=own) as app:
        provider.now = app.clock.now
        yield app


def page(app: AppUnderTest) -> Browser:
    return Browser(app.app, {"origin": ORIGIN})


async def leave(browser: Browser, path: str = "/oidc", **body: Any) -> str:
    """Begin; the browser keeps the flow's cookie. Where it is sent."""
    sent = await browser.post(path, body)
    assert sent.status == 201, sent.body
    flow = sent.headers["set-cookie"].partition(";")[0]
    browser.headers["cookie"] = "; ".join([*filter(None, [browser.headers.get("cookie")]), flow])
    return str(sent.json["url"])


async def there(address: str) -> str:
    """At the provider: the person agrees. Where the browser is sent back to, below the API."""
    async with httpx2.AsyncClient() as http:
        answer = await http.get(address, follow_redirects=False)
    location = answer.headers["location"]
    assert location.startswith(f"{CALLBACK}?")
    return str(location.removeprefix(f"{ORIGIN}/api/v1"))


async def back(browser: Browser, path: str) -> Answered:
    """Come back, as a navigation from another site does: without an Origin, without the strict cookie of a login."""
    flow = next(pair for pair in browser.headers["cookie"].split("; ") if "-oidc=" in pair)
    answer = await browser.get(path, origin=None, cookie=flow)
    assert answer.status == 303, answer.body
    return answer


async def enter(app: AppUnderTest) -> tuple[Browser, Answered]:
    browser = page(app)
    answer = await back(browser, await there(await leave(browser)))
    browser.headers["cookie"] = answer.cookies[0].partition(";")[0]
    return browser, answer


async def test_a_person_of_the_organisation_comes_in_and_is_the_same_user_again(
    app: AppUnderTest, provider: OpenIdProvider
) -> None:
    address = await leave(page(app))
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert query["redirect_uri"] == CALLBACK and query["code_challenge_method"] == "S256"
    assert query["scope"].split() == ["openid", "profile"] and len(query["state"]) == len(query["nonce"]) == 43
    first, came = await enter(app)
    assert came.headers["location"] == "/"
    me = (await first.get("/me")).json["user"]
    assert me["name"] == "Jane Doe"
    provider.person = {"sub": "248289761001", "name": "Jane Married", "email": "other@example.org"}
    again, _ = await enter(app)
    assert (await again.get("/me")).json["user"] == me
    provider.person = {"sub": "someone else", "name": "Jane Doe", "email": "other@example.org"}
    namesake, _ = await enter(app)
    other = (await namesake.get("/me")).json["user"]
    assert other["id"] != me["id"] and other["name"] == "Jane Doe 2"
    assert (await first.get("/me/account")).json["organisations"] == [provider.issuer]


LIES: dict[str, Lies] = {
    "another issuer": Lies(claims={"iss": "https://evil.example"}),
    "another audience": Lies(claims={"aud": "somebody-else"}),
    "an audience of several without azp": Lies(claims={"aud": [CLIENT, "somebody-else"]}),
    "another azp": Lies(claims={"azp": "somebody-else"}),
    "an old token": Lies(claims={"exp": 1}),
    "a token from the future": Lies(claims={"iat": 9_999_999_999}),
    "no end": Lies(claims={"exp": None}),
    "another nonce": Lies(claims={"nonce": "x" * 43}),
    "no nonce": Lies(claims={"nonce": None}),
    "no subject": Lies(claims={"sub": None}),
    "a subject that is no text": Lies(claims={"sub": 7}),
    "another's key": Lies(key=RSAKey.generate_key(2048)),
    "a secret for a signature": Lies(key=OctKey.import_key(SECRET.ljust(32, "x")), algorithm="HS256"),
    "an issuer in the answer that is not the one asked (RFC 9207)": Lies(answer={"iss": "https://evil.example"}),
    "no issuer in the answer, though promised": Lies(answer={"iss": None}),
    "another state": Lies(answer={"state": "x" * 43}),
    "another code": Lies(answer={"code": "x"}),
    "a refusal": Lies(answer={"error": "access_denied", "code": None}),
}


async def test_what_a_provider_or_whoever_says_to_be_it_gets_wrong_lets_nobody_in(
    app: AppUnderTest, provider: OpenIdProvider
) -> None:
    for what, lies in LIES.items():
        provider.lies = lies
        browser, answer = await enter(app)
        word = "closed" if what == "a refusal" else "failed"
        assert answer.headers["location"] == f"/#in={word}", what
        assert (await browser.get("/me")).status == 401, what
    provider.lies = Lies(claims={"aud": [CLIENT, "somebody-else"], "azp": CLIENT})
    assert (await enter(app))[1].headers["location"] == "/"


async def test_a_flow_is_one_browsers_once_and_for_ten_minutes(app: AppUnderTest) -> None:
    mine, thiefs = page(app), page(app)
    path = await there(await leave(mine))
    await leave(thiefs)
    assert (await back(thiefs, path)).headers["location"] == "/#in=failed"  # login CSRF, and it is burned
    assert (await back(mine, path)).headers["location"] == "/#in=failed"
    mine = page(app)
    path = await there(await leave(mine))
    assert (await back(mine, path)).headers["location"] == "/"
    assert (await back(mine, path)).headers["location"] == "/#in=failed"  # replayed
    mine = page(app)
    path = await there(await leave(mine))
    app.clock.advance(601)
    assert (await back(mine, path)).headers["location"] == "/#in=failed"


async def test_a_turned_key_is_found_and_an_unknown_one_is_not_looked_for_all_the_time(
    app: AppUnderTest, provider: OpenIdProvider
) -> None:
    assert (await enter(app))[1].headers["location"] == "/"
    app.clock.advance(31)
    provider.turn_key()
    assert (await enter(app))[1].headers["location"] == "/"


async def test_a_back_channel_logout_ends_the_logins_of_that_session_or_person_and_no_others(
    app: AppUnderTest, provider: OpenIdProvider
) -> None:
    owner = await app.sign_in()
    first, _ = await enter(app)
    provider.person = {"sub": "other", "name": "Other", "sid": "session-2"}
    other, _ = await enter(app)

    async def log_out(**claims: Any) -> Answered:
        token = provider.logout_token(**claims)
        body = f"logout_token={token}".encode()
        return await app.nobody.ask("POST", "/oidc/logout", body, content_type="application/x-www-form-urlencoded")

    jane = "248289761001"
    bad: list[dict[str, Any]] = [
        {}, {"sub": jane, "nonce": "x"}, {"sub": jane, "events": {}}, {"sub": jane, "jti": None},
        {"sub": jane, "iat": int(app.clock.now()) - 301}, {"sub": jane, "aud": "somebody-else"},
    ]  # fmt: skip
    for claims in bad:
        assert (await log_out(**claims)).status == 400, claims
    assert (await first.get("/me")).status == 200
    assert (await log_out(sid="session-1")).status == 200
    assert (await first.get("/me")).status == 401 and (await other.get("/me")).status == 200
    token = provider.logout_token(sub="other")
    body = f"logout_token={token}".encode()
    form = {"content_type": "application/x-www-form-urlencoded"}
    assert (await app.nobody.ask("POST", "/oidc/logout", body, **form)).status == 200
    assert (await other.get("/me")).status == 401 and (await owner.get("/me")).status == 200
    assert (await app.nobody.ask("POST", "/oidc/logout", body, **form)).status == 400  # heard before


async def test_who_is_signed_in_adds_the_organisation_and_comes_in_by_it_as_themselves(
    app: AppUnderTest, provider: OpenIdProvider
) -> None:
    owner = await app.sign_in()
    cookie = owner.headers["cookie"]
    answer = await back(owner, await there(await leave(owner, "/oidc/add")))
    assert answer.headers["location"] == "/#in=added"
    owner.headers["cookie"] = cookie
    again, _ = await enter(app)
    assert (await again.get("/me")).json["user"]["id"] == owner.user
    ana = await app.sign_in("ana")
    answer = await back(ana, await there(await leave(ana, "/oidc/add")))
    assert answer.headers["location"] == "/#in=taken"


async def test_who_has_a_passkey_shows_it_to_add_the_organisation(app: AppUnderTest, provider: OpenIdProvider) -> None:
    owner, authenticator = await app.sign_in(), Authenticator()
    options = (await owner.post("/passkeys/options", {})).json["options"]
    added = await owner.post("/passkeys", {"credential": authenticator.make(options)})
    owner.headers["cookie"] = added.headers["set-cookie"].partition(";")[0]
    app.clock.advance(301)
    refused = await owner.post("/oidc/add", {})
    assert (refused.status, refused.json["reason"]) == (403, "unproven")
    options = (await owner.post("/passkeys/proof/options", {})).json["options"]
    assert (await owner.post("/passkeys/proof", {"credential": authenticator.use(options)})).status == 200
    assert (await owner.post("/oidc/add", {})).status == 201


async def test_who_is_not_invited_stays_out_and_an_invitation_lets_one_in(
    tmp_path: Path, provider: OpenIdProvider
) -> None:
    own = Organisation(provider.issuer, CLIENT, SECRET)
    async with app_under_test(tmp_path, organisation=own) as app:
        provider.now = app.clock.now
        assert (await enter(app))[1].headers["location"] == "/#in=closed"
        owner = await app.sign_in()
        secret = (await owner.post("/invitations")).json["url"].partition("#")[2]
        browser = page(app)
        answer = await back(browser, await there(await leave(browser, invitation=secret)))
        assert answer.headers["location"] == "/"
        assert [user.name for user in await app.nouns.users.all()] == ["owner", "Jane Doe"]
        assert (await enter(app))[1].headers["location"] == "/"
        assert (await page(app).post("/oidc", {"invitation": secret})).status == 401  # used
        assert (await page(app).get("/signin/ways")).json == {
            "passkeys": True, "organisation": "127.0.0.1", "proxy": False
        }  # fmt: skip
