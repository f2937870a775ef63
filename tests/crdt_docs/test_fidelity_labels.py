"""The lexical coverage of a point by a summary, held against 1,419 labels that people gave."""

from __future__ import annotations

import gzip
import json
import random
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from crdt_docs.fidelity import coverage

_LABELS: Final = Path(__file__).parent.parent / "fixtures" / "summaries" / "labels.json.gz"
_SPLITS: Final = 10


class Point(NamedTuple):
    """One point, by the number of its summary: people's label 0, 1 or 2, and what was measured."""

    summary: int
    label: int
    measured: float


@pytest.fixture(scope="module")
def points() -> list[Point]:
    summaries = json.loads(gzip.decompress(_LABELS.read_bytes()))
    return [
        Point(number, label, coverage(text, "\n".join(summary["lines"])))
        for number, summary in enumerate(summaries)
        for text, label in summary["points"]
    ]


def test_the_measure_ranks_covered_points_above_those_that_are_not(points: list[Point]) -> None:
    assert len(points) == 1419
    assert auc(points, 1) >= 0.88
    assert auc(points, 2) >= 0.88


def test_one_threshold_agrees_with_people_on_covered_or_not(points: list[Point]) -> None:
    """Kappa of two classes, any coverage or none, the threshold fitted on the other half; the mean of ten splits."""
    kappas = [cross_fitted(points, seed, classes=2) for seed in range(_SPLITS)]
    assert sum(kappas) / _SPLITS >= 0.55
    assert min(kappas) >= 0.53


def test_two_thresholds_agree_with_people_on_full_partial_or_none(points: list[Point]) -> None:
    """Kappa of three classes, unweighted. A judge of 2024 (gpt-4o) reaches 0.49 on the same labels."""
    kappas = [cross_fitted(points, seed, classes=3) for seed in range(_SPLITS)]
    assert sum(kappas) / _SPLITS >= 0.45


def auc(points: Sequence[Point], least: int) -> float:
    """The chance that a point with at least that label is measured above one with less; ties count half."""
    low = sorted(p.measured for p in points if p.label < least)
    high = [p.measured for p in points if p.label >= least]
    above = sum(bisect_left(low, m) + (bisect_left(low, m + 1e-12) - bisect_left(low, m)) / 2 for m in high)
    return above / (len(low) * len(high))


def cross_fitted(points: Sequence[Point], seed: int, classes: int) -> float:
    """Cohen's kappa, each half of the summaries being judged by thresholds fitted on the other."""
    numbers = sorted({p.summary for p in points})
    random.Random(seed).shuffle(numbers)
    first = set(numbers[: len(numbers) // 2])
    judged: list[tuple[int, int]] = []
    for half in (True, False):
        fitted = fit([p for p in points if (p.summary in first) is half], classes)
        rest = [p for p in points if (p.summary in first) is not half]
        judged += [(min(p.label, classes - 1), sum(p.measured >= t for t in fitted)) for p in rest]
    return kappa(judged, classes)


def fit(points: Sequence[Point], classes: int) -> tuple[float, ...]:
    """The thresholds on a grid of fortieths with the best kappa."""
    grid = [step / 40 for step in range(1, 36)]
    pairs: list[tuple[float, ...]] = [(t,) for t in grid]
    if classes == 3:
        pairs = [(low, high) for low in grid for high in grid if low < high]
    counts = {
        t: [sum(p.measured >= t for p in points if min(p.label, classes - 1) == c) for c in range(classes)]
        for t in grid
    }
    totals = [sum(min(p.label, classes - 1) == c for p in points) for c in range(classes)]

    def agreement(thresholds: tuple[float, ...]) -> float:
        steps = [totals, *(counts[t] for t in thresholds), [0] * classes]
        table = [[more - less for more, less in zip(a, b, strict=True)] for a, b in pairwise(steps)]
        return _kappa([[table[c][r] for c in range(classes)] for r in range(classes)])

    return max(pairs, key=agreement)


def kappa(judged: Sequence[tuple[int, int]], classes: int) -> float:
    return _kappa([[judged.count((a, b)) for b in range(classes)] for a in range(classes)])


def _kappa(table: Sequence[Sequence[int]]) -> float:
    whole = sum(map(sum, table))
    seen = sum(table[c][c] for c in range(len(table))) / whole
    chance = sum(sum(table[c]) * sum(row[c] for row in table) for c in range(len(table))) / whole**2
    return (seen - chance) / (1 - chance)
