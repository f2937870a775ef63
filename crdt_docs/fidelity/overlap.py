"""How much of one point's words a text holds. Owns the measure that is validated against people's labels.

Must never know of kinds, values or severity: what it measures is likeness of words, and that alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from .words import normalise, root, sentences, words

LIMIT: Final = 20_000
"""Characters of a text that are read."""
_ORDER: Final = 0.2
"""The share of neighbouring pairs in the measure; the rest is the share of single words."""
_ELSEWHERE: Final = 0.2
"""The share that what stands in other sentences counts for."""
_KIN: Final = 0.7
"""What a word counts for that shares no more than its first five letters."""
_TELLING: Final = frozenset(
    root(verb)
    for verb in """
discuss discusses mention mentions highlight share explain describe detail emphasize suggest state indicate show report
ask talk conversation often several various different specific certain important significant key main new like include
included many make use help ensure provide allow improve enhance such way give offer recommend advise inform
""".split()
)
"""Words that tell that something is told. They weigh little."""
_NUMBER: Final = re.compile(r"\d{1,24}(?:[.,]\d{1,6}){0,4}")


def coverage(insight: str, summary: str) -> float:
    """The share, 0 to 1, of one point that a summary covers: by its best line, and a little by all the others.

    A word counts the less, the more of the summary's lines hold it: it does not tell one point from another.
    """
    point = _roots(normalise(insight, LIMIT))
    lines = [roots for line in _lines(normalise(summary, LIMIT)) if (roots := _roots(line))]
    held = Counter(root for line in lines for root in set(line))
    weights = {root: _weight(root) * (1 - held[root] / (len(lines) + 1)) for root in point}
    if not weights or not lines:
        return 0.0
    best = max(_likeness(point, line, weights) for line in lines)
    elsewhere = sum(weights[root] for root in weights if root in held) / sum(weights.values())
    return (1 - _ELSEWHERE) * best + _ELSEWHERE * elsewhere


def _lines(text: str) -> list[str]:
    """The lines of a list; of a single paragraph its sentences, each alone and with the next."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) > 1:
        return lines
    alone = [sentence.text for sentence in sentences(text)]
    return alone + [f"{one} {other}" for one, other in zip(alone, alone[1:], strict=False)]


def _roots(text: str) -> list[str]:
    numbers = [(match.start(), match.group().replace(",", "")) for match in _NUMBER.finditer(text)]
    return [root for _, root in sorted(numbers + [(word.start, word.stem) for word in words(text)])]


def _weight(root: str) -> float:
    return (0.3 if root in _TELLING else 1.0) * (1 + min(len(root), 8) / 8)


def _likeness(point: Sequence[str], line: Sequence[str], weights: Mapping[str, float]) -> float:
    single = recall(weights, set(line))
    pairs = set(zip(point, point[1:], strict=False))
    if not pairs:
        return single
    return (1 - _ORDER) * single + _ORDER * len(pairs & set(zip(line, line[1:], strict=False))) / len(pairs)


def recall(weights: Mapping[str, float], held: Collection[str], families: Collection[str] | None = None) -> float:
    """The weighed share of the words that are held; a word of the same family counts in part."""
    total = sum(weights.values())
    if not total:
        return 0.0
    kin = kindred(held) if families is None else families
    got = 0.0
    for key, weight in weights.items():
        if key in held:
            got += weight
        elif key[:5] in kin and len(key) >= 5:
            got += _KIN * weight
    return got / total


def kindred(roots: Collection[str]) -> frozenset[str]:
    """What the words of one family have in common: their first five letters."""
    return frozenset([key[:5] for key in roots if len(key) >= 5])
