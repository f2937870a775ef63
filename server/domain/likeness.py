"""How like a text a message is, by its words. Owns terms, what is kept of a text to compare with, and their weights.

Lexical on purpose: a first message goes on by the names, numbers and things that its task is full of, and what matched
can be told to the user word for word, in any language, with no model to ship, wait for or mistrust.

Latin-like scripts are compared by words without their English inflections, CJK by pairs of characters; numbers, ids and
file names as they stand. A term weighs by how few of the user's tasks have it (BM25), where ``BACKGROUND`` imagined
texts, in which common words are common, stand beside them: with one task or two, counts alone would tell nothing.
Must never keep or quote the text itself: what is quoted is quoted from the message.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple
from zlib import crc32

from server.domain.everyday_words import COMMON_PAIRS, COMMON_WORDS, FUNCTION_CHARACTERS, FUNCTION_WORDS

READ: Final = 100_000
"""Characters of a text that are compared ..."""
SAID: Final = 20_000
"""... and of a message, which is known by far fewer."""
BACKGROUND: Final = 40
COMMONNESS: Final = 0.3
"""In how many of the imagined texts a common word stands."""
SATURATION, LENGTH_MATTERS, USUAL_LENGTH = 0.9, 0.4, 300.0
"""BM25's k1 and b, and the length in terms of an imagined text."""
RUN: Final = 8
"""Words, or CJK characters, in a row that are the same only if they were copied, if they are telling at all."""
CACHED: Final = 64
"""Characters of a token whose terms are remembered."""
TELLING: Final = 4
"""Different terms, none of them common, that a copied run must have: phrases that everybody writes do not."""

