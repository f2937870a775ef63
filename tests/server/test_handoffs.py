"""A task is handed to a new device: the fifteen lines that a server must meet, one test each."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from joserfc.jwk import ECKey
from kit.app_under_test import Answered, AppUnderTest, Browser, app_under_test, call
from kit.handing_over import Offer, Phone, approve, hand_over, offer
from kit.intruder import fill

from crdt_docs.ids import TaskId, new_id
from server.domain.handoff import ALPHABET, network_of, read_code
from server.domain.policy import Policy
from server.http.endpoint import PREFIX


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("handoffs")


@pytest.fixture(scope="module")
async def app(folder: Path) -> AsyncIterator[AppUnderTest]:
    """One for all tests; each has a person of its own, and comes when what others guessed is forgotten."""
    async with app_under_test(folder) as app:
        yield app


@pytest.fixture
async def laptop(app: AppUnderTest) -> Browser:
    app.clock.advance(601)
    return await app.sign_in(new_id())


@pytest.fixture
async def task(laptop: Browser) -> TaskId:
    return await laptop.new_task()


async def again(app: AppUnderTest, laptop: Browser, device: str) -> Browser:
    """The same person, signed in on another device."""
    user = await app.nouns.users.get(laptop.user)
    assert user is not None
    return await app.sign_in(user.name, device)


async def state(laptop: Browser, made: Offer) -> tuple[str, str | None]:
    """How it stands, as whoever offered it sees it."""
    answer = (await laptop.get(f"/handoffs/{made.id}")).json
    return answer["state"], answer["why"]


def stored(folder: Path) -> bytes:
    """All that the folder holds."""
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def events(app: AppUnderTest, made: Offer) -> list[str]:
    """What the audit trail says of it, the latest last."""
    return [one.event for one in reversed(await app.nouns.audit.latest()) if made.id in one.subjects]


async def test_checklist_01_codes_are_random_and_only_their_hashes_are_kept(
    app: AppUnderTest, laptop: Browser, task: TaskId, folder: Path
) -> None:
    qr, other = await offer(laptop, task), await offer(laptop, await laptop.new_task("Other"))
    assert len(qr.secret) == 22 and qr.secret != other.secret  # 128 bits in base64url
    typed = await offer(laptop, task, how="code")
    assert re.fullmatch(f"[{ALPHABET}]{{4}}-[{ALPHABET}]{{4}}", typed.secret)
    kept = stored(folder)
    for shown in (qr.secret, typed.secret, typed.secret.replace("-", "")):
        assert shown.encode() not in kept
    sloppy = f" {typed.secret.lower().replace('-', ' ')[:6]} – {typed.secret.lower()[6:]}".replace("-", "")
    assert read_code(sloppy) == read_code(typed.secret)
    assert (await Phone(app).post("/handoffs/redeem", {"code": sloppy})).status == 202


@pytest.mark.parametrize(("how", "life"), [("qr", 120), ("code", 300)])
async def test_checklist_02_a_code_is_short_lived_and_so_is_what_claimed_it(
    app: AppUnderTest, laptop: Browser, task: TaskId, how: str, life: int
) -> None:
    made, phone = await offer(laptop, task, how=how), Phone(app)
    app.clock.advance(life)
    assert (await phone.redeem(made)).status == 404
    made = await offer(laptop, task, how=how)
    app.clock.advance(life - 1)
    number = (await phone.redeem(made)).json["number"]
    app.clock.advance(1)
    assert (await approve(laptop, made, number)).status == 409
    assert (await phone.collect(made)).status == 404
    assert await state(laptop, made) == ("ended", "expired")


async def test_checklist_03_of_fifty_at_once_one_is_heard(app: AppUnderTest, laptop: Browser, task: TaskId) -> None:
    made, statuses = await offer(laptop, task), list[int]()

    async def present() -> None:
        statuses.append((await Phone(app).redeem(made)).status)

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(present)
    assert sorted(statuses) == [202] + [404] * 49


async def test_checklist_04_whatever_is_wrong_with_a_code_the_answer_is_the_same(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    answers: list[Answered] = []
    for how in ("qr", "code"):
        used, stale = await offer(laptop, task, how=how), await offer(laptop, await laptop.new_task("B"), how=how)
        await Phone(app).redeem(used)
        declined = await offer(laptop, await laptop.new_task("C"), how=how)
        await laptop.post(f"/handoffs/{declined.id}/decline")
        unknown = Offer("", {**used.shown, "id": new_id()} if how == "qr" else {"code": "BCDF-GHJK"}, {})
        app.clock.advance(301)
        for presented in (unknown, used, stale, declined):
            answers.append(await Phone(app).redeem(presented))
        app.clock.advance(600)
    foreign = await offer(laptop, task)
    answers.append(await Phone(app).post("/handoffs/redeem", {"id": new_id(), "secret": foreign.secret}))
    assert {(one.status, one.body, tuple(one.headers.items())) for one in answers} == {
        (404, answers[0].body, tuple(answers[0].headers.items()))
    }


async def test_checklist_05_five_wrong_codes_are_enough_and_the_right_one_is_then_refused(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    made, phone = await offer(laptop, task, how="code"), Phone(app)
    for letter in "BCDFG":
        assert (await phone.post("/handoffs/redeem", {"code": letter * 8})).status == 404
    refused = await phone.redeem(made)
    assert refused.status == 429 and 0 < int(refused.headers["retry-after"]) <= 300
    assert await state(laptop, made) == ("ended", "guessed")  # nor does it open to anybody else
    assert (await Phone(app, place="198.51.100.7").redeem(made)).status == 404
    app.clock.advance(301)
    assert (await phone.redeem(await offer(laptop, task, how="code"))).status == 202


async def test_checklist_06_one_is_pending_a_task_five_in_ten_minutes_and_none_in_a_pause(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    first, second = await offer(laptop, task), await offer(laptop, task)
    assert await state(laptop, first) == ("ended", "withdrawn")
    assert (await Phone(app).redeem(first)).status == 404 and (await Phone(app).redeem(second)).status == 202
    for _ in range(3):
        await offer(laptop, task)
    sixth = await laptop.post("/handoffs", {"task": task})
    assert sixth.status == 429 and 0 < int(sixth.headers["retry-after"]) <= 600
    app.clock.advance(601)
    made = await offer(laptop, task)
    assert (await laptop.post("/handoffs/pause")).status == 201
    assert (await Phone(app).redeem(made)).status == 404
    app.clock.advance(3599)
    assert (await laptop.post("/handoffs", {"task": task})).status == 429
    assert (await laptop.delete("/handoffs/pause")).status == 204
    await offer(laptop, task)


async def test_checklist_07_only_the_login_device_and_session_that_offered_may_answer(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    tablet = await again(app, laptop, "tablet")
    session = (await laptop.post("/sessions", {})).json["id"]
    other = (await laptop.post("/sessions", {})).json["id"]
    for who, named in ((tablet, session), (laptop, other), (laptop, None)):
        made, phone = await offer(laptop, task, session=session), Phone(app)
        number = (await phone.redeem(made)).json["number"]
        assert (await who.get(f"/handoffs/{made.id}" + (f"?session={named}" if named else ""))).status == 404
        assert (await approve(who, made, number, named)).status == 403
        assert (await approve(laptop, made, number, session)).status == 409
        assert (await phone.collect(made)).status == 404
    made, phone = await offer(laptop, task, session=session), Phone(app)
    assert (await approve(laptop, made, (await phone.redeem(made)).json["number"], session)).status == 200


async def test_checklist_08_only_the_key_that_claimed_collects_and_once(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    for thief in (Phone(app, ECKey.generate_key("P-256")), Phone(app)):
        made, phone = await offer(laptop, task), Phone(app, ECKey.generate_key("P-256"))
        await approve(laptop, made, (await phone.redeem(made)).json["number"])
        thief.claim = phone.claim
        assert (await thief.collect(made)).status == 404
        assert (await phone.collect(made)).status == 404  # somebody has tried: nobody comes in
        assert await state(laptop, made) == ("ended", "elsewhere")
    made, phone = await offer(laptop, task), Phone(app, ECKey.generate_key("P-256"))
    number = (await phone.redeem(made)).json["number"]
    assert (await phone.collect(made)).status == 202
    await approve(laptop, made, number)
    collected = await phone.collect(made)
    assert collected.status == 201
    assert (await phone.collect(made)).status == 404
    copied = phone.signed_in(collected)
    assert (await copied.get("/tasks")).status == 401  # the cookie is nothing without the key


async def test_checklist_09_the_approval_shows_who_it_is_and_no_get_gives_it(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    made, phone = await offer(laptop, task, role="commenter", ttl=3600), Phone(app)
    redeemed = (await phone.redeem(made)).json
    assert redeemed["device"] == "laptop" and "task" not in redeemed  # the title waits until it is let in
    asked = (await laptop.get(f"/handoffs/{made.id}")).json
    assert (asked["state"], asked["task"], asked["role"]) == ("claimed", "Acme contract revision", "commenter")
    assert asked["claim"]["name"] == "Chrome on Android" and asked["claim"]["kind"] == "phone"
    assert asked["claim"]["same_network"] is True and asked["until"] > asked["expires_at"]
    there = f"/handoffs/{made.id}/approve"
    assert (await laptop.get(f"{there}?number={redeemed['number']}")).status == 405
    assert (await state(laptop, made))[0] == "claimed"


def test_checklist_09_networks_are_told_apart_as_far_as_they_can_be() -> None:
    assert network_of("2001:db8:1:2::3") == network_of("2001:db8:1:2:ffff::") != network_of("2001:db8:1:3::3")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") != network_of("192.0.2.2")
    assert network_of("a unix socket") is None is network_of(None)


async def test_checklist_10_there_are_three_numbers_and_one_try(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    made, phone = await offer(laptop, task), Phone(app)
    number = (await phone.redeem(made)).json["number"]
    numbers = (await laptop.get(f"/handoffs/{made.id}")).json["claim"]["numbers"]
    assert number in numbers and len(set(numbers)) == 3 and all(10 <= one <= 99 for one in numbers)
    wrong = next(one for one in numbers if one != number)
    assert (await approve(laptop, made, wrong)).status == 409
    assert (await approve(laptop, made, number)).status == 409
    assert (await phone.collect(made)).status == 404
    assert await state(laptop, made) == ("ended", "mismatched")


async def test_checklist_11_no_secret_is_in_an_address_that_is_asked_for(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    made = await offer(laptop, task)
    before, _, fragment = made.answer["url"].partition("#")
    assert before.endswith("/h") and made.secret in fragment  # a fragment stays in the browser
    for answer in (await laptop.get(f"/handoffs/{made.id}"), await Phone(app).redeem(made)):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert made.secret.encode() not in answer.body
    assert (await laptop.get(f"/handoffs/redeem?id={made.id}&secret={made.secret}")).status == 405


VISITOR = {
    "GET /tasks", "GET /tasks/{id}", "PATCH /tasks/{id}", "GET /tasks/{id}/working-set", "GET /tasks/{id}/resume",
    "GET /tasks/{id}/authors", "GET /tasks/{id}/turns", "GET /tasks/{id}/policy", "GET /tasks/{id}/agents",
    "POST /tasks/{id}/agents/stop", "GET /tasks/{id}/address", "GET /tasks/{id}/members", "POST /tasks/{id}/messages",
    "POST /tasks/{id}/updates", "POST /tasks/{id}/tickets", "POST /sessions", "POST /signout", "GET /me",
}  # fmt: skip
"""All that a device may ask for which came by a handoff, of what has no id of another kind in it."""


BODIES: dict[str, dict[str, Any]] = {
    "POST /tasks": {"name": "x"}, "POST /handoffs": {"task": "{task}"}, "PATCH /sessions/{id}": {"task_id": None},
    "POST /tasks/{id}/members": {"user": "eve", "role": "viewer"},
    "PATCH /tasks/{id}/members/{user}": {"role": "viewer"},
    "POST /tasks/{id}/updates": {"update": "AAA=", "generation": 0},
    "PUT /tasks/{id}/policy": {"resume": "members", "device": "any", "confirm": "none"},
    "PATCH /devices/{id}": {"name": "x"},
    "POST /passkeys": {"credential": {}}, "PATCH /passkeys/{id}": {"name": "x"},
    "POST /passkeys/proof": {"credential": {}}, "POST /device/look": {"code": "BCDFGHJK"},
    "POST /device/decide": {"code": "BCDFGHJK", "verdict": "approve"}, "PATCH /me/account": {"name": "x"},
    "POST /me/erase": {"confirm": "x"}, "POST /handoffs/{id}/approve": {"number": 42},
}  # fmt: skip
"""What some of the others take, so that it is the door that refuses and not the form."""


async def test_checklist_12_it_gives_one_task_a_role_and_an_end_and_nothing_that_goes_further(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    other = await laptop.new_task("Other")
    assert (await laptop.post("/handoffs", {"task": task, "role": "owner"})).status == 422
    phone, _ = await hand_over(app, laptop, task, role="editor", ttl=3600)
    assert [one["id"] for one in (await phone.get("/tasks")).json["tasks"]] == [task]
    assert (await phone.get(f"/tasks/{task}")).json["role"] == "editor"
    assert (await phone.get(f"/tasks/{other}")).status == 404
    open_to_it, unclear = [], []
    for row in app.rows:
        if f"{row.method} {row.path}" in VISITOR or row.door in ("anyone", "grant", "host"):
            continue
        path = row.path.replace("{id}", task if row.path.startswith("/tasks/") else phone.device)
        path = re.sub(r"\{\w+\}", phone.user, path)
        body = fill(
            BODIES.get(f"{row.method} {row.path}", {}), {"task": task, "user": phone.user, "device": phone.device}
        )
        answer = await phone.ask(row.method, path, body if row.method != "GET" else None)
        if answer.status == 422:
            unclear.append(f"{row.method} {row.path}")
        elif answer.status not in (403, 404):
            open_to_it.append((row.method, row.path, answer.status))
    assert (open_to_it, unclear) == ([], [])
    for path in ("/export?format=md", "/export?format=yjs"):
        assert (await phone.get(f"/tasks/{task}{path}")).status == 403
    assert (await phone.delete(f"/tasks/{task}/members/{phone.user}")).status == 403  # nor leave for its person
    app.clock.advance(3600)
    assert (await phone.get(f"/tasks/{task}")).status == 401


async def test_a_device_that_is_kept_has_all_tasks_and_stays(app: AppUnderTest, laptop: Browser, task: TaskId) -> None:
    phone, made = await hand_over(app, laptop, task)
    other = await laptop.new_task("Other")
    assert (await phone.post(f"/devices/{phone.device}/keep")).status == 403  # it can't keep itself
    device = (await laptop.get(f"/handoffs/{made.id}")).json["device"]
    assert device == phone.device
    listed = {one["id"]: one["visiting"] for one in (await laptop.get("/devices")).json["devices"]}
    assert listed[device]["task"] == task and listed[laptop.device] is None
    assert (await laptop.post(f"/devices/{device}/keep")).status == 204
    app.clock.advance(13 * 3600)
    assert (await phone.get(f"/tasks/{other}")).status == 200
    assert (await phone.post("/handoffs", {"task": task})).status == 201


async def test_a_visit_that_is_over_is_not_revived_by_keeping_its_device(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    phone, _ = await hand_over(app, laptop, task)
    app.clock.advance(13 * 3600)
    assert (await phone.get(f"/tasks/{task}")).status == 401
    assert (await laptop.post(f"/devices/{phone.device}/keep")).status == 204
    assert (await phone.get(f"/tasks/{task}")).status == 401 and (await phone.get("/me")).status == 401


async def test_a_browser_that_is_signed_in_is_told_the_task_and_needs_no_more(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    tablet, eve = await again(app, laptop, "tablet"), await app.sign_in("eve")
    made = await offer(laptop, task)
    refused = await eve.post("/handoffs/redeem", made.shown)
    assert (refused.status, refused.code) == (409, "conflict")  # she is not signed out by somebody's code
    known = await tablet.post("/handoffs/redeem", made.shown)
    assert (known.status, known.json) == (200, {"task": task})
    assert await state(laptop, made) == ("ended", "known")


async def test_a_policy_that_wants_a_key_lets_no_device_in_that_has_none(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    made = await offer(laptop, task)
    await app.nouns.policies.set(task, Policy(device="registered"), app.clock.now())
    app.doors.authority.forget(task)
    refused = await Phone(app).redeem(made)
    assert refused.status == 403 and refused.json["reason"] == "policy_device" and b"Acme" not in refused.body


@pytest.mark.parametrize("path", ["/h", "/t/0"])
async def test_checklist_14_no_page_is_framed(app: AppUnderTest, path: str) -> None:
    page = await call(app.app, "GET", path, {"host": "localhost:8484"}, b"")
    assert page.status == 200
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "DENY" and page.headers["referrer-policy"] == "no-referrer"


async def test_checklist_15_the_trail_has_each_step_and_both_devices(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    phone, made = await hand_over(app, laptop, task)
    steps = ["handoff.offered", "handoff.claimed", "handoff.approved", "handoff.collected"]
    assert await events(app, made) == steps
    last = next(one for one in await app.nouns.audit.latest() if one.event == "handoff.collected")
    assert last.subjects == (made.id, laptop.device, phone.device) and last.task == task
    assert (await Phone(app).redeem(made)).status == 404
    assert (await events(app, made))[-1] == "handoff.reused"
    declined = await offer(laptop, task)
    await Phone(app).redeem(declined)
    await laptop.post(f"/handoffs/{declined.id}/decline")
    stale = await offer(laptop, task)
    app.clock.advance(121)
    await state(laptop, stale)
    assert (await events(app, declined))[-1] == "handoff.declined"
    assert (await events(app, stale))[-1] == "handoff.expired"
    kept = str([(one.event, one.subjects) for one in await app.nouns.audit.latest()])
    assert made.secret not in kept


# -- attacks


async def test_attack_18_guessing_from_a_thousand_places_is_capped_like_guessing_from_one(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    made = await offer(laptop, task, how="code")
    for n in range(40):
        there = Phone(app, place=f"203.0.113.{n}")
        assert (await there.post("/handoffs/redeem", {"code": "BCDFGHJ" + ALPHABET[n % 20]})).status == 404
    assert (await Phone(app, place="198.51.100.9").redeem(made)).status == 404
    assert await state(laptop, made) == ("ended", "guessed")


async def test_attack_19_a_used_code_that_comes_again_takes_back_what_it_gave(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    phone, made = await hand_over(app, laptop, task)
    app.clock.advance(23 * 3600 - 13 * 3600)
    assert (await phone.get(f"/tasks/{task}")).status == 200
    assert (await Phone(app).redeem(made)).status == 404
    assert (await phone.get(f"/tasks/{task}")).status == 401
    pending, first = await offer(laptop, task), Phone(app)
    number = (await first.redeem(pending)).json["number"]
    assert (await Phone(app).redeem(pending)).status == 404
    assert await state(laptop, pending) == ("ended", "reused")  # nobody knows which of the two it was meant for
    assert (await approve(laptop, pending, number)).status == 409 and (await first.collect(pending)).status == 404


async def test_who_is_signed_out_meanwhile_has_let_nobody_in(app: AppUnderTest, laptop: Browser, task: TaskId) -> None:
    tablet = await again(app, laptop, "tablet")
    made, phone = await offer(laptop, task), Phone(app)
    await approve(laptop, made, (await phone.redeem(made)).json["number"])
    assert (await tablet.delete(f"/devices/{laptop.device}")).status == 204
    assert (await phone.collect(made)).status == 404
    told = await laptop.get("/me")
    assert (told.status, told.json["reason"]) == (401, "revoked")  # so that its page lets go of what it keeps
    assert "reason" not in (await app.nobody.get("/me")).json


async def test_attack_20_whoever_answers_or_collects_in_anothers_place_ends_it(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    tablet = await again(app, laptop, "tablet")
    for trick in ("another session approves", "another key collects", "a wrong number"):
        made, phone = await offer(laptop, task), Phone(app, ECKey.generate_key("P-256"))
        number = (await phone.redeem(made)).json["number"]
        if trick == "another session approves":
            assert (await approve(tablet, made, number)).status == 403
        elif trick == "another key collects":
            assert (await Phone(app, ECKey.generate_key("P-256"), claim=phone.claim).collect(made)).status == 404
        else:
            assert (await approve(laptop, made, number % 90 + 10)).status == 409
        assert (await approve(laptop, made, number)).status == 409, trick
        assert (await phone.collect(made)).status == 404, trick


async def test_attack_21_previews_scanners_and_prefetches_burn_nothing(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    made = await offer(laptop, task)
    for method in ("GET", "HEAD", "OPTIONS"):
        for path in ("/h", f"/h?{made.id}.{made.secret}", f"{PREFIX}/handoffs/redeem", f"{PREFIX}/handoffs/{made.id}"):
            await call(app.app, method, path, {"host": "localhost:8484", "sec-purpose": "prefetch;prerender"}, b"")
    assert (await state(laptop, made))[0] == "offered"
    assert (await Phone(app).redeem(made)).status == 202


async def test_attack_22_who_is_bombed_with_prompts_gets_five_and_may_have_peace(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    tasks = [task, *[await laptop.new_task(f"T{n}") for n in range(5)]]
    statuses = [(await laptop.post("/handoffs", {"task": one})).status for one in tasks]
    assert statuses == [201] * 5 + [429]
    app.clock.advance(601)
    await laptop.post("/handoffs/pause")
    assert (await laptop.post("/handoffs", {"task": task})).status == 429


async def test_attack_18_a_typed_code_is_none_beside_an_id(app: AppUnderTest, laptop: Browser, task: TaskId) -> None:
    made, phone = await offer(laptop, task, how="code"), Phone(app)
    for id in (new_id(), made.id):
        for code in (made.secret.replace("-", ""), made.secret):
            assert (await phone.post("/handoffs/redeem", {"id": id, "secret": code})).status == 404
    assert await state(laptop, made) == ("offered", None)
    assert (await phone.redeem(made)).status == 202
    assert (await Phone(app).post("/handoffs/redeem", {"id": made.id, "secret": made.secret})).status == 404
    assert (await state(laptop, made))[0] == "claimed"  # nor was it presented again


async def test_a_handoff_tells_no_name_to_a_device_that_the_task_has_shut_out(
    app: AppUnderTest, laptop: Browser, task: TaskId
) -> None:
    made = await offer(laptop, task)
    assert (await laptop.get(f"/handoffs/{made.id}")).json["task"] == "Acme contract revision"
    await app.nouns.policies.set(task, Policy(device="bound"), app.clock.now())
    app.doors.authority.forget(task)
    told = await laptop.get(f"/handoffs/{made.id}")
    assert told.status == 200 and told.json["task"] == "" and b"Acme" not in told.body
