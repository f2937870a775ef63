"""Which task a new session is about: the ranking itself, and through the API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kit.app_under_test import AppUnderTest, app_under_test

from crdt_docs.ids import TaskId, UserId
from server.domain.candidates import LIMIT, Prior, rank, terms
from server.domain.task import Status, Task

NOW = 1_800_000_000.0
HOUR = 3600.0


def prior(name: str, hours: float, *, same_device: bool = False, text: str = "", status: Status = "open") -> Prior:
    task = Task(TaskId(name), name, status, UserId("u"), NOW - 1e6, NOW - 1e6)
    return Prior(task, NOW - hours * HOUR, same_device, text)


def names(priors: list[Prior], message: str = "") -> list[str]:
    return [candidate.task.name for candidate in rank(priors, NOW, message)]


def test_without_a_word_the_latest_comes_first() -> None:
    assert names([prior("old", 100), prior("new", 1), prior("older", 200)]) == ["new", "old", "older"]


def test_the_same_device_speaks_for_a_task() -> None:
    assert names([prior("elsewhere", 2), prior("here", 3, same_device=True)]) == ["here", "elsewhere"]


def test_likeness_outweighs_recency() -> None:
    priors = [prior("Holiday in Norway", 1, same_device=True), prior("Acme contract revision", 400)]
    assert names(priors, "Where were we with the Acme contract?")[0] == "Acme contract revision"


def test_a_pasted_draft_is_known_by_its_words() -> None:
    clause = "The Supplier shall indemnify the Customer against all losses arising from a breach of clause 7."
    priors = [prior("Norway", 1), prior("Untitled task", 300, text=f"Preamble. {clause} Governing law is Ireland.")]
    assert names(priors, clause)[0] == "Untitled task"


def test_chinese_and_japanese_are_compared_without_spaces() -> None:
    priors = [prior("假期计划", 1), prior("阿克梅合同修订", 300), prior("東京出張の準備", 300)]
    assert names(priors, "我们继续修订合同吧")[0] == "阿克梅合同修订"
    assert names(priors, "東京出張について")[0] == "東京出張の準備"


def test_words_that_every_task_has_tell_little() -> None:
    priors = [prior("Acme contract", 2), prior("Bolt contract", 1), prior("Zeta contract", 3)]
    assert names(priors, "zeta contract")[0] == "Zeta contract"


def test_at_most_three_and_only_unfinished_ones() -> None:
    priors = [prior(str(number), number) for number in range(9)] + [prior("done", 0, status="done")]
    priors.append(prior("archived", 0, status="archived"))
    found = rank(priors, NOW)
    assert len(found) == LIMIT and [candidate.task.name for candidate in found] == ["0", "1", "2"]


def test_every_candidate_has_a_score_and_a_reason() -> None:
    [best, other] = rank([prior("Acme contract", 30, same_device=True), prior("Norway", 0.001)], NOW, "acme contract")
    assert 0 < other.score < best.score < 1
    assert best.why == "Your message is like what is in it, and you worked on it 1 day ago on this device."
    assert other.why == "You worked on it just now."


def test_a_clock_that_went_back_scores_as_now() -> None:
    assert rank([prior("later", -5)], NOW)[0].score == rank([prior("now", 0)], NOW)[0].score


def test_no_tasks_are_no_candidates() -> None:
    assert rank([], NOW, "anything") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Acme, ACME acme!", {"acme"}), ("we are on the way", {"way"}), ("合同", {"合同"}), ("合", {"合"}),
        ("合同书", {"合同", "同书"}), ("ﬁle №5", {"file", "no5"}), ("😀 — …", set()), ("", set()),
        ("v2合同", {"v2", "合同"}),
    ],
)  # fmt: skip
def test_terms_are_words_and_pairs_of_characters(text: str, expected: set[str]) -> None:
    assert terms(text) == expected


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
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
    assert first["task"] == {"id": untitled, "name": "Untitled task"} and "like what is in it" in first["why"]


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
