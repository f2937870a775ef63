"""Everything that users were found to suffer from sync servers has its row, and every row a test that is there."""

from __future__ import annotations

import re

from kit.named_tests import ROOT, missing_tests, named_tests, numbered_rows

PAGE = (ROOT / "docs" / "complaints.md").read_text()


def test_every_complaint_has_its_row_and_every_row_a_test() -> None:
    rows = numbered_rows(PAGE)
    assert set(rows) == set(range(1, 46))
    assert [number for number, tests in rows.items() if not named_tests(tests)] == []


def test_every_test_that_is_named_is_there() -> None:
    assert missing_tests(PAGE) == []


def test_a_test_that_has_a_complaints_number_stands_in_its_row() -> None:
    rows = numbered_rows(PAGE)
    for path in sorted((ROOT / "tests").glob("*/test_*.py")):
        for numbers in re.findall(r"def (test_complaint_(?:\d\d_)+)", path.read_text()):
            for number in re.findall(r"\d\d", numbers):
                assert f"`tests/{path.parent.name}/{path.name}::{numbers}`" in rows[int(number)], (path.name, numbers)
