"""How far one row of the ledger is told, and which row a value in the summary belongs to.

Owns the weights of words within a ledger. Must never say what follows from it: that is the scoring's.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from .ledger import LedgerItem
from .lexicon import COMMON, FRAMING
from .names import Name, alike
from .overlap import recall
from .reading import Passage, Reading, read_item
from .values import Value, answers, same
from .verbatim import own_words
from .words import is_cjk, root

NEED: Final = 0.5
"""The share of a row's words that tells it, where nothing else does."""
NEED_BESIDE: Final = 0.2
"""The same where a value or a name of the row stands beside them."""
FRAMED: Final = 0.3
FRAMING_ROOTS: Final = frozenset(map(root, FRAMING))
"""Words of which every resumption is built, as they count."""
MOST: Final = 24
"""Values of a row that are looked for in a paraphrase of it."""
_NEAR: Final = 24
"""Characters within which a word is close to a value."""
_RIVAL: Final = 0.8
"""What a value's own row must come to, of the nearness of a row that wants another."""


_REFERS: Final = re.compile(
    r"(?:it|its|this|that|these|those|they|he|she|his|her|both|there)\b|[这该此其它他她]|双方|两者", re.I
)


@dataclass(frozen=True)
class Row:
    """A row of the ledger, read, with the weight of each of its words: the fewer rows have it, the more it weighs."""

    item: LedgerItem
    reading: Reading
    weights: Mapping[str, float]
    topic: frozenset[str]
    names: tuple[Name, ...]
    _likenesses: dict[int, float] = field(default_factory=dict, repr=False, compare=False)
    """By the passage; both live as long as the case does."""

    @cached_property
    def wording(self) -> str:
        """Its own words, on one line."""
        return own_words(self.reading.text)

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The values that must be told."""
        dated = any(value.kind == "date" for value in self.reading.values)
        kept = [v for v in self.reading.values if not v.faint and not (dated and v.kind == "weekday")]
        return tuple(kept[:MOST])

    @cached_property
    def _stated(self) -> tuple[Value, ...]:
        return self.reading.values[: 4 * MOST]

    @cached_property
    def total(self) -> float:
        """The weight of all its words."""
        return sum(self.weights.values())

    def has(self, value: Value) -> bool:
        """Whether the row states the value."""
        return any(same(value, own) for own in self._stated)

    def wants(self, value: Value) -> bool:
        """Whether the row states another value of the kind instead."""
        return not self.has(value) and any(own.kind == value.kind for own in self.values)

    def names_one(self, name: Name) -> bool:
        """Whether the row names the one, in full or in part."""
        return any(alike(name, own) for own in self.names)

    def likeness(self, passage: Passage) -> float:
        """The share of the row's words in the passage."""
        known = self._likenesses.get(id(passage))
        if known is None:
            known = self._likenesses[id(passage)] = recall(self.weights, passage.roots, passage.families)
        return known

    @cached_property
    def matter(self) -> Mapping[str, float]:
        """The words that are no names, weighed."""
        named = {root(part) for name in self.names for part in name.parts}
        return {key: weight for key, weight in self.weights.items() if key not in named} or self.weights

    def affinity(self, passage: Passage, value: Value) -> float:
        """How near the row's words stand to a value in a passage; what it counts, as in "18桌", is part of it."""
        near = 0.0
        for word in passage.words:
            weight = self.weights.get(word.stem) or (0.5 if word.stem in self.topic else 0.0)
            if weight and not (word.start == value.end and len(word.stem) == 1):
                near += weight / (1 + abs(word.start - value.start) / _NEAR)
        return near


def rows(items: Sequence[LedgerItem], is_name: Callable[[str], bool]) -> list[Row]:
    """The ledger, read. ``is_name`` says of a word that begins a row whether it is a name elsewhere."""
    readings = [read_item(item.text) for item in items]
    standing = [reading.roots for item, reading in zip(items, readings, strict=True) if item.status != "forgotten"]
    held = Counter(key for roots in standing for key in roots)
    return [
        Row(
            item,
            reading,
            {key: _weight(key, held[key], len(standing)) for key in reading.roots},
            read_item(item.topic).roots,
            _names(reading, is_name),
        )
        for item, reading in zip(items, readings, strict=True)
    ]


