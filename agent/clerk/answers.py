"""Which open question something said answers.

Owns the match of a clause with the questions that are open. Must never choose between two that fit equally.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent.clerk.terms import shared, terms


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that is open in the ledger."""

    id: str
    text: str


_ENOUGH: Final = 1.0
_MOST_OF_IT: Final = 0.6
_NUMBER: Final = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|none|dozen)\b|[一二两三四五六七八九十百]"
)
_COUNTED: Final = re.compile(
    r"\bhow (?:many|much|long|big|far|often|old)|几|多少|多久|多大|多长|什么时候|\bwhen\b|what (?:time|date)", re.I
)
_NAMED: Final = re.compile(r"\bwho\b|谁", re.I)
_PERSON: Final = re.compile(
    r"\b[A-Z][a-z]+|[\u4e00-\u9fff](?:总|工|哥|姐|老师|经理|律师)|[老小阿][\u4e00-\u9fff]|我|\b(?:we|i)\b"
)


def best_question(text: str, context: str, asked: Sequence[Asked]) -> str | None:
    """The id of the question that a clause answers, or None if none fits, or two do alike."""
    scores = sorted(((_fit(text, context, question), question.id) for question in asked), reverse=True)
    if not scores or scores[0][0] < _ENOUGH or (len(scores) > 1 and scores[1][0] >= scores[0][0]):
        return None
    return scores[0][1]


def _fit(text: str, context: str, question: Asked) -> float:
    about = terms(question.text)
    own = shared(terms(text), about)
    score = own + shared(terms(context) - terms(text), about)
    if score == 0:
        return 0
    if score >= _MOST_OF_IT * shared(about, about):
        score += 0.6
    if _COUNTED.search(question.text) and _NUMBER.search(text):
        score += 0.6
    if _NAMED.search(question.text) and _PERSON.search(text):
        score += 0.6
    return score
