"""Weights of marks: how much each speaks for one kind of clause or another.

Owns how they are summed up, stored and read. Must never learn: that is done beforehand, by ``training``. A stored file
is text, a mark a line: the mark, a tab, and a whole number for each of ``TAGS``, in sixteenths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Final, Literal

Tag = Literal["nothing", "more", "constraint", "decision", "question", "next_step"]
TAGS: Final[tuple[Tag, ...]] = ("nothing", "more", "constraint", "decision", "question", "next_step")
"""What a clause can be: of no kind, the continuation of the one before it, or the beginning of a statement."""
UNIT: Final = 16
Weights = Mapping[str, tuple[int, ...]]
_STEPS: Final = (-4, -3, -2, -1, 0, 1, 2, 3, 4)


def chances(weights: Weights, marks: Iterable[str]) -> list[float]:
    """How likely each tag is, by the marks of a clause; they add up to one."""
    sums = [0, 0, 0, 0, 0, 0]
    for mark in set(marks):
        if found := weights.get(mark):
            sums = [a + b for a, b in zip(sums, found, strict=True)]
    most = max(sums)
    shares = [math.exp((one - most) / UNIT) for one in sums]
    whole = sum(shares)
    return [share / whole for share in shares]


def in_steps(chances_: list[list[float]], index: int) -> list[str]:
    """Chances as marks for a second judgement, with those of the clauses before and after it."""
    mine = chances_[index]
    marks = [
        f"A{tag}{step}"
        for tag, chance in zip(TAGS[1:], mine[1:], strict=True)
        for step in _STEPS
        if math.log(max(chance, 1e-6) / max(mine[0], 1e-6)) >= step
    ]
    for near in (index - 1, index + 1):
        if 0 <= near < len(chances_):
            marks.append(f"A{near - index}{TAGS[chances_[near].index(max(chances_[near]))]}")
    return marks


@cache
def read_weights(name: str) -> Weights:
    """The weights stored under a name, ``looks`` or ``verdicts``."""
    text = (files(__package__) / "tables" / f"{name}.weights").read_text(encoding="utf-8")
    rows = (line.rpartition("\t") for line in text.splitlines())
    return {mark: tuple(map(int, numbers.split(" "))) for mark, _, numbers in rows}
