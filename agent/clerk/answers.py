"""Which open question something said answers.

Owns the match of a clause with the questions that are open. Must never choose between two that fit equally.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent.clerk.terms import Index, shared, terms


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that is open in the ledger."""

    id: str
    text: str


_ENOUGH: Final = 1.0
_MOST_OF_IT: Final = 0.6
_FITS_FORM: Final = 0.6
_NUMBER: Final = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|none|dozen)\b|[一二两三四五六七八九十百]",
    re.I,
)
_COUNTED: Final = re.compile(
    r"\bhow (?:many|much|long|big|far|often|old)|\bwhen\b|what (?:time|date)|几|多少|多久|多大|多长|什么时候", re.I
)
_NAMED: Final = re.compile(r"\bwho\b|谁", re.I)
_PERSON: Final = re.compile(
    r"\b[A-Z][a-z]+|[\u4e00-\u9fff](?:总|工|哥|姐|老师|经理|律师)|[老小阿][\u4e00-\u9fff]|我|\b(?:we|i)\b"
)


class Questions:
    """The questions that are open, found by what is said."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._asked = asked
        self._index = Index([question.text for question in asked])

    def answered_by(self, text: str, context: str) -> list[str]:
        """The ids of the questions that a clause may answer: none, one, or several that it fits alike.

        ``context`` is what stands before it and does not answer by itself.
        """
        about, beside = terms(text), terms(context)
        scores = [(self._fit(text, about, beside, number), number) for number in self._index.near(about | beside)]
        best = max((score for score, _ in scores), default=0.0)
        return [self._asked[number].id for score, number in scores if score == best >= _ENOUGH]

    def _fit(self, text: str, about: frozenset[str], beside: frozenset[str], number: int) -> float:
        question, asked_about = self._asked[number].text, self._index.about(number)
        score = shared(about, asked_about) + shared(beside - about, asked_about)
        if score >= _MOST_OF_IT * shared(asked_about, asked_about):
            score += _FITS_FORM
        if _COUNTED.search(question) and _NUMBER.search(text):
            score += _FITS_FORM
        if _NAMED.search(question) and _PERSON.search(text):
            score += _FITS_FORM
        return score
