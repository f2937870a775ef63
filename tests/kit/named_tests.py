"""Tables in documents that name tests, row by row. Owns reading them; must never run what they name."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def numbered_rows(table: str) -> dict[int, str]:
    """The rows ``| number | … | tests |``: each number's last cell."""
    return {int(number): tests for number, tests in re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", table, re.M)}


def named_tests(text: str) -> list[tuple[str, str]]:
    """Every `path::name` in a text; no name where only a file is named, and a name may be how several begin."""
    return re.findall(r"`(tests/[^`:]+)(?:::([^`]+))?`", text)


def missing_tests(text: str) -> list[str]:
    """Those of them that are not there."""
    return [
        f"{path}::{name}"
        for path, name in named_tests(text)
        if not (ROOT / path).exists() or (name and f"def {name}" not in (ROOT / path).read_text())
    ]