_CJK: Final = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN: Final = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+(?:[-._/@:,'’+&][^\W{_CJK}]+)*")
_IS_CJK: Final = re.compile(rf"[{_CJK}]")
_MARKS: Final = re.compile("[\u0300-\u036f]")
_PARTS: Final = re.compile(r"[\W_]+")
_ENCLITIC: Final = re.compile(r"(?:n['’]t|['’](?:s|t|ll|re|ve|d|m))$")
_FILE: Final = re.compile(r"\w\.[a-z][a-z0-9]{1,4}$")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_YEAR: Final = re.compile(r"(?:19|20)\d\d$")


class Term(NamedTuple):
    """What is compared, and where it stands in the message. ``value`` is the term as texts have it."""

    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Profile:
    """What is kept of a text: how often each term stands in it, and hashes of its runs of RUN words."""

    counts: Mapping[str, int]
    length: int
    runs: array[int]


EMPTY: Final = Profile({}, 0, array("I"))


def profile(text: str) -> Profile:
    """Read a text once, to compare it with many messages."""
    counts = Counter(term.value for term in terms(text))
    return Profile(dict(counts), counts.total(), array("I", sorted(set(_hashes(steps(text))))))


def titled(text: Profile, title: str) -> Profile:
    """The text under a title, whose words count as its own."""
    head = profile(title)
    return Profile(Counter(text.counts) + Counter(head.counts), text.length + head.length, text.runs)


def dump(read: Profile) -> bytes:
    """A profile as JSON, to come from where texts are read."""
    return json.dumps({"counts": dict(read.counts), "runs": read.runs.tolist()}).encode()


def load(data: bytes) -> Profile:
    """The profile again. Raises ValueError, KeyError, TypeError or OverflowError if it is none."""
    read = json.loads(data)
    counts = {str(term): int(count) for term, count in read["counts"].items()}
    return Profile(counts, sum(counts.values()), array("I", read["runs"]))


def terms(text: str) -> Iterator[Term]:
    """The terms of the text, in order; function words and single letters are none."""
    for found in _TOKEN.finditer(text, 0, READ):
        token, start = found[0], found.start()
        if _IS_CJK.match(token):
            yield from _pairs(token, start)
        else:
            for value in _words(token) if len(token) <= CACHED else _words.__wrapped__(token):
                yield Term(value, start, found.end())


def steps(text: str) -> list[Term]:
    """The text word by word, CJK character by character, nothing left out: what copied runs are told by."""
    found: list[Term] = []
    for match in _TOKEN.finditer(text, 0, READ):
        token, start = match[0], match.start()
        if _IS_CJK.match(token):
            found += [Term(character, start + at, start + at + 1) for at, character in enumerate(token)]
        else:
            found.append(Term(_folded(token), start, match.end()))
    return found


@lru_cache(maxsize=20_000)
def _words(token: str) -> tuple[str, ...]:
    """The terms in a token: its words, and the whole of it where it is an id, a file's name or a number."""
    whole = _THOUSANDS.sub("", _ENCLITIC.sub("", _folded(token)))
    parts = [part for part in _PARTS.split(whole) if len(part) > 1]
    found = [stem(part) for part in parts if part not in FUNCTION_WORDS]
    if len(whole) > 1 and parts != [whole] and ("_" in whole or _FILE.search(whole) or any(map(str.isdigit, whole))):
        found.append(whole)
    return tuple(found)


def _pairs(token: str, start: int) -> Iterator[Term]:
    if len(token) == 1 and token not in FUNCTION_CHARACTERS:
        yield Term(token, start, start + 1)
    for at in range(len(token) - 1):
        pair = token[at : at + 2]
        if not (pair[0] in FUNCTION_CHARACTERS and pair[1] in FUNCTION_CHARACTERS):
            yield Term(pair, start + at, start + at + 2)


def _folded(token: str) -> str:
    """Without case, width and accents, which keyboards differ in."""
    if token.isascii():
        return token.lower()
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", token))).casefold()


def stem(word: str) -> str:
    """The word without what English inflects it by: ``raises``, ``raised`` and ``raising`` are one."""
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "zes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and re.search("[aeiouy]", rest):
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


_COMMON: Final = frozenset(map(stem, COMMON_WORDS)) | COMMON_PAIRS


def is_common(term: str) -> bool:
    """Whether the term says little wherever it stands."""
    if _IS_CJK.match(term):
        return term in _COMMON or any(character in FUNCTION_CHARACTERS for character in term)
    return term in _COMMON or (term.isdigit() and len(term) < 3)


def strength(term: str) -> float:
    """How much a term tells by its kind: ids and file names much, numbers by their length, pairs less than words."""
    if _IS_CJK.match(term):
        return 0.3 if any(character in FUNCTION_CHARACTERS for character in term) else 0.7
    if term.isdigit():
        return 0.5 if len(term) < 3 or _YEAR.match(term) else 1.2
    return 1.0 if term.isalpha() else 1.4


@dataclass(frozen=True, slots=True)
class Likeness:
    """``matched`` are the weights of the message's terms that the text has; ``copied`` the steps in copied runs."""

    evidence: float
    matched: Mapping[str, float]
    copied: Collection[int] = ()


class Message:
    """A message, weighed against texts of one user. ``weights`` says what each of its terms tells."""

    def __init__(self, text: str, profiles: Sequence[Profile]) -> None:
        self.text = text = text[:SAID]
        self.terms = list(terms(text))
        self.steps = steps(text)
        self._runs: dict[int, list[int]] = {}
        for at, run in enumerate(_hashes(self.steps)):
            self._runs.setdefault(run, []).append(at)
        self._copyable = frozenset(self._runs)
        self.weights: dict[str, float] = {}
        for value in dict.fromkeys(term.value for term in self.terms):
            spread = sum(value in one.counts for one in profiles)
            self.weights[value] = _weigh(value, spread, len(profiles))
        length = sum(one.length for one in profiles)
        self._usual = (length + BACKGROUND * USUAL_LENGTH) / (len(profiles) + BACKGROUND)

    def likeness(self, text: Profile) -> Likeness:
        """What the text has of this message."""
        matched = {term: weight for term, weight in self.weights.items() if term in text.counts}
        slack = SATURATION * (1 - LENGTH_MATTERS + LENGTH_MATTERS * text.length / self._usual)
        evidence = sum(
            weight * text.counts[term] * (SATURATION + 1) / (text.counts[term] + slack)
            for term, weight in matched.items()
        )
        return Likeness(evidence, matched, self._copied(text))

    def _copied(self, text: Profile) -> frozenset[int]:
        """Which steps of the message lie in telling runs that the text has, too."""
        starts = sorted(at for run in self._copyable.intersection(text.runs) for at in self._runs[run])
        covered = sorted({at + more for at in starts for more in range(RUN)})
        return frozenset(at for run in _rows(covered) if self._is_telling(run) for at in run)

    def _is_telling(self, run: Sequence[int]) -> bool:
        start, end = self.steps[run[0]].start, self.steps[run[-1]].end
        inside = {term.value for term in self.terms if start <= term.start and term.end <= end}
        return sum(not is_common(term) for term in inside) >= TELLING


def _weigh(term: str, spread: int, many: int) -> float:
    """BM25's inverse document frequency, over the user's texts and the imagined ones, times the term's strength."""
    among, having = many + BACKGROUND, max(1, spread) + BACKGROUND * COMMONNESS * is_common(term)
    return strength(term) * math.log(1 + (among - having + 0.5) / (having + 0.5))


def _rows(numbers: Sequence[int]) -> Iterator[list[int]]:
    """The numbers, ascending, in rows without a gap."""
    row: list[int] = []
    for number in numbers:
        if row and number != row[-1] + 1:
            yield row
            row = []
        row.append(number)
    if row:
        yield row


def _hashes(steps: Sequence[Term]) -> Iterator[int]:
    for at in range(len(steps) - RUN + 1):
        yield crc32("\n".join(step.value for step in steps[at : at + RUN]).encode("utf-8", "replace"))
