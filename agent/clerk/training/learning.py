"""Two judgements in a row: by looks, and by what the rules say and how the looks were judged.

Owns which messages teach which of the two. Must never show the second how a message looked to weights that were learned
from that very message: they would seem more reliable than they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent.clerk.training.labelled import Example
from agent.clerk.training.regression import Case, Fit, fit
from agent.clerk.weights import Weights, chances, in_steps

_FOLDS: Final = 3
_BY_LOOKS: Final = Fit(least=3, pull=3.0, most=9_000)
_BY_RULES: Final = Fit(least=4, pull=6.0, most=3_000)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The weights of both."""

    looks: Weights
    verdicts: Weights


def learn(examples: Sequence[Example]) -> Judgement:
    """The judgement that labelled messages teach. For the second, looks are judged by what other messages taught."""
    verdicts: list[Case] = []
    for fold in range(_FOLDS):
        others = fit(_cases([one for one in examples if _fold(one.id) != fold]), _BY_LOOKS)
        for one in examples:
            if _fold(one.id) == fold:
                seen = [chances(others, marks) for marks in one.looks]
                verdicts += [([*one.opinions[n], *in_steps(seen, n)], tag) for n, tag in enumerate(one.tags)]
    return Judgement(fit(_cases(examples), _BY_LOOKS), fit(verdicts, _BY_RULES))


def _cases(examples: Sequence[Example]) -> list[Case]:
    return [case for one in examples for case in zip(one.looks, one.tags, strict=True)]


def _fold(name: str) -> int:
    """A message is always in the same fold."""
    return hashlib.sha256(name.encode()).digest()[0] % _FOLDS
