"""How things stand, by the cases that the page's own derivation is held to as well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crdt_docs.contents import message_order
from crdt_docs.standing import answer_standing, decision_standings

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "schema1" / "standings.json").read_text("utf-8")
)


@pytest.mark.parametrize("case", CASES["decisions"], ids=lambda case: str(case["supersedes"]))
def test_decisions_stand_as_every_reader_derives_it(case: dict[str, Any]) -> None:
    assert decision_standings(case["supersedes"]) == case["standings"]


@pytest.mark.parametrize("case", CASES["answers"], ids=lambda case: str(case["answers"]))
def test_questions_stand_as_every_reader_derives_it(case: dict[str, Any]) -> None:
    assert answer_standing(case["answers"], dropped=case["dropped"]) == case["status"]


def test_messages_are_in_one_order_everywhere() -> None:
    order: list[str] = CASES["message_order"]
    found = order[::-1]
    found.sort(key=message_order)
    assert found == order
