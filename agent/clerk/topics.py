"""What a decision is about, and which earlier decision it takes the place of.

Owns topics and supersession. Must never retire a decision about something else: no match, or two alike, retire none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from agent.clerk.rules import read_patterns
from agent.clerk.sentences import is_chinese
from agent.clerk.terms import Index, sense_of, shared, stem, terms

_LONGEST: Final = 40
_WORDS: Final = 5
_SAME_TOPIC: Final = 0.5
_BY_TOPIC: Final = 3
_VALUE: Final = re.compile(r"(?:[a-z]+\.? )?[€$£]?\d[\d.,:%-]*(?:st|nd|rd|th|k|m|am|pm)?(?: [a-z]+)?", re.I)
_HALF: Final = re.compile(r"^[在改换挪移用还不回]|还是|^.$|[吧了]$")
"""What a Chinese topic that is none looks like."""
_COUNTED: Final = re.compile(
    r"\d[\d.,]*[ -]?([a-z]+|[\u4e00-\u9fff])|[一二两三四五六七八九十百]([页间个人天张块份次])", re.I
)
_NOT_THINGS: Final = frozenset(
    "we i it everyone everybody all they he she you this that there us let's lets let we'll we're".split()
)


def topic_of(quote: str) -> tuple[str, bool]:
    """A short noun phrase from a decision: what it is about, and whether that is named (else: what was chosen)."""
    return _chinese_topic(quote) if is_chinese(quote) else _english_topic(quote)


def clear_topic(topic: str, quote: str) -> str | None:
    """A topic that tells what a decision is about; None if it is the whole sentence over again, or only a value."""
    if sense_of(topic).letters == sense_of(quote).letters or not terms(topic) or _VALUE.fullmatch(topic):
        return None
    return None if is_chinese(topic) and _HALF.search(topic) else topic


def units(text: str) -> frozenset[str]:
    """What is counted in a text: pages, 页."""
    return frozenset(stem((found[1] or found[2]).lower()) for found in _COUNTED.finditer(text))


def sorts(text: str) -> frozenset[str]:
    """Which sorts of things a text names or asks for: a day, a place, a sum."""
    patterns = read_patterns("topics").items()
    return frozenset(name for name, pattern in patterns if name.startswith("sort_") and pattern.search(text))


class Decisions:
    """Decisions that stand, found by what a new one is about. Items have ``id``, ``text`` and maybe ``topic``."""

    def __init__(self, decisions: Sequence[Mapping[str, Any]], before: Sequence[str] | None = None) -> None:
        """``before`` is, for each, what it once took the place of."""
        self._before = [terms(text) for text in before or [""] * len(decisions)]
        self._ids = [str(item["id"]) for item in decisions]
        self._texts = [str(item["text"]) for item in decisions]
        self._letters = [sense_of(text).letters for text in self._texts]
        self._topics = [terms(str(item.get("topic") or topic_of(str(item["text"]))[0])) for item in decisions]
        self._index = Index([f"{item.get('topic') or ''} {item['text']}" for item in decisions])

    def superseded_by(self, quote: str, topic: str) -> str | None:
        """The id of the one decision about the same thing with another outcome, or None."""
        about, mine = terms(quote), terms(topic)
        near = self._index.near(about | mine)
        scores = sorted(((self._likeness(quote, about, mine, number), number) for number in near), reverse=True)
        if not scores or scores[0][0] < 1 or (len(scores) > 1 and scores[1][0] >= scores[0][0]):
            return None
        return self._ids[scores[0][1]]

    def replaced_by(self, quote: str, topic: str, spoken: frozenset[str]) -> tuple[str | None, bool]:
        """The id of the decision that a choice replaces, and whether more than one may be meant (then none is).

        A choice that does not say for what it is ("let's use B instead") goes back to what was chosen before, or
        replaces what its message speaks of (``spoken`` are its terms), or the only decision that stands of its sort.
        """
        patterns = read_patterns("topics")
        if not patterns["another"].search(quote) or patterns["names"].search(quote):
            return self.superseded_by(quote, topic), False
        letters, wanted = sense_of(quote).letters, terms(quote)
        other = [number for number, theirs in enumerate(self._letters) if theirs != letters]
        returns = [number for number in other if shared(wanted, self._before[number]) >= 1]
        if patterns["returns"].search(quote) and returns:
            other = returns
        elif meant := [number for number in other if shared(spoken - wanted, self._index.about(number)) >= 1]:
            other = meant
        elif alike := [number for number in other if shared(wanted, self._topics[number]) >= 1]:
            other = alike
        else:
            other = [number for number in other if self._is_alike(number, quote)]
        return (self._ids[other[0]], False) if len(other) == 1 else (None, len(other) > 1)

    def _is_alike(self, number: int, quote: str) -> bool:
        """Whether a decision is of the sort of a choice, and something is chosen in it."""
        sort, theirs, of = sorts(quote), self._sorts[number], units(quote)
        if of and not sort:
            return bool(of & units(self._texts[number]))
        chosen = not read_patterns("topics")["dropped"].search(self._texts[number])
        return chosen and (bool(sort & theirs) or not (sort or theirs or units(self._texts[number])))

    @cached_property
    def _sorts(self) -> list[frozenset[str]]:
        return [sorts(text) for text in self._texts]

    def _likeness(self, quote: str, about: frozenset[str], mine: frozenset[str], number: int) -> float:
        if sense_of(quote).letters == self._letters[number]:
            return 0
        theirs = self._topics[number]
        of_both = shared(about, self._index.about(number) | theirs)
        union = shared(mine | theirs, mine | theirs)
        if union and shared(mine, theirs) / union >= _SAME_TOPIC:
            return _BY_TOPIC + of_both
        return of_both if read_patterns("topics")["changes"].search(quote) else 0


def _english_topic(quote: str) -> tuple[str, bool]:
    patterns = [pattern for name, pattern in read_patterns("topics").items() if name.startswith("english")]
    for pattern in patterns:
        for found in pattern.finditer(quote):
            phrase = found[1].strip(" -'’")
            if phrase and phrase.split()[0].lower() not in _NOT_THINGS and len(phrase.split()) <= _WORDS:
                return phrase[:_LONGEST], pattern is not patterns[-1]
    return _cut(quote), False


def _chinese_topic(quote: str) -> tuple[str, bool]:
    patterns = read_patterns("topics")
    lead = patterns["lead"].match(quote)
    rest = quote[lead.end() :] if lead and lead.end() < len(quote) else quote
    for name, text in (("chinese_0", rest), ("chinese_1", quote), ("chinese_2", rest)):
        if (found := patterns[name].search(text)) and found[1].strip():
            return found[1].strip()[:_LONGEST], name == "chinese_0"
    return _cut(quote), False


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    head = text[:_LONGEST]
    return head.rsplit(" ", 1)[0] if " " in head else head
