"""Which language the server's own sentences are in."""

from __future__ import annotations

import pytest

from server.domain.language import Language, preferred


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, "en"), ("", "en"), ("zh", "zh"), ("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("en-GB,zh;q=0.5", "en"),
        ("zh;q=0.3, en;q=0.7", "en"), ("de, fr;q=0.9, zh-Hant;q=0.2", "zh"), ("de", "en"), ("*", "en"),
        ("en;q=0, zh;q=0.1", "zh"), ("zh;q=nan, en", "en"), ("zh;q=7", "en"), ("zh;q=x", "en"), ("ZH-hans", "zh"),
        (";;,,;q=1", "en"), ("zh;q=0", "en"), ("zhx", "en"),
    ],
)  # fmt: skip
def test_the_heaviest_language_of_ours_is_preferred(header: str | None, expected: Language) -> None:
    assert preferred(header) == expected
