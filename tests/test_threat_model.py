"""The threat model names a test for every attack, and every test that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = (ROOT / "docs" / "threat-model.md").read_text().split("\n## The attacks and their tests\n", 1)[1]
LATER = {36, 41}
"""Attacks on what is not there yet."""


def test_every_attack_has_its_row_and_every_row_a_test() -> None:
    rows = {int(number): tests for number, tests in re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", TABLE, re.M)}
    assert set(rows) == set(range(1, 49))
    assert {number for number, tests in rows.items() if "`" not in tests} == LATER


def test_every_test_that_is_named_is_there() -> None:
    named = re.findall(r"`(tests/[^`:]+)(?:::([^`]+))?`", TABLE)
    assert len(named) > 60
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (ROOT / path).exists() or (name and f"def {name}" not in (ROOT / path).read_text())
    ]
    assert missing == []
