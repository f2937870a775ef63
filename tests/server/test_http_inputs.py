"""What a request may bring: how much, how fast, in which form."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kit.app_under_test import AppUnderTest, Browser, app_under_test

from server.http.body import JSON_LIMIT


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


@pytest.fixture
async def owner(app: AppUnderTest) -> Browser:
    return await app.sign_in()


BAD_JSON = [
    b"{", b"[]", b"null", b'"x"', b"{'name': 'x'}", b'{"name": NaN}', b'{"name": "\xff"}', b'{"name": 1}', b"\x00",
    b'{"name": null}', b'{"name": ""}', b'{"name": "   "}', b'{"name": "a\\u0000b"}', b'{"name": "a\\nb"}',
    b'{"name": "\\ud800"}', b'{"name": "a\\u202eb"}', b'{"name": ["x"]}', b"[" * 200_000, b'{"a":' * 100_000,
    b'{"name": "x"} trailing', b'{"name": "' + b"x" * 201 + b'"}',
]  # fmt: skip


async def test_a_body_that_is_not_as_the_contract_says_is_invalid(owner: Browser) -> None:
    for raw in BAD_JSON:
        answer = await owner.ask("POST", "/tasks", raw)
        assert answer.status == 422 and answer.code == "invalid", raw[:50]
        assert (await owner.get("/tasks")).json == {"tasks": [], "withheld": 0}, raw[:50]


async def test_what_was_sent_is_not_echoed(owner: Browser) -> None:
    answer = await owner.post("/signin", {"key": ["s3cret-key"], "s3cret-field-value": "s3cret"})
    assert answer.status == 422 and b"s3cret-key" not in answer.body
    assert [fault["at"] for fault in answer.json["errors"]] == ["body.key", "body.?"]


async def test_a_form_of_a_foreign_page_is_no_json(owner: Browser) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = await owner.ask("POST", "/tasks", {"name": "x"}, content_type=kind)
        assert answer.status == 422 and (await owner.get("/tasks")).json == {"tasks": [], "withheld": 0}, kind


async def test_json_may_say_its_charset(owner: Browser) -> None:
    answer = await owner.ask("POST", "/tasks", {"name": "x"}, content_type="application/json; charset=utf-8")
    assert answer.status == 201


async def test_a_body_has_a_size(owner: Browser) -> None:
    for declared in (None, "10", str(JSON_LIMIT + 1)):
        answer = await owner.ask("POST", "/tasks", b" " * (JSON_LIMIT + 1), content_length=declared)
        assert answer.status == 413 and answer.code == "too_large"
    declared_only = await owner.ask("POST", "/tasks", b"{}", content_length="9" * 30)
    assert declared_only.status == 413
    just = json.dumps({"name": "x"}).encode()
    assert (await owner.ask("POST", "/tasks", just + b" " * (JSON_LIMIT - len(just)))).status == 201


async def test_a_page_has_a_limit(owner: Browser) -> None:
    for limit in ("0", "-1", "501", "1000000000", "1e3", "x", "", "9" * 5000):
        for path in ("/tasks", "/sessions"):
            answer = await owner.get(f"{path}?limit={limit}")
            assert answer.status == 422 and answer.code == "invalid", limit[:50]


async def test_a_list_gives_no_more_than_asked(app: AppUnderTest, owner: Browser) -> None:
    for number in range(3):
        app.clock.advance(1)
        await owner.new_task(f"task {number}")
    listed = (await owner.get("/tasks?limit=2")).json["tasks"]
    assert [task["name"] for task in listed] == ["task 2", "task 1"]


async def test_an_unknown_status_is_invalid_and_an_unknown_parameter_is_ignored(owner: Browser) -> None:
    assert (await owner.get("/tasks?status=deleted")).status == 422
    assert (await owner.get("/tasks?utm_source=x")).status == 200


async def test_a_path_that_is_not_there_and_a_method_that_is_not(app: AppUnderTest, owner: Browser) -> None:
    for path in ("/nothing", "/", "/tasks/", "/tasks/x/y/z", "/openapi"):
        answer = await owner.get(path)
        assert answer.status == 404 and answer.code == "not_found", path
    wrong = await owner.ask("PUT", "/tasks", {})
    assert (
        wrong.status == 405 and wrong.code == "invalid" and set(wrong.headers["allow"].split(", ")) == {"GET", "POST"}
    )
    assert (await owner.ask("OPTIONS", "/tasks")).status == 405


async def test_a_message_keeps_every_character(owner: Browser) -> None:
    task = await owner.new_task()
    text = "# 合同 😀 \u202e\u0000 \r\n\t 'quotes\" <script>alert(1)</script> \u2028"
    said = await owner.post(f"/tasks/{task}/messages", {"text": text})
    assert said.status == 201
    [message] = (await owner.get(f"/tasks/{task}/working-set")).json["messages"]
    assert message["text"] == text


async def test_a_long_message_is_taken_and_a_longer_one_is_not(owner: Browser) -> None:
    task = await owner.new_task()
    assert (await owner.post(f"/tasks/{task}/messages", ('{"text": "' + "合" * 200_000 + '"}').encode())).status == 201
    assert (await owner.post(f"/tasks/{task}/messages", {"text": "a" * 200_001})).status == 422
    assert (await owner.post(f"/tasks/{task}/messages", {"text": ""})).status == 422


async def test_an_unforeseen_error_is_told_without_its_words(
    app: AppUnderTest, owner: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("the secret is 42")

    monkeypatch.setattr(type(app.nouns.tasks), "of_user", broken)
    with pytest.raises(RuntimeError) as raised:
        await owner.get("/tasks")
    assert "42" in str(raised.value)  # re-raised for the log, after it was answered
    assert app.tally["GET", 500] == 1
