"""Labelled messages as the clerk sees them: clauses, each with its marks and its tag.

Owns the reading of rows (see ``tests/agent/statements``). Must never be given the rows that only judge.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.clerk.features import looks, opinions
from agent.clerk.parts import Heard, read_parts
from agent.clerk.terms import terms
from agent.clerk.weights import TAGS

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Example:
    """A message: the set it is from, and for each clause its marks, what the rules say, and the number of its tag."""

    group: str
    id: str
    looks: list[list[str]]
    opinions: list[list[str]]
    tags: list[int]


def read_examples(paths: Sequence[Path]) -> list[Example]:
    """All messages of the files, in order."""
    return [example_of(row, path.stem) for path in paths for row in _rows(path)]


def _rows(path: Path) -> Iterator[Row]:
    yield from map(json.loads, filter(str.strip, path.read_text(encoding="utf-8").splitlines()))


def example_of(row: Row, group: str) -> Example:
    """A row as an example."""
    text = row["text"]
    parts, heard = read_parts(text)
    asked = [terms(item["text"]) for item in row.get("ledger", {}).get("questions", [])]
    marks = [looks(heard, index, text, asked) for index in range(len(heard))]
    return Example(group, row["id"], marks, opinions(heard, parts), _tags(row, heard))


def _tags(row: Row, heard: Sequence[Heard]) -> list[int]:
    """A tag for each clause: a label begins in the first clause of which it holds more than half, else in the one of
    which it holds most."""
    tags = [0] * len(heard)
    labels = [(row["text"].index(label["span"]), label) for label in row["labels"] if label["kind"] != "answer"]
    for start, label in sorted(labels, key=lambda pair: pair[0]):
        end = start + len(label["span"])
        held = [max(0, min(end, one.clause.end) - max(start, one.clause.start)) for one in heard]
        run = [n for n, one in enumerate(heard) if held[n] > (one.clause.end - one.clause.start) / 2]
        if not run and any(held):
            run = [held.index(max(held))]
        free = [n for n in run if not tags[n]]
        for n in free:
            tags[n] = TAGS.index(label["kind"]) if n == free[0] else TAGS.index("more")
    return tags
