"""How messages begin that begin something, and how those begin that go on."""

from __future__ import annotations

import time

import pytest

from server.domain.openings import begins_anew


@pytest.mark.parametrize(
    "message",
    [
        "Write a letter", "please draft an NDA", "Can you help me plan a trip?", "I'd like to make some tea",
        "how do I", "Hi! Could you explain this", "What is a clew?", "translate this", "Let's create two lists",
        "帮我写一封信", "请翻译这段话", "我想买一台电脑", "如何减肥", "你好，帮我起草一份合同", "推荐几本书",
    ],
)  # fmt: skip
def test_something_begins(message: str) -> None:
    assert begins_anew(message)


@pytest.mark.parametrize(
    "message",
    [
        "", "Write the letter to Dana", "did Oleg answer", "How many amps?", "what's still open",
        "Draft clause 7 again", "the abstract is too long", "Can you take out the carve-out",
        "帮我看一下", "王律师改好了", "怎么回他", "继续",
    ],
)  # fmt: skip
def test_something_goes_on(message: str) -> None:
    assert not begins_anew(message)


@pytest.mark.parametrize("message", ["please " * 10_000 + "sign", " " * 20_000 + "x", "请请问" * 5000, "!, " * 9000])
def test_only_the_beginning_is_read(message: str) -> None:
    began = time.process_time()
    assert not begins_anew(message)
    assert time.process_time() - began < 2