def _weight(key: str, held: int, rows: int) -> float:
    """The fewer rows have a word, the more it weighs; the words that every resumption has weigh little."""
    return math.log((rows + 2) / (held + 0.5)) * (FRAMED if key in FRAMING_ROOTS else 1)


def _names(reading: Reading, is_name: Callable[[str], bool]) -> tuple[Name, ...]:
    """The names of a row; a word that only begins it is one if it is a name elsewhere."""
    return tuple(name for name in reading.names if not name.head or len(name.parts) > 1 or is_name(name.parts[0]))


@dataclass(frozen=True)
class Telling:
    """The best place at which a row is told: ``share`` is 0 to 1, and the rest is what it is short of."""

    share: float
    passages: tuple[Passage, ...] = ()
    words: float = 0.0
    values: tuple[Value, ...] = ()
    names: tuple[Name, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Whether the row is spoken of, and not told."""
        return self.share < 1 and (self.share > 0 or self.words >= NEED_BESIDE)


VERBATIM: Final = Telling(1.0, words=1.0)
"""A row told in its own words."""


def tell(row: Row, summary: Reading, others: Sequence[Row]) -> Telling:
    """Where and how far the summary tells the row: in its own words, in one passage, or in two that follow."""
    best = Telling(0.0, values=row.values, names=row.names)
    for window in windows(summary.passages):
        telling = _telling(row, window, others)
        if (telling.share, telling.words) > (best.share, best.words):
            best = telling
    return best


def windows(passages: Sequence[Passage]) -> Iterable[tuple[Passage, ...]]:
    """Each passage, and with it the next if that goes on about the same."""
    yield from ((passage,) for passage in passages)
    yield from ((one, other) for one, other in zip(passages, passages[1:], strict=False) if _REFERS.match(other.text))


def _telling(row: Row, window: tuple[Passage, ...], others: Sequence[Row]) -> Telling:
    roots = frozenset().union(*(passage.roots for passage in window))
    words = recall(row.matter, roots)
    missing = tuple(value for value in row.values if not any(is_bound(row, value, p, others) for p in window))
    named = [name for passage in window for name in passage.names]
    absent = tuple(name for name in row.names if not _named(name, named, window))
    marks = len(row.values) + len(row.names)
    need = NEED_BESIDE if marks else NEED
    need *= 0.8 if is_cjk(row.reading.text) else 1
    alone = not missing and not absent and (_is_alone(row, others) or _is_names(row))
    share = 1.0 if alone or not row.total else min(words / need, 1.0)
    share *= (marks - len(missing) - len(absent)) / marks if marks else 1.0
    return Telling(share, window, words, missing, absent)


def _is_alone(row: Row, others: Sequence[Row]) -> bool:
    """Whether no other row has a value of the kinds that this has, so that the value tells the row."""
    kinds = {value.kind for value in row.values} - {"number"}
    return bool(kinds) and all(
        other is row or kinds.isdisjoint(value.kind for value in other.reading.values) for other in others
    )


def _is_names(row: Row) -> bool:
    """Whether the row is little more than its names: "we move from Sphinx to OpenSearch"."""
    return len(row.names) > 1 and sum(row.matter.values()) <= 0.35 * row.total


def _named(name: Name, named: Sequence[Name], window: Sequence[Passage]) -> bool:
    if any(alike(name, other) for other in named):
        return True
    if is_cjk(name.text):
        return any(name.text in p.text for p in window)
    taken = {part for other in named for part in other.parts}
    return any(
        part not in taken and part not in COMMON and part in p.lower_words for part in name.parts for p in window
    )


def is_bound(row: Row, wanted: Value, passage: Passage, others: Sequence[Row]) -> bool:
    """Whether the passage states the value, and of this row rather than of one that wants another."""
    return any(answers(told, wanted) and belongs(row, told, passage, others) for told in passage.values)


def belongs(row: Row, told: Value, passage: Passage, others: Sequence[Row]) -> bool:
    """Whether no row that wants another value of the kind stands nearer to this one."""
    own = row.affinity(passage, told)
    rivals = [other for other in others if other.wants(told) and other.item.id != row.item.superseded_by]
    return all(own >= _RIVAL * other.affinity(passage, told) for other in rivals)
