"""A text as the scorer reads it: passages with their words, values and names.

Must never read past the bound it is given, nor remember a text after the call: it may have to be forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .acts import State, acts
from .cues import denied, stances
from .names import Name, names
from .overlap import kindred
from .values import Value, values
from .words import Sentence, Word, normalise, segments, sentences, vocabulary, words

SUMMARY_LIMIT: Final = 8_000
"""Characters of a summary, besides the words of the ledger; a longer one is not checked at all."""
ITEM_LIMIT: Final = 2_000


@dataclass(frozen=True)
class Passage:
    """One sentence. Places are counted from its own start."""

    sentence: Sentence
    words: tuple[Word, ...]
    values: tuple[Value, ...]
    names: tuple[Name, ...]
    roots: frozenset[str]
    denied: frozenset[str]
    """The roots that stand denied, by a word before them or by being an opposite."""
    denials: tuple[tuple[int, int], ...]
    """The stretches that a denial rules."""

    def denies(self, at: int) -> bool:
        """Whether a denial rules the place."""
        return any(start <= at < end for start, end in self.denials)

    @property
    def text(self) -> str:
        """The sentence itself."""
        return self.sentence.text

    @cached_property
    def families(self) -> frozenset[str]:
        """The families of its words."""
        return kindred(self.roots)

    @cached_property
    def acts(self) -> tuple[tuple[str, State], ...]:
        """The acts that it tells as done, or as still to be done."""
        return tuple(acts(self.text))

    @cached_property
    def stances(self) -> dict[str, set[bool]]:
        """Which side of a pair of opposites it takes."""
        return stances(self.text)

    @cached_property
    def segments(self) -> list[tuple[int, int]]:
        """Its stretches between commas and the like."""
        return segments(self.text)

    def segment(self, at: int) -> str:
        """The segment that a place is in."""
        return next((self.text[start:end] for start, end in self.segments if start <= at < end), self.text)

    @cached_property
    def lower_words(self) -> frozenset[str]:
        """Its words as they are written, in lower case."""
        return vocabulary(self.text.lower())

    @property
    def ruled(self) -> str:
        """The sentence with the heading that rules it."""
        return f"{self.sentence.label} {self.text}"


@dataclass(frozen=True)
class Reading:
    """All of a text: its passages, and what they hold together."""

    text: str
    passages: tuple[Passage, ...]
    roots: frozenset[str]
    values: tuple[Value, ...]
    names: tuple[Name, ...]


def read(text: str, limit: int) -> Reading:
    """The first ``limit`` characters of a text, read."""
    whole = normalise(text, limit)
    passages = tuple(_passage(sentence) for sentence in sentences(whole))
    return Reading(
        whole,
        passages,
        frozenset(root for passage in passages for root in passage.roots),
        tuple(value for passage in passages for value in passage.values),
        tuple(name for passage in passages for name in passage.names),
    )


def read_item(text: str) -> Reading:
    """The words of a row of the ledger, or of its topic."""
    return read(text, ITEM_LIMIT)


def _passage(sentence: Sentence) -> Passage:
    text = sentence.text
    found_values = values(text)
    inside = [(value.start, value.end) for value in found_values]
    found = tuple(word for word in words(text) if not any(start <= word.start < end for start, end in inside))
    spans = denied(text) if found else []
    turned = {word.stem for word in found if word.denied != any(start <= word.start < end for start, end in spans)}
    return Passage(
        sentence,
        found,
        tuple(found_values),
        tuple(names(text, found_values)),
        frozenset(word.stem for word in found),
        frozenset(turned),
        tuple(spans),
    )
