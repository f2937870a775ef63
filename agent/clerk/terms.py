"""Which words of two texts are about the same.

Owns terms: English words by their stem, Chinese by pairs of characters, numbers as they are. Pure.
"""

from __future__ import annotations

import re
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


_APART: Final = re.compile(r"[^\w\u3400-\u9fff]+")
_NEGATION: Final = re.compile(r"\b(?:not|no|never|without|cannot)\b|n't\b|不|没|别|无|未|勿|非")


def same_words(one: str, other: str) -> bool:
    """Whether two texts say the same: in the same words, or about the same with as many negations."""
    if _plain(one) == _plain(other):
        return bool(_plain(one))
    mine, theirs = terms(one), terms(other)
    if not mine or mine != theirs:
        return False
    return len(_NEGATION.findall(one.lower())) == len(_NEGATION.findall(other.lower())) and _wide(one) == _wide(other)


def _plain(text: str) -> str:
    return _APART.sub("", text.casefold())


def _wide(text: str) -> list[str]:
    """Numbers and words in capitals, in their order."""
    return re.findall(r"\d+|[A-Z]{2,}", text)
