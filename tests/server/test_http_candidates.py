"""Which task a new session is about: the ranking itself, and through the API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from kit.app_under_test import AppUnderTest, Browser, app_under_test
from kit.first_messages import NOW, ask, prior

from crdt_docs.ids import DocName, TaskId
from crdt_docs.rope import Rope
from server.domain.candidates import JUST_LEFT, LIMIT, Prior, rank
from server.domain.likeness import Profile
from server.domain.reasons import Work
from server.engine.failures import EngineFailed, Verdict
from server.http import sessions


def names(priors: list[Prior], message: str = "") -> list[str]:
    return [candidate.task.name for candidate in ask(priors, message).candidates]


def test_without_a_word_the_latest_comes_first() -> None:
    assert names([prior("old", 100), prior("new", 1), prior("older", 200)]) == ["new", "old", "older"]


def test_the_same_device_speaks_for_a_task() -> None:
    assert names([prior("elsewhere", 2), prior("here", 3, here=True)]) == ["here", "elsewhere"]
    assert names([prior("elsewhere", 2), prior("here", 300, here=True)]) == ["elsewhere", "here"]


def test_what_was_left_a_moment_ago_on_the_phone_comes_before_what_was_done_here_in_the_morning() -> None:
    ranking = ask([prior("here", 3, here=True), prior("on the phone", 0.2)], "")
    assert ranking.candidates[0].task.id == ranking.suggestion == "on the phone"


def test_recency_and_device_decide_between_tasks_that_are_equally_like() -> None:
    def two(hours: float, *, here: bool) -> list[Prior]:
        return [prior("first", 20, "about escrow"), prior("second", hours, "about escrow", here=here)]

    assert names(two(10, here=False), "escrow?")[0] == "second"
    assert names(two(30, here=False), "escrow?")[0] == "first"
    assert names(two(30, here=True), "escrow?")[0] == "second"


def test_likeness_outweighs_recency() -> None:
    priors = [prior("Holiday in Norway", 1, here=True), prior("Acme contract revision", 400)]
    assert names(priors, "Where were we with the Acme contract?")[0] == "Acme contract revision"


def test_a_pasted_draft_is_known_by_its_words() -> None:
    clause = "The Supplier shall indemnify the Customer against all losses arising from a breach of clause 7."
    priors = [prior("Norway", 1), prior("Untitled task", 300, text=f"Preamble. {clause} Governing law is Ireland.")]
    best = ask(priors, clause).candidates[0]
    assert best.task.name == "Untitled task"
    quoted = "The Supplier shall indemnify the Customer against all…"
    assert best.why == f"You pasted text that is in it: “{quoted}”. You worked on it 12 days ago."


def test_chinese_and_japanese_are_compared_without_spaces() -> None:
    priors = [prior("假期计划", 1), prior("阿克梅合同修订", 300), prior("東京出張の準備", 300)]
    assert names(priors, "我们继续修订合同吧")[0] == "阿克梅合同修订"
    assert names(priors, "東京出張について")[0] == "東京出張の準備"


def test_words_that_every_task_has_tell_little() -> None:
    priors = [prior("Acme contract", 2), prior("Bolt contract", 1), prior("Zeta contract", 3)]
    assert names(priors, "zeta contract")[0] == "Zeta contract"


def test_at_most_three_and_only_unfinished_ones() -> None:
    over = [replace(one, task=replace(one.task, status="done")) for one in [prior("done", 0)]]
    over += [replace(one, task=replace(one.task, status="archived")) for one in [prior("archived", 0)]]
    paused = replace(prior("0", 0), task=replace(prior("0", 0).task, status="paused"))
    assert names([*over, paused, *(prior(str(number), number) for number in range(1, 9))]) == ["0", "1", "2"]
    assert LIMIT == 3


def test_every_candidate_has_a_score_and_a_reason() -> None:
    text = "the escrow, the indemnity cap and the insurer, Dana said"
    priors = [prior("Acme", 30, text, here=True), prior("Norway", 0.001), prior("Bolt", 50)]
    [best, other, _] = ask(priors, "Does Dana want another indemnity cap, or escrow?").candidates
    assert 0 <= other.score < best.score <= 1
    assert best.why == (
        "Your message speaks of “Dana”, “indemnity cap” and “escrow”, as this task does."
        " You worked on it 1 day ago on this device."
    )
    assert other.why == "You worked on it just now."


def test_reasons_are_told_in_chinese() -> None:
    priors = [prior("租赁", 30, "免租期两个月，押金三个月", here=True), prior("Norway", 0.001)]
    [best, other] = ask(priors, "房东说免租期和押金都不能再谈", "zh").candidates
    assert best.why == "您的消息提到“免租期”、“押金”，这个任务里也有。您1天前在这台设备上处理过它。"
    assert other.why == "您刚刚处理过它。"


def test_a_reason_names_another_device_and_claims_no_work_that_never_was() -> None:
    elsewhere = replace(prior("a", 2), work=Work(NOW - 7200, device="Ann's phone"))
    never = replace(prior("b", 2), work=None)
    whys = {candidate.task.id: candidate.why for candidate in ask([elsewhere, never], "").candidates}
    assert whys == {"a": "You worked on it 2 hours ago on “Ann's phone”.", "b": "It last changed 115 days ago."}


def test_a_reason_quotes_the_message_and_nothing_else_of_the_task() -> None:
    text = "the escrow account number is 991-245 and Halloran knows the password"
    [candidate] = ask([prior("secret", 1, text)], "who knows about the escrow?").candidates
    assert "“escrow”" in candidate.why
    assert not any(word in candidate.why for word in ("account", "991", "Halloran", "password", "secret"))


def test_however_long_the_words_a_reason_is_short() -> None:
    token, clause = "x1" * 5000, " ".join(f"escrow{number}" for number in range(200))
    for message in (token, clause, "合同条款" * 2000):
        [candidate] = ask([prior("a", 1, f"{message} more")], message).candidates
        assert len(candidate.why) < 300


def test_what_was_just_left_is_suggested_to_a_session_that_says_nothing_else() -> None:
    left, old = prior("left", JUST_LEFT / 3600 - 0.1), prior("old", 50)
    for nothing in ("", "  ", "continue", "Let's pick up where we left off", "继续", "🙂"):
        assert ask([old, left], nothing).suggestion == "left", nothing
    assert ask([old, left], "a poem about autumn leaves").suggestion is None
    assert ask([old, prior("left", JUST_LEFT / 3600 + 0.1)], "").suggestion is None
    assert ask([replace(left, work=None)], "").suggestion is None, "made or changed by others is not left"


def test_of_two_that_were_just_left_neither_is_suggested() -> None:
    assert ask([prior("one", 0.1), prior("two", 0.2)], "").suggestion is None


def test_a_clock_that_went_back_scores_as_now() -> None:
    assert ask([prior("later", -5)], "").candidates[0].score == ask([prior("now", 0)], "").candidates[0].score


def test_no_tasks_are_no_candidates() -> None:
    assert rank([], NOW, "anything").candidates == [] and rank([], NOW).suggestion is None


@pytest.fixture
async def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AppUnderTest]:
    monkeypatch.setattr(sessions, "READING", 60.0)  # the engine may have to start first
    async with app_under_test(tmp_path) as app:
        yield app


async def test_a_session_recognizes_what_was_said_in_a_task(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    untitled = await owner.new_task("Untitled task")
    await owner.post(f"/tasks/{untitled}/messages", {"text": "The liability cap must stay at two million euros."})
    app.clock.advance(10 * 86400)
    await owner.new_task("Holiday in Norway")
    await owner.get(f"/tasks/{untitled}/working-set")  # the engine has started, as it has on a server
    begun = await owner.post("/sessions", {"first_message": "so the liability cap, two million euros?"})
    first = begun.json["candidates"][0]
    assert first["task"] == {"id": untitled, "name": "Untitled task"} and "“liability cap”" in first["why"]
    assert begun.json["suggestion"] == untitled


async def test_nothing_is_chosen_for_a_session(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    await owner.new_task("Acme contract")
    begun = await owner.post("/sessions", {"first_message": "Acme contract"})
    assert (await owner.get(f"/sessions/{begun.json['id']}")).json["task_id"] is None


async def test_the_device_that_worked_on_a_task_is_known_again(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    here, there = await owner.new_task("here"), await owner.new_task("there")
    for device, task in (("phone", here), ("desk", there)):
        session = (await owner.post("/sessions", {"device": device})).json["id"]
        await owner.patch(f"/sessions/{session}", {"task_id": task})
        await owner.post(f"/sessions/{session}/end")
    begun = await owner.post("/sessions", {"device": "phone"})
    assert [c["task"]["name"] for c in begun.json["candidates"]] == ["here", "there"]
    assert begun.json["candidates"][0]["why"].endswith("on this device.")
    assert begun.json["suggestion"] is None


async def said(owner: Browser, task: TaskId, text: str) -> None:
    assert (await owner.post(f"/tasks/{task}/messages", {"text": text})).status == 201


async def test_reasons_are_in_the_language_that_is_asked_for(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    await owner.new_task("租金")
    for body, header, word in (
        ({}, "zh-CN,zh;q=0.9", "更新"),
        ({"lang": "en"}, "zh", "changed"),
        ({}, None, "changed"),
    ):
        begun = await owner.post("/sessions", body, accept_language=header)
        assert word in begun.json["candidates"][0]["why"]
    assert (await owner.post("/sessions", {"lang": "fr"})).status == 422


async def test_tasks_of_others_are_never_candidates(app: AppUnderTest) -> None:
    ann, bob = await app.sign_in("ann"), await app.sign_in("bob")
    theirs = await ann.new_task("Acme contract")
    await said(ann, theirs, "The liability cap must stay at two million euros.")
    mine = await bob.new_task("Norway")
    await said(bob, mine, "The cabin in Flåm is booked.")
    for message in ("the liability cap, two million euros", "Acme contract", ""):
        begun = await bob.post("/sessions", {"first_message": message})
        assert [one["task"]["id"] for one in begun.json["candidates"]] == [mine]
        assert "liability" not in begun.body.decode() and begun.json["suggestion"] is None
    script, _ = await app.with_bearer(ann, task=await ann.new_task("Other"))
    bound = await script.post("/sessions", {"first_message": "the liability cap, two million euros"})
    assert theirs not in [one["task"]["id"] for one in bound.json["candidates"]]


async def test_a_task_that_was_left_or_shared_away_is_no_candidate(app: AppUnderTest) -> None:
    ann, bob = await app.sign_in("ann"), await app.sign_in("bob")
    task = await ann.new_task("Acme contract")
    await ann.post(f"/tasks/{task}/members", {"user": bob.user, "role": "viewer"})
    begun = await bob.post("/sessions", {"first_message": "Acme contract"})
    assert [one["task"]["id"] for one in begun.json["candidates"]] == [task]
    await ann.delete(f"/tasks/{task}/members/{bob.user}")
    assert (await bob.post("/sessions", {"first_message": "Acme contract"})).json["candidates"] == []


async def test_a_renamed_task_is_known_by_its_new_name(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    task = await owner.new_task("Untitled")
    await owner.post("/sessions", {"first_message": "borealis premium"})
    app.clock.advance(1)
    await owner.patch(f"/tasks/{task}", {"name": "Borealis premium"})
    begun = await owner.post("/sessions", {"first_message": "borealis premium"})
    assert begun.json["suggestion"] == task


async def test_what_a_task_says_since_it_was_last_read_counts(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    task = await owner.new_task("Untitled")
    await owner.post("/sessions", {"first_message": "escrow wording"})
    await said(owner, task, "Dana accepts the escrow wording.")
    app.clock.advance(1)
    await app.nouns.tasks.touch({task}, app.clock.now())
    assert (await owner.post("/sessions", {"first_message": "escrow wording"})).json["suggestion"] == task


async def test_a_document_that_hangs_the_engine_delays_one_answer_and_no_more(
    app: AppUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "READING", 1.0)
    owner = await app.sign_in()
    bad, good = await owner.new_task("Bad"), await owner.new_task("Good")
    await said(owner, bad, "The indemnity cap.")
    await said(owner, good, "The escrow wording.")
    asked, over = 0, anyio.Event()
    real = app.projections.profile

    async def hangs(update: bytes | Rope) -> Profile:
        nonlocal asked
        if b"indemnity" not in bytes(update):
            return await real(update)
        asked += 1
        await over.wait()
        raise EngineFailed(Verdict.HUNG)

    monkeypatch.setattr(app.projections, "profile", hangs)
    await owner.get(f"/tasks/{good}/working-set")  # the engine has started
    with anyio.fail_after(20):  # the others are read meanwhile
        while (await owner.post("/sessions", {"first_message": "escrow wording"})).json["suggestion"] != good:
            continue
    monkeypatch.setattr(sessions, "READING", 60.0)
    with anyio.fail_after(10):
        await owner.post("/sessions", {"first_message": "escrow wording"})
    over.set()
    with anyio.fail_after(10):
        while (await app.rooms.read(DocName(bad))).quarantined is None:  # noqa: ASYNC110 - nothing tells
            await anyio.sleep(0.01)
    with anyio.fail_after(10):
        begun = await owner.post("/sessions", {"first_message": "Bad"})
    assert [one["task"]["name"] for one in begun.json["candidates"]][0] == "Bad", "by its name, as ever"
    assert asked == 1


async def test_a_reading_that_could_not_be_done_just_then_is_done_later(
    app: AppUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = await app.sign_in()
    task = await owner.new_task("Untitled")
    await said(owner, task, "Dana accepts the escrow wording.")
    real, asked = app.projections.profile, {"first_message": "Dana's escrow wording"}

    async def busy(update: bytes | Rope) -> Profile:
        monkeypatch.setattr(app.projections, "profile", real)
        raise EngineFailed(Verdict.BUSY)

    monkeypatch.setattr(app.projections, "profile", busy)
    assert (await owner.post("/sessions", asked)).json["suggestion"] is None
    with anyio.fail_after(20):
        while (await owner.post("/sessions", asked)).json["suggestion"] != task:  # noqa: ASYNC110 - nothing tells
            await anyio.sleep(0.05)


async def test_nothing_is_kept_of_a_deleted_task(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    task = await owner.new_task("Untitled")
    await owner.post("/sessions", {"first_message": "escrow"})
    assert (await owner.delete(f"/tasks/{task}")).status == 204
    assert (await owner.post("/sessions", {"first_message": "escrow"})).json["candidates"] == []
