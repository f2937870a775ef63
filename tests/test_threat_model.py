"""The threat model names a test for every attack, and every test that it names is there."""

from __future__ import annotations

from kit.named_tests import ROOT, missing_tests, named_tests, numbered_rows

TABLE = (ROOT / "docs" / "threat-model.md").read_text().split("\n## The attacks and their tests\n", 1)[1]
LATER = {36, 41}
"""Attacks on what is not there yet."""


def test_every_attack_has_its_row_and_every_row_a_test() -> None:
    rows = numbered_rows(TABLE)
    assert set(rows) == set(range(1, 49))
    assert {number for number, tests in rows.items() if "`" not in tests} == LATER


def test_every_test_that_is_named_is_there() -> None:
    assert len(named_tests(TABLE)) > 60
    assert missing_tests(TABLE) == []
