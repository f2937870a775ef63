"""Multinomial logistic regression over marks, in plain Python.

Owns the fitting of weights: the same examples give the same weights on every machine of one floating point. Slow.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agent.clerk.weights import TAGS, UNIT, Weights

_RATE: Final = 0.25
_SEED: Final = 1709
Case = tuple[list[str], int]
"""Marks, and the number of the right tag."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How to fit: marks met less than ``least`` times are left out, ``pull`` draws weights to zero (it is shared by the
    cases that have a mark), at most ``most`` marks are kept."""

    least: int
    pull: float
    most: int
    rounds: int = 10


def fit(cases: Sequence[Case], how: Fit) -> Weights:
    """The weights that tell the tags of the cases apart: the mean of those after each of the later rounds."""
    met = Counter(mark for marks, _ in cases for mark in set(marks))
    names = sorted(mark for mark, count in met.items() if count >= how.least)
    numbers = {mark: n for n, mark in enumerate(names)}
    pulls = [how.pull / met[mark] for mark in names]
    weights = [[0.0] * len(TAGS) for _ in names]
    slopes = [[1e-2] * len(TAGS) for _ in names]
    means = [[0.0] * len(TAGS) for _ in names]
    known = [(sorted({numbers[m] for m in marks if m in numbers}), tag) for marks, tag in cases]
    dice = random.Random(_SEED)
    counted = how.rounds // 2
    for number in range(how.rounds):
        dice.shuffle(known)
        for marks, tag in known:
            _step(weights, slopes, pulls, marks, tag)
        if number >= how.rounds - counted:
            for mean, row in zip(means, weights, strict=True):
                mean[:] = [one + other / counted for one, other in zip(mean, row, strict=True)]
    return _rounded(dict(zip(names, means, strict=True)), how.most)


def _step(
    weights: list[list[float]],
    slopes: list[list[float]],
    pulls: list[float],
    marks: list[int],
    tag: int,
) -> None:
    """One step down the slope of one case (AdaGrad)."""
    rows = [weights[mark] for mark in marks]
    sums = [sum(column) for column in zip(*rows, strict=True)] if rows else [0.0] * len(TAGS)
    most = max(sums)
    shares = [math.exp(one - most) for one in sums]
    whole = sum(shares)
    errors = [share / whole - (n == tag) for n, share in enumerate(shares)]
    wrong = [(n, error) for n, error in enumerate(errors) if abs(error) > 1e-3]
    for mark, row in zip(marks, rows, strict=True):
        steep, pull = slopes[mark], pulls[mark]
        for n, error in wrong:
            slope = error + pull * row[n]
            steep[n] += slope * slope
            row[n] -= _RATE * slope / math.sqrt(steep[n])


def _rounded(weights: dict[str, list[float]], most: int) -> Weights:
    """Whole numbers, of the marks that say most."""
    rows = {mark: tuple(round(UNIT * one) for one in row) for mark, row in weights.items()}
    telling: Iterable[str] = sorted(rows, key=lambda mark: (min(rows[mark]) - max(rows[mark]), mark))
    return {mark: rows[mark] for mark in list(telling)[:most] if any(rows[mark])}
