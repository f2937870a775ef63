from __future__ import annotations

from typing import Any

import pytest
from pycrdt import Doc, Map

from agent.context import build_brief, language_of, milliseconds, missing
from crdt_docs.contents import Contents, read_contents
from crdt_docs.entries import message
from crdt_docs.ids import new_ordered_id
from crdt_docs.working_set import put_entry

AT = 1_800_000_000_000


def said(*messages: tuple[str, str, str]) -> tuple[Contents, list[str]]:
    """Messages a second apart as (author, role, text), with their ids."""
    doc: Doc[Any] = Doc()
    root: Map[Any] = doc.get("messages", type=Map)
    ids = [new_ordered_id(AT + 1000 * place) for place in range(len(messages))]
    for place in reversed(range(len(messages))):
        author, role, text = messages[place]
        put_entry(root, ids[place], message(text, author=author, at=AT + 1000 * place, role=role))
    return read_contents(doc), ids


def test_messages_come_in_the_tasks_order_whatever_order_they_arrived_in() -> None:
    contents, ids = said(
        ("Ana", "user", "one"), ("Clew", "agent", "two"), ("Bo", "user", "three"), ("Ana", "user", "4")
    )
    brief = build_brief(contents, [ids[3], ids[2]], answer="later", now=AT)
    assert [m.text for m in brief.asked] == ["three", "4"]
    assert [(m.author, m.role, m.text) for m in brief.before] == [("Ana", "user", "one"), ("Clew", "agent", "two")]
    assert brief.asked[0].at == AT + 2000


def test_what_was_said_after_the_asked_ones_is_left_to_its_own_turn() -> None:
    contents, ids = said(("Ana", "user", "one"), ("Bo", "user", "two"), ("Ana", "user", "three"))
    brief = build_brief(contents, [ids[1]], answer="later", now=AT)
    assert [m.text for m in brief.before] == ["one"]


def test_what_is_asked_was_written_by_who_the_server_says() -> None:
    contents, ids = said(("Ana", "user", "one"), ("Ana", "user", "two"))
    brief = build_brief(contents, [ids[1]], answer="later", now=AT, user="Bo")
    assert [message.author for message in (*brief.before, *brief.asked)] == ["Ana", "Bo"]


def test_the_answer_of_an_earlier_attempt_is_begun_and_no_message() -> None:
    contents, ids = said(("Ana", "user", "one"), ("Clew", "agent", "so far "))
    brief = build_brief(contents, [ids[0]], answer=ids[1], now=AT, begun="so far ")
    assert brief.begun == "so far "
    assert brief.before == ()


def test_the_answer_of_an_earlier_round_was_said_before() -> None:
    contents, ids = said(("Ana", "user", "one"), ("Clew", "agent", "so far "), ("Bo", "user", "and this"))
    brief = build_brief(contents, [ids[2]], answer=ids[1], now=AT)
    assert [m.text for m in brief.before] == ["one", "so far "]


def test_a_brief_knows_whether_a_name_is_wanted() -> None:
    contents, ids = said(("Ana", "user", "one"))
    assert build_brief(contents, ids, answer="x", now=AT).needs_name
    assert not build_brief(contents, ids, answer="x", now=AT, named=True).needs_name
    contents.meta["name"] = "Untitled task"
    assert build_brief(contents, ids, answer="x", now=AT).needs_name
    contents.meta["name"] = "What an agent called it"
    assert not build_brief(contents, ids, answer="x", now=AT).needs_name


def test_messages_that_are_not_there_are_told() -> None:
    contents, ids = said(("Ana", "user", "one"), ("Clew", "agent", "two"), ("Bo", "user", "three"))
    assert missing(contents, [ids[0], "gone"]) == {"gone"}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("We ship on Friday", "en"),
        ("我们周五发布", "zh"),
        ("把 API 的 rate limit 改成 100", "zh"),
        ("The 北京 office should sign by Friday", "en"),
        ("don't well-known", "en"),
        ("OK 👍 好的，就这样", "zh"),
        ("これはペンです", "en"),
        ("12 / 34 :-)", None),
        ("", None),
    ],
)
def test_the_answer_is_in_the_script_of_the_message(text: str, language: str | None) -> None:
    assert language_of(text) == language


def test_what_has_no_letters_is_answered_in_the_language_that_the_server_says() -> None:
    contents, ids = said(("Ana", "user", "42?"))
    assert build_brief(contents, ids, answer="x", now=AT, language="zh").language == "zh"
    assert build_brief(contents, ids, answer="x", now=AT).language == "en"


def test_moments_that_are_none_have_no_milliseconds() -> None:
    assert milliseconds("2027-01-15T08:00:00.000Z") == AT
    assert milliseconds("yesterday") is milliseconds(None) is milliseconds(5) is None
