"""Invitations, accounts, device grants, and proxies whose word is taken."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from kit.app_under_test import ORIGIN, Answered, AppUnderTest, Browser, app_under_test
from starlette.types import Receive, Scope, Send

from server.domain.access import Role
from server.domain.device_grant import ALPHABET, clean_code
from server.domain.errors import Invalid
from server.doors.oidc import namesakes
from server.doors.origin import Hosts
from server.doors.proxy import Forwarded, Trust

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


# Invitations


async def test_only_the_owner_of_the_server_invites_and_each_invitation_makes_one_user(app: AppUnderTest) -> None:
    owner, ana = await app.sign_in(), await app.sign_in("ana")
    assert (await ana.post("/invitations")).status == 403
    made = (await owner.post("/invitations")).json
    secret = made["url"].removeprefix(f"{ORIGIN}/i#")
    assert len(secret) == 43 and (await app.nobody.post("/invitations/check", {"secret": secret})).json["good"]
    assert (await app.nobody.post("/invitations/accept", {"secret": secret, "name": "Owner"})).status == 409
    answers: Counter[int] = Counter()

    async def accept(n: int) -> None:
        given = {"secret": secret, "name": f"Bob {n}"}
        answers[(await Browser(app.app, {"origin": ORIGIN}).post("/invitations/accept", given)).status] += 1

    await asyncio.gather(*(accept(n) for n in range(10)))
    assert answers == {201: 1, 401: 9}
    assert len(await app.nouns.users.all()) == 3
    assert not (await app.nobody.post("/invitations/check", {"secret": secret})).json["good"]


async def test_an_invitation_ends_after_a_week_and_when_it_is_taken_back(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    first, second = [(await owner.post("/invitations")).json for _ in range(2)]
    assert (await owner.delete(f"/invitations/{first['id']}")).status == 204
    assert [one["id"] for one in (await owner.get("/invitations")).json["invitations"]] == [second["id"]]
    app.clock.advance(7 * 86400 + 1)
    owner = await app.sign_in()
    for made in (first, second):
        secret = made["url"].partition("#")[2]
        given = {"secret": secret, "name": "Bob"}
        assert (await app.nobody.post("/invitations/accept", given)).status == 401
    assert (await owner.get("/invitations")).json == {"invitations": []}


async def test_the_servers_owner_stays_it_under_any_name(app: AppUnderTest) -> None:
    first = await app.nouns.users.add("ana", app.clock.now())
    owner = await app.nouns.users.add("owner", app.clock.now())
    assert await app.nouns.users.owner() == owner and await app.nouns.users.ensure_owner(app.clock.now()) == owner
    await app.nouns.users.rename(owner.id, "Olga")
    await app.nouns.users.rename(first.id, "owner")
    key = await app.doors.links.issue_by_name()
    entered = await Browser(app.app, {"origin": ORIGIN}).post("/signin", {"key": key})
    assert entered.json["user"] == {"id": owner.id, "name": "Olga"}
    await app.nouns.users.delete(owner.id)
    assert await app.nouns.users.owner() is None  # and nobody inherits it by chance
    anew = await app.nouns.users.ensure_owner(app.clock.now())
    assert anew == await app.nouns.users.owner() and (anew.id, anew.name) != (first.id, "owner")


# Accounts


async def test_nobody_takes_the_name_of_the_servers_agent_or_of_a_guest(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    made = (await owner.post("/invitations")).json
    for name in ("Clew", " cLEW ", "Guest otter", "guest  OTTER 12", "访客水獭", "Ｃｌｅｗ"):
        body = {"secret": made["url"].partition("#")[2], "name": name}
        assert (await app.nobody.post("/invitations/accept", body)).status == 409, name
        assert (await owner.patch("/me/account", {"name": name})).status == 409, name
        assert namesakes({"name": name})[0] == "Guest"
    taken = {"secret": made["url"].partition("#")[2], "name": "Guest of Clew"}
    assert (await app.nobody.post("/invitations/accept", taken)).status == 201, "and the invitation is good yet"


async def test_an_account_has_a_name_a_language_a_plan_and_preferences(app: AppUnderTest) -> None:
    owner, ana = await app.sign_in(), await app.sign_in("ana")
    account = (await ana.get("/me/account")).json
    assert (account["name"], account["language"], account["plan"], account["owner"]) == ("ana", None, "standard", False)
    assert (await owner.get("/me/account")).json["owner"]
    changed = await ana.patch("/me/account", {"name": "Ana", "language": "zh", "preferences": {"a": True, "b": 1}})
    assert changed.json["name"] == "Ana" and changed.json["language"] == "zh"
    assert (await ana.patch("/me/account", {"preferences": {"a": None}})).json["preferences"] == {"b": 1}
    assert (await ana.patch("/me/account", {"language": "auto"})).json["language"] is None
    assert (await ana.patch("/me/account", {"name": "OWNER"})).status == 409
    for bad in ({}, {"plan": "gold"}, {"language": "fr"}, {"preferences": {"A": 1}}, {"preferences": {"a": [1]}}):
        assert (await ana.patch("/me/account", bad)).status == 422, bad
    assert (await ana.get("/me")).json["continuation"] is True
    assert (await ana.patch("/me/account", {"preferences": {"continuation": False}})).status == 200
    assert (await ana.get("/me")).json["continuation"] is False
    much = {"preferences": {f"k{n}": "x" * 400 for n in range(20)}}
    assert (await ana.patch("/me/account", much)).status == 422


async def test_the_server_speaks_the_language_of_the_account(app: AppUnderTest) -> None:
    ana = await app.sign_in("ana")
    task = await ana.new_task()
    english = (await ana.get(f"/tasks/{task}/resume", accept_language="en")).json["text"]
    await ana.patch("/me/account", {"language": "zh"})
    assert (await ana.get("/me")).json["language"] == "zh"
    chinese = (await ana.get(f"/tasks/{task}/resume", accept_language="en")).json["text"]
    assert chinese != english and any("\u4e00" <= char <= "\u9fff" for char in chinese)
    assert (await ana.get(f"/tasks/{task}/resume?lang=en", accept_language="zh")).json["text"] == english


# Device grants (RFC 8628)


async def form(app: AppUnderTest, path: str, **fields: str) -> Answered:
    return await app.nobody.ask("POST", path, urlencode(fields).encode(), content_type=FORM)


async def poll(app: AppUnderTest, asked: Any) -> Any:
    answer = await form(app, "/device/token", grant_type=GRANT, device_code=asked["device_code"])
    assert answer.headers["cache-control"] == "no-store"
    return answer.json if answer.status == 200 else answer.json["error"]


async def test_a_program_is_let_in_by_a_persons_word_within_bounds_that_they_choose(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    task = await owner.new_task()
    asked = (await form(app, "/device/authorize", client_id="clew on laptop", role="owner")).json
    code = asked["user_code"]
    assert len(clean_code(code)) == 8 and set(clean_code(code)) <= set(ALPHABET) and code[4] == "-"
    assert asked["verification_uri"] == f"{ORIGIN}/device" and code not in asked["verification_uri"]
    assert await poll(app, asked) == "authorization_pending"
    assert (await app.nobody.post("/device/look", {"code": code})).status == 401
    shown = (await owner.post("/device/look", {"code": code.lower().replace("-", " ")})).json
    assert (shown["client"], shown["role"]) == ("clew on laptop", "owner")
    bounds = {"verdict": "approve", "role": "viewer", "ttl": 600, "task": task}
    assert (await owner.post("/device/decide", {"code": code, **bounds})).status == 200
    assert (await owner.post("/device/decide", {"code": code, **bounds})).status == 404  # decided
    app.clock.advance(5)
    given = await poll(app, asked)
    assert given["token_type"] == "Bearer" and given["expires_in"] == 600 and given["task"] == task
    script = app.holding(given["access_token"])
    assert (await script.get(f"/tasks/{task}")).json["role"] == "viewer"
    assert (await script.post("/tasks", {})).status == 403
    assert (await form(app, "/device/token", grant_type=GRANT, device_code=asked["device_code"])).json == {
        "error": "invalid_grant"
    }
    [device] = [one for one in (await owner.get("/devices")).json["devices"] if one["name"] == "clew on laptop"]
    assert (await owner.delete(f"/devices/{device['id']}")).status == 204
    assert (await script.get("/me")).status == 401


async def test_who_asks_too_soon_waits_longer_from_then_on(app: AppUnderTest) -> None:
    asked = (await form(app, "/device/authorize", client_id="clew")).json
    assert await poll(app, asked) == "authorization_pending"
    app.clock.advance(4)
    assert await poll(app, asked) == "slow_down"
    app.clock.advance(6)
    assert await poll(app, asked) == "slow_down"  # ten seconds now
    app.clock.advance(15)
    assert await poll(app, asked) == "authorization_pending"
    app.clock.advance(14)
    assert await poll(app, asked) == "slow_down"  # and so it stays
    app.clock.advance(300)
    assert await poll(app, asked) == "expired_token"


async def test_what_is_declined_or_is_somebody_elses_task_gets_nothing(app: AppUnderTest) -> None:
    owner, eve = await app.sign_in(), await app.sign_in("eve")
    task = await owner.new_task()
    asked = (await form(app, "/device/authorize", client_id="clew")).json
    bounds = {"code": asked["user_code"], "verdict": "approve", "task": task}
    assert (await eve.post("/device/decide", bounds)).status == 404
    assert (await owner.post("/device/decide", {"code": asked["user_code"], "verdict": "decline"})).status == 200
    assert await poll(app, asked) == "access_denied"
    script, _ = await app.with_bearer(owner, Role.OWNER)
    assert (await script.post("/device/decide", bounds)).status == 403  # a bearer begets none


async def test_one_address_does_not_take_all_codes_that_there_are(app: AppUnderTest) -> None:
    for _ in range(30):
        assert (await form(app, "/device/authorize", client_id="clew")).status == 200
    refused = await form(app, "/device/authorize", client_id="clew")
    assert refused.status == 429 and refused.json == {"error": "slow_down"}


async def test_after_five_wrong_codes_the_right_one_is_refused_too(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    asked = (await form(app, "/device/authorize", client_id="clew")).json
    for _ in range(5):
        assert (await owner.post("/device/look", {"code": "BBBB-BBBB"})).status == 404
    refused = await owner.post("/device/look", {"code": asked["user_code"]})
    assert refused.status == 429 and refused.headers["retry-after"] == "300"
    approve = {"code": asked["user_code"], "verdict": "approve"}
    assert (await owner.post("/device/decide", approve)).status == 429
    app.clock.advance(301)
    asked = (await form(app, "/device/authorize", client_id="clew")).json
    assert (await owner.post("/device/look", {"code": asked["user_code"]})).status == 200


async def test_wrong_codes_of_one_account_shut_nobody_else_out_at_its_address(app: AppUnderTest) -> None:
    owner, eve = await app.sign_in(), await app.sign_in("eve")
    asked = (await form(app, "/device/authorize", client_id="clew")).json
    for _ in range(5):
        assert (await eve.post("/device/look", {"code": "BBBB-BBBB"})).status == 404
    assert (await eve.post("/device/look", {"code": asked["user_code"]})).status == 429
    assert (await owner.post("/device/look", {"code": asked["user_code"]})).status == 200


async def test_an_address_has_a_wider_bound_of_wrong_codes(app: AppUnderTest) -> None:
    for n in range(10):
        one = await app.sign_in(f"puppet {n}")
        for _ in range(5):
            assert (await one.post("/device/look", {"code": "BBBB-BBBB"})).status == 404
    owner = await app.sign_in()
    assert (await owner.post("/device/look", {"code": "BBBB-BBBB"})).status == 429


async def test_a_program_is_never_given_more_than_it_asked_for(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    asked = (await form(app, "/device/authorize", client_id="clew", role="viewer", ttl="60")).json
    more = {"code": asked["user_code"], "verdict": "approve", "role": "owner", "ttl": 366 * 86400}
    told = (await owner.post("/device/decide", more)).json
    given = await poll(app, asked)
    assert (told["role"], told["ttl"]) == (given["role"], given["expires_in"]) == ("viewer", 60)


async def test_an_agents_host_is_let_in_and_is_no_more_than_that(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    asked = (await form(app, "/device/authorize", client_id="clew agent", agent="Ada")).json
    assert (await owner.post("/device/look", {"code": asked["user_code"]})).json["agent"] == "Ada"
    approve = {"code": asked["user_code"], "verdict": "approve", "ttl": 3600}
    assert (await owner.post("/device/decide", approve)).status == 200
    host = app.holding((await poll(app, asked))["access_token"])
    assert (await host.get("/tasks")).status == 403


# A proxy whose word is taken


async def heard(trust: Trust, peer: str, *headers: tuple[str, str], kind: str = "http") -> Any:
    """What the application sees of a request, or the status that it is refused with."""
    seen: list[Scope] = []
    sent: list[Any] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)

    async def receive() -> Any:
        return {"type": f"{kind}.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers]
    extensions: dict[str, Any] = {"websocket.http.response": {}}
    scope = {"type": kind, "scheme": "http", "client": (peer, 1), "headers": raw, "extensions": extensions}
    await Forwarded(application, trust)(scope, receive, send)
    if not seen:
        return sent[0]["status"]
    told = {name.decode(): value.decode() for name, value in seen[0]["headers"]}
    return seen[0]["scheme"], seen[0]["client"][0] if seen[0]["client"] else None, told


FORWARDED = (("x-forwarded-proto", "https"), ("x-forwarded-for", "203.0.113.9, 10.0.0.8"), ("x-real-ip", "1.2.3.4"))


async def test_only_a_named_peer_says_how_somebody_came(app: AppUnderTest) -> None:
    trust = Trust.of(["10.0.0.0/24"], None)
    assert await heard(Trust(), "127.0.0.1", *FORWARDED, ("host", "a")) == ("http", "127.0.0.1", {"host": "a"})
    assert await heard(trust, "192.168.0.2", *FORWARDED) == ("http", "192.168.0.2", {})
    assert await heard(trust, "10.0.0.7", *FORWARDED) == ("https", "203.0.113.9", {"x-forwarded-proto": "https"})
    assert (await heard(trust, "::ffff:10.0.0.7", *FORWARDED, kind="websocket"))[0] == "wss"
    spoofed = ("x-forwarded-for", "127.0.0.1, 203.0.113.9")
    assert (await heard(trust, "10.0.0.7", spoofed))[1] == "203.0.113.9"
    assert (await heard(trust, "10.0.0.7", ("x-forwarded-for", "rubbish")))[1] == "10.0.0.7"
    for bad in ("10.0.0.1/24", "proxy.example"):
        with pytest.raises(Invalid):
            Trust.of([bad], None)


async def test_only_a_named_peer_says_who_somebody_is() -> None:
    trust = Trust.of(["10.0.0.7"], "Remote-User", alone=True)
    named, cookie = ("remote-user", "ana"), ("cookie", "clew-80=x")
    assert await heard(trust, "10.0.0.8", named) == 403
    assert await heard(trust, "10.0.0.8", named, kind="websocket") == 403
    assert await heard(trust, "10.0.0.8") == 403  # nobody comes past the proxy
    assert await heard(trust, "127.0.0.1", cookie) == ("http", "127.0.0.1", dict([cookie]))
    assert await heard(trust, "10.0.0.7", named, named) == 400
    assert (await heard(trust, "10.0.0.7", named, cookie))[2] == dict([cookie, named])
    assert (await heard(trust, "10.0.0.7", cookie))[2] == {}  # a cookie of somebody whom nobody vouches for


async def test_a_proxy_signs_in_whom_it_names_and_their_cookie_is_nobody_elses(tmp_path: Path) -> None:
    trust = Trust.of(["127.0.0.1"], "remote-user")
    hosts = Hosts.allowing(["clew.example"])
    async with app_under_test(tmp_path, trust=trust, hosts=hosts) as app:
        secure = {"origin": "https://clew.example", "host": "clew.example", "x-forwarded-proto": "https"}
        ana = Browser(app.app, {**secure, "remote-user": "ana"})
        entered = await ana.post("/signin/proxy", {})
        assert entered.status == 201 and "; Secure" in entered.headers["set-cookie"]
        assert entered.headers["set-cookie"].startswith("__Host-clew=")
        ana.headers["cookie"] = entered.headers["set-cookie"].partition(";")[0]
        assert (await ana.get("/me")).json["user"]["name"] == "ana"
        assert (await ana.get("/me", remote_user="eve")).status == 401
        assert (await ana.get("/me", remote_user=None)).status == 401
        assert (await Browser(app.app, {**secure, "remote-user": "ana"}).post("/signin/proxy", {})).json["user"] == (
            entered.json["user"]
        )
        assert (await Browser(app.app, secure).post("/signin/proxy", {})).status == 403
        await app.nouns.users.add("owner", app.clock.now())
        namesake = await Browser(app.app, {**secure, "remote-user": "owner"}).post("/signin/proxy", {})
        assert namesake.json["user"]["name"] == "owner 2"  # who is here by another way is somebody else


async def test_past_the_proxy_a_cookie_of_whom_it_names_is_nobodys(tmp_path: Path) -> None:
    async with app_under_test(tmp_path, trust=Trust.of(["10.0.0.7"], "remote-user")) as app:
        ana, bob = await app.sign_in("ana"), await app.sign_in("bob")  # from an address that is no proxy's
        await app.nouns.identities.add("proxy", "ana", ana.user, app.clock.now())
        task = await bob.new_task()
        shared = (await bob.post(f"/tasks/{task}/shares", {"role": "editor"})).json
        for method, path, body in (
            ("GET", "/me", None), ("POST", "/signout", {}), ("POST", "/tasks", {}), ("POST", "/links", {}),
            ("POST", "/passkeys/options", {}),
        ):  # fmt: skip
            answer = await (ana.get(path) if method == "GET" else ana.post(path, body))
            assert answer.status == 401, path
        assert (await bob.get("/me")).status == 200, "the proxy has never named them"
        id, _, secret = shared["url"].partition("#")[2].partition(".")
        joined = await ana.post("/shares/redeem", {"id": id, "secret": secret})
        assert joined.status == 200 and joined.json["user"]["id"] != ana.user, "they come as a stranger"
