"""How well the clerk takes what people state, on the labelled sets: what it was taught with, and what only judges."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.clerk.answers import Asked
from agent.clerk.statements import Statement, find_statements
from agent.clerk.terms import terms
from agent.clerk.topics import Decisions, topic_of

FOLDER = Path(__file__).parent / "statements"
KINDS = ("constraint", "decision", "question", "answer", "next_step")
OVERLAP = 0.5
HELD = {
    "constraint": (0.84, 0.80),
    "decision": (0.77, 0.85),
    "question": (0.87, 0.85),
    "answer": (1.00, 1.00),
    "next_step": (0.85, 0.90),
}
"""Recall and precision on the frozen third, a message or two below what was measured; 0.90 is wished for each."""
Row = dict[str, Any]
Label = dict[str, Any]


@dataclass
class Score:
    """Counts over messages: per kind right, too many and missed; and what of the right ones was right besides."""

    right: Counter[str] = field(default_factory=Counter)
    spare: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    besides: Counter[tuple[str, bool]] = field(default_factory=Counter)

    def recall(self, kind: str) -> float:
        return self.right[kind] / max(1, self.right[kind] + self.missed[kind])

    def precision(self, kind: str) -> float:
        return self.right[kind] / max(1, self.right[kind] + self.spare[kind])

    def lines(self) -> Iterator[str]:
        for kind in KINDS:
            counts = f"right {self.right[kind]}, too many {self.spare[kind]}, missed {self.missed[kind]}"
            yield f"{kind:10} recall {self.recall(kind):.2f} precision {self.precision(kind):.2f} ({counts})"
        for what in ("severity", "answers", "topic", "supersedes"):
            yield f"{what:10} {self.besides[what, True]} of {self.besides[what, True] + self.besides[what, False]}"


def rows(split: str, lang: str | None = None) -> list[Row]:
    lines = (FOLDER / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if lang in (None, row["lang"])]


OWN = [row for row in rows("more") if re.fullmatch(r"(?:en|zh)-m\d+", row["id"])]
"""What was written along with the rules."""
OTHERS = [row for row in rows("more") if row["id"].startswith("fa-")]
"""What another hand wrote; blind when it was first scored (see the guide), for development since."""
HELD_OTHERS = {
    "constraint": (0.88, 0.90),
    "decision": (0.85, 0.93),
    "question": (0.94, 0.95),
    "answer": (0.80, 0.84),
    "next_step": (0.95, 0.90),
}
"""Recall and precision on these; the weights were learned from them too."""


def overlap(found: Statement, start: int, end: int) -> float:
    shared = min(found.end, end) - max(found.start, start)
    return shared / (max(found.end, end) - min(found.start, start)) if shared > 0 else 0.0


def judge(row: Row, score: Score) -> None:
    ledger = row.get("ledger", {})
    asked = [Asked(item["id"], item["text"]) for item in ledger.get("questions", [])]
    open_labels: list[Label] = list(row["labels"])
    for found in find_statements(row["text"], asked).statements:
        near = [
            (overlap(found, start, start + len(label["span"])), label)
            for label in open_labels
            if label["kind"] == found.kind and (start := row["text"].index(label["span"])) >= 0
        ]
        best, label = max(near, key=lambda pair: pair[0], default=(0.0, {}))
        if best < OVERLAP:
            score.spare[found.kind] += 1
            continue
        open_labels.remove(label)
        score.right[found.kind] += 1
        judge_besides(found, label, row, score)
    score.missed.update(label["kind"] for label in open_labels)


def judge_besides(found: Statement, label: Label, row: Row, score: Score) -> None:
    decisions, said = row.get("ledger", {}).get("decisions", []), row["text"]
    if found.kind == "constraint":
        score.besides["severity", found.severity == label["severity"]] += 1
    if found.kind == "answer":
        score.besides["answers", found.answers == label["answers"]] += 1
    if found.kind == "decision":
        topic, _ = topic_of(found.quote)
        mine, theirs = topic.lower(), label["topic"].lower()
        score.besides["topic", mine in theirs or theirs in mine] += 1
        if decisions:
            old, _ = Decisions(decisions).replaced_by(found.quote, topic, terms(said))
            score.besides["supersedes", old == label.get("supersedes")] += 1


def score_of(judged: Iterable[Row]) -> Score:
    score = Score()
    for row in judged:
        judge(row, score)
    return score


def test_what_the_clerk_was_developed_on_is_taken_almost_whole() -> None:
    for name, rows_of_it in (("dev", rows("dev")), ("more", OWN)):
        score = score_of(rows_of_it)
        print(name, *score.lines(), sep="\n")
        for kind in KINDS:
            assert score.recall(kind) >= 0.95 and score.precision(kind) >= 0.95, (name, kind)


def test_what_another_hand_wrote_is_taken_as_well_as_it_was() -> None:
    score = score_of(OTHERS)
    print("others", *score.lines(), sep="\n")
    for kind, (recall, precision) in HELD_OTHERS.items():
        assert score.recall(kind) >= recall and score.precision(kind) >= precision, kind


def test_the_frozen_third_is_taken_as_well_as_it_was() -> None:
    score = score_of(rows("frozen"))
    print("frozen", *score.lines(), sep="\n")
    for kind, (recall, precision) in HELD.items():
        assert score.recall(kind) >= recall and score.precision(kind) >= precision, kind


def test_what_the_clerk_never_saw_is_taken_as_well_as_it_was() -> None:
    score = score_of(rows("blind"))
    print("blind", *score.lines(), sep="\n")
    for kind in KINDS:
        assert score.recall(kind) >= 0.6 and score.precision(kind) >= 0.6, kind


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_frozen_third_by_language_is_for_information(lang: str) -> None:
    score = score_of(rows("frozen", lang))
    print("frozen", lang, *score.lines(), sep="\n")
    assert sum(score.right.values()) > sum(score.spare.values()) + sum(score.missed.values())


def test_next_to_nothing_is_taken_from_the_negatives_of_the_frozen_third() -> None:
    score = score_of([row for row in rows("frozen") if not row["labels"]])
    print("frozen negatives", dict(score.spare))
    assert sum(score.spare.values()) <= 3


def check_row(row: Row) -> None:
    assert set(row) - {"ledger"} == {"id", "lang", "text", "labels"}
    for label in row["labels"]:
        assert label["kind"] in KINDS and row["text"].count(label["span"]) == 1
        assert label.get("topic", "") in row["text"]


def test_the_further_set_is_well_formed_and_apart_from_the_others() -> None:
    every = rows("more")
    for row in every:
        check_row(row)
    texts = {row["text"] for row in every}
    assert len(texts) == len(every) == len(OWN) + len(OTHERS)
    assert not texts & {row["text"] for split in ("dev", "frozen", "blind") for row in rows(split)}
