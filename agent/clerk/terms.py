"""Which words of two texts are about the same.

Owns terms: English words by their stem, Chinese by pairs of characters, numbers as they are. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+(?:[.,:]\d+)*|[\u3400-\u4dbf\u4e00-\u9fff]+", re.I)
_COMMON: Final = frozenset(
    "a an the this that these those i we you he she it they me us him her them my our your his its their mine is are"
    " was were be been being am do does did done doing have has had having can could will would shall should may might"
    " must not no nor yes and or but so if then than as of at by for from in into on onto to up with without about"
    " over under out off again once here there when where why how what which who whom whose all any both each few more"
    " most other some such only own same too very just also let let's we're we'll i'm i'll don't doesn't isn't it's"
    " that's what's who's get got go goes going need needs want still yet already now ok side per instead decided"
    " decide agreed agree use using make keep take said says".split()
)
_COMMON_CHINESE: Final = frozenset(
    "的了是在我你他她它们这那有和与就都也还要会能可不没很吗呢吧啊呀么谁哪几什怎为得地着过把被让给对到从以及或者到底个一下边家"
)
_APART: Final = re.compile(r"\W+")
_NEGATION: Final = re.compile(r"\b(?:not|no|never|without|cannot)\b|n't\b|不|没|别|无|未|勿|非")
_FIXED: Final = re.compile(r"\d+|[A-Z]{2,}")
_TOO_MANY: Final = 64
_SUFFIXES: Final = (
    "ations",
    "ation",
    "ments",
    "ment",
    "ings",
    "ing",
    "ies",
    "ied",
    "ers",
    "es",
    "ed",
    "er",
    "ly",
    "s",
    "e",
)


def terms(text: str) -> frozenset[str]:
    """What a text is about: stems, numbers, and single Chinese characters and pairs of them that mean something."""
    found: set[str] = set()
    for match in _WORD.finditer(text.lower().replace("’", "'")):
        word = match[0]
        if "\u3400" <= word[0]:
            found.update(_pairs(word))
        elif word[0].isdigit():
            found.add(word.rstrip(".,:"))
        elif word not in _COMMON and len(word) > 1:
            found.add(stem(word))
    return frozenset(found)


def stem(word: str) -> str:
    """An English word without its ending, at least three letters of it."""
    word = word.split("'")[0]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
    return word


def shared(one: frozenset[str], other: frozenset[str]) -> float:
    """How much two texts have in common: one for each word, number or pair, less for a single Chinese character."""
    return sum(0.4 if len(term) == 1 and not term.isdigit() else 1.0 for term in one & other)


def _pairs(run: str) -> set[str]:
    single = {char for char in run if char not in _COMMON_CHINESE}
    return single | {a + b for a, b in zip(run, run[1:], strict=False) if a in single and b in single}


@dataclass(frozen=True, slots=True)
class Sense:
    """What a text says: its letters, or its terms with numbers and negations. What shares one says the same."""

    letters: str
    about: tuple[frozenset[str], int, tuple[str, ...]] | None


def sense_of(text: str) -> Sense:
    """The sense of a text. Texts that share ``letters`` or ``about`` say the same."""
    found = terms(text)
    negations = len(_NEGATION.findall(text.lower()))
    return Sense(_APART.sub("", text.casefold()), (found, negations, tuple(_FIXED.findall(text))) if found else None)


class Known:
    """Texts by what they say."""

    def __init__(self) -> None:
        self._ids: dict[object, str] = {}

    def add(self, text: str, key: str) -> None:
        """Remember a text under an id; the first that says something keeps it."""
        sense = sense_of(text)
        for side in (sense.letters, sense.about):
            if side:
                self._ids.setdefault(side, key)

    def find(self, text: str) -> str | None:
        """The id of a text that says the same, or None."""
        sense = sense_of(text)
        return self._ids.get(sense.letters) or (self._ids.get(sense.about) if sense.about else None)


class Index:
    """Which of many texts share a term that tells them apart."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._about = [terms(text) for text in texts]
        self._where: dict[str, list[int]] = {}
        for number, about in enumerate(self._about):
            for term in about:
                self._where.setdefault(term, []).append(number)

    def about(self, number: int) -> frozenset[str]:
        """The terms of the text of that number."""
        return self._about[number]

    def near(self, about: frozenset[str]) -> list[int]:
        """The numbers of the texts that share a term with these, in order. A term of very many texts finds none."""
        lists = (self._where.get(term, []) for term in about)
        return sorted({number for found in lists if len(found) <= _TOO_MANY for number in found})
