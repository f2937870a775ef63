"""The labelled statement sets: well formed, balanced as their guide says, and the frozen third unchanged."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "statements"
FROZEN_SHA256 = "ef546ff0d355a97851e712333c2d3da60c52f53ee4ded19df32d878c0709951c"
KINDS = {"constraint", "decision", "question", "answer", "next_step"}
EXTRA_KEYS = {"constraint": {"severity"}, "decision": {"topic"}, "answer": {"answers"}}
Row = dict[str, Any]


def read(split: str) -> list[Row]:
    lines = (FOLDER / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


ROWS = {split: read(split) for split in ("dev", "frozen")}
EVERY_ROW = ROWS["dev"] + ROWS["frozen"]


def ids_in_ledger(row: Row, part: str) -> set[str]:
    return {item["id"] for item in row.get("ledger", {}).get(part, [])}


def check_label(row: Row, label: Row) -> None:
    kind = label["kind"]
    assert kind in KINDS
    assert set(label) - {"supersedes"} == {"kind", "span"} | EXTRA_KEYS.get(kind, set())
    assert label["span"] == label["span"].strip() != ""
    assert row["text"].count(label["span"]) == 1
    if kind == "constraint":
        assert label["severity"] in {"critical", "important", "normal"}
    if kind == "decision":
        assert label["topic"] and label["topic"] in row["text"]
    if kind == "answer":
        assert label["answers"] in ids_in_ledger(row, "questions")
    if "supersedes" in label:
        assert kind == "decision" and label["supersedes"] in ids_in_ledger(row, "decisions")


def test_the_frozen_third_is_as_it_was_before_any_rule_was_written() -> None:
    assert hashlib.sha256((FOLDER / "frozen.jsonl").read_bytes()).hexdigest() == FROZEN_SHA256


@pytest.mark.parametrize("row", EVERY_ROW, ids=lambda row: row["id"])
def test_a_row_holds_what_the_guide_says(row: Row) -> None:
    assert set(row) - {"ledger"} == {"id", "lang", "text", "labels"}
    assert row["lang"] in {"en", "zh"} and row["id"].startswith(row["lang"] + "-")
    assert set(row.get("ledger", {})) <= {"decisions", "constraints", "questions"}
    for label in row["labels"]:
        check_label(row, label)


def test_no_id_and_no_text_comes_twice() -> None:
    for key in ("id", "text"):
        assert len({row[key] for row in EVERY_ROW}) == len(EVERY_ROW)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_counts_are_those_of_the_table_in_the_guide(lang: str) -> None:
    guide = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"\n{len(EVERY_ROW)} messages " in guide
    for split, rows in ROWS.items():
        mine = [row for row in rows if row["lang"] == lang]
        kinds = Counter(label["kind"] for row in mine for label in row["labels"])
        counts = [len(mine), sum(not row["labels"] for row in mine)]
        counts += [kinds[kind] for kind in ("constraint", "decision", "question", "answer", "next_step")]
        assert f"| {split}, {lang} | " + " | ".join(map(str, counts)) + " |" in guide


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_each_kind_is_met_often_enough_in_both_splits(lang: str) -> None:
    for kind in KINDS:
        met = {
            split: sum(row["lang"] == lang and label["kind"] == kind for row in rows for label in row["labels"])
            for split, rows in ROWS.items()
        }
        assert sum(met.values()) >= 12 and min(met.values()) >= 4, (kind, met)


def test_a_third_is_frozen_and_about_half_are_negatives() -> None:
    assert len(EVERY_ROW) >= 330 and len(ROWS["frozen"]) >= 110
    assert abs(len(ROWS["frozen"]) / len(EVERY_ROW) - 1 / 3) < 0.02
    for rows in ROWS.values():
        assert 0.4 < sum(not row["labels"] for row in rows) / len(rows) < 0.6
