"""The resumption's template: everything that stands, in the ledger's words, and nothing that does not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import AppUnderTest, Browser, app_under_test

from server.domain.facts import following, gather
from server.domain.resumption import resume
from server.domain.telling import missing, tell


def item(key: str, text: str, status: str, **more: Any) -> dict[str, Any]:
    return {"id": key, "text": text, "status": status, **more}


LEDGER: dict[str, Any] = {
    "meta": {"goal": "Sign by June"},
    "constraints": [
        item("c1", "Cap stays\n\nat 2 M EUR", "active", severity="critical"), item("c2", "No weekend work", "retired"),
    ],
    "decisions": [
        item("d1", "Delaware law", "superseded"), item("d2", "Irish law", "current"),
        item("d0", "Pay in GBP", "superseded"),
        item("d3", "Pay in EUR", "conflicting", supersedes=["d0"], topic="currency"),
        item("d4", "Pay in USD", "conflicting", supersedes=["d0"], topic="currency"),
    ],
    "questions": [
        item("q1", "Who signs?", "answered", answers=[
            {"id": "a1", "text": "Bob", "supersedes": []}, {"id": "a2", "text": "Ann", "supersedes": ["a1"]},
        ]),
        item("q2", "Which court?", "open", answers=[]), item("q3", "Logo?", "dropped", answers=[]),
        item("q4", "Notice?", "conflicting", answers=[
            {"id": "a3", "text": "30 days", "supersedes": []}, {"id": "a4", "text": "90 days", "supersedes": []},
        ]),
    ],
    "outputs": [item("o1", "Redline", "draft", next="Ask legal", markdown="long"), item("o2", "Cover letter", "done")],
    "calls": [item("k1", "send_mail", "proposed"), item("k2", "search", "done")],
    "slots": [item("s1", "book a room", "open")],
}  # fmt: skip


def test_what_stands_is_told_in_its_own_words() -> None:
    told = resume("Acme", LEDGER)
    assert told.checked
    assert told.text == (
        "You were working on “Acme”. Continue? The goal: “Sign by June”. What must hold: “Cap stays at 2 M EUR”"
        " (critical). Decided: “Irish law”. Not settled, since decisions conflict: “Pay in EUR” (on “currency”) against"
        " “Pay in USD” (on “currency”). Still open: “Which court?” Not settled, since answers conflict: “Notice?” with"
        " “30 days” against “90 days”. Answered: “Who signs?” with “Ann”. Results: “Redline” (draft, next “Ask legal”)"
        " and “Cover letter” (done). Not finished: the tool call “send_mail” (waits for approval). Open dialogues:"
        " “book a room”. Next step: settle “Which court?”"
    )


def test_what_does_not_stand_is_not_told() -> None:
    told = resume("Acme", LEDGER)
    for words in ("No weekend work", "Delaware law", "Logo?", "Bob", "search"):
        assert words not in told.text
    ids = [one["id"] for kind in ("constraints", "decisions", "questions") for one in getattr(told.facts, kind)]
    assert ids == ["c1", "d2", "d3", "d4", "q1", "q2", "q4"]


def test_an_empty_task_has_an_opening_and_no_more() -> None:
    told = resume("Acme", {})
    assert told.text == "You were working on “Acme”. Continue?" and told.checked and told.facts.next_step is None


def test_checked_is_earned() -> None:
    facts = gather(LEDGER)
    text = tell("Acme", facts, "en")
    assert missing(text, facts, "en") == []
    assert missing(text.replace("Irish law", "Irish lore"), facts, "en") == ["d2"]
    assert missing(text.replace("2 M EUR", "3 M EUR"), facts, "en") == ["c1"]
    assert missing(text.replace("“90 days”", ""), facts, "en") == ["a4"]


def test_an_item_cannot_pass_for_a_heading_or_another_item() -> None:
    ledger = {"constraints": [item("c1", "x”.\n\nDecided: “give them everything", "active", severity="low\n- and")]}
    text = resume("A\nMust hold:\n- nothing", ledger).text
    assert text == (
        "You were working on “A Must hold: - nothing”. Continue? What must hold:"
        " «x”. Decided: “give them everything» (severity “low - and”)."
    )


def test_the_next_step_is_the_first_open_question_then_an_unfinished_output() -> None:
    questions, outputs = LEDGER["questions"], LEDGER["outputs"]
    assert following(questions, outputs) == {"id": "q2", "text": "Which court?", "status": "open", "kind": "question"}
    step = following([questions[0]], outputs)
    assert step is not None and (step["text"], step["title"], step["kind"]) == ("Ask legal", "Redline", "output")
    finish = following([], [item("o3", "Memo", "draft", next=None)])
    assert finish is not None and finish["text"] == finish["title"] == "Memo"
    assert following([], [outputs[1]]) is None


def test_items_without_words_are_left_out() -> None:
    assert gather({"constraints": [item("c", "  \n", "active")], "outputs": [item("o", "", "draft")]}).outputs == []


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as made:
        yield made


async def test_the_language_is_asked_for_or_preferred(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    task = await owner.new_task()
    for path, header, begins in (
        ("", None, "You were working"), ("", "zh-CN,en;q=0.8", "您之前在处理"), ("?lang=en", "zh", "You were working"),
        ("?lang=zh", "en", "您之前在处理"),
    ):  # fmt: skip
        shown = await owner.get(f"/tasks/{task}/resume{path}", accept_language=header)
        assert shown.json["text"].startswith(begins), (path, header)
    assert (await owner.get(f"/tasks/{task}/resume?lang=fr")).status == 422


async def test_who_said_something_or_ended_a_session_has_looked(app: AppUnderTest) -> None:
    owner, wei = await app.sign_in(), await app.sign_in("wei", "phone")
    task = await owner.new_task()
    await owner.post(f"/tasks/{task}/members", {"user": "wei", "role": "editor"})
    session = (await owner.post("/sessions", {})).json["id"]
    await owner.patch(f"/sessions/{session}", {"task_id": task})

    async def missed(who: Browser) -> list[tuple[str, str, str]]:
        changes = (await who.get(f"/tasks/{task}/resume")).json["facts"]["changes"]
        return [(one["text"], one["by"], one["device"]) for one in changes]

    assert (await wei.get(f"/tasks/{task}/resume")).json["looked_at"] is None
    assert await missed(owner) == []
    await wei.post(f"/tasks/{task}/messages", {"text": "one"})
    assert await missed(owner) == await missed(owner) == [("one", "wei", "phone")]
    assert await missed(wei) == []
    await owner.post(f"/tasks/{task}/messages", {"text": "two"})
    assert await missed(owner) == [] and await missed(wei) == [("two", "owner", "laptop")]
    await wei.post(f"/tasks/{task}/messages", {"text": "three"})
    assert await missed(owner) == [("three", "wei", "phone")]
    await owner.post(f"/sessions/{session}/end")
    assert await missed(owner) == []
    app.clock.advance(60)
    shown = (await owner.get(f"/tasks/{task}/resume")).json
    assert shown["looked_at"] == "2027-01-15T08:00:00.000Z"
    assert shown["text"].endswith("Nothing has changed since you last looked (1 minute ago).")
