"""The weights of the clerk's judgement: learned from the sets as they stand, and learned the same way each time."""

from __future__ import annotations

from pathlib import Path

from agent.clerk.features import looks
from agent.clerk.parts import read_parts
from agent.clerk.training.__main__ import SOURCES, digest, taught
from agent.clerk.training.labelled import example_of
from agent.clerk.training.regression import Fit, fit
from agent.clerk.weights import TAGS, chances, read_weights

FOLDER = Path(__file__).parent / "statements"


def test_the_weights_were_learned_from_the_sets_as_they_stand_and_not_from_those_that_judge() -> None:
    sources = dict(line.split() for line in SOURCES.read_text(encoding="utf-8").splitlines())
    assert {name: digest(FOLDER / name) for name in sources} == sources
    assert not {"frozen.jsonl", "blind.jsonl"} & {*sources, *(path.name for path in taught(FOLDER))}


def test_a_label_says_which_clause_begins_a_statement_and_which_goes_on() -> None:
    text = "Hi! Until the contract is signed, nobody starts. I'll call Jo, thanks"
    labels = [
        {"kind": "constraint", "span": "Until the contract is signed, nobody starts"},
        {"kind": "next_step", "span": "I'll call Jo"},
    ]
    example = example_of({"id": "x", "text": text, "labels": labels}, "x")
    tags = [TAGS[tag] for tag in example.tags]
    assert [tag for tag in tags if tag != "nothing"] == ["constraint", "more", "next_step"]


def test_learning_tells_apart_what_can_be_told_apart_and_is_the_same_each_time() -> None:
    cases = [(["must", "we"], 2), (["picked", "we"], 3), (["hello"], 0)] * 20
    weights = fit(cases, Fit(least=2, pull=0.1, most=10))
    assert weights == fit(list(cases), Fit(least=2, pull=0.1, most=10))
    for marks, tag in cases[:3]:
        assert chances(weights, marks).index(max(chances(weights, marks))) == tag


def test_stored_weights_have_a_number_for_each_tag_and_are_small() -> None:
    for name in ("looks", "verdicts"):
        weights = read_weights(name)
        assert weights and all(len(row) == len(TAGS) for row in weights.values())
        assert (SOURCES.parent / f"{name}.weights").stat().st_size < 400_000


def test_the_marks_of_a_message_are_those_that_weights_are_stored_for() -> None:
    text = "We must keep it under 12k."
    _, heard = read_parts(text)
    marks = looks(heard, 0, text, [])
    assert len(set(marks) & read_weights("looks").keys()) > len(set(marks)) / 4
