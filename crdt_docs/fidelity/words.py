"""Text cut into sentences, segments and words. Owns normalising, stemming and the bound on what is read.

Must never look at a text twice as long as it is: every pattern here is bounded, so that no text takes more than time in
proportion to its length.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .lexicon import FUNCTION, OPPOSITE, SAME

CJK: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_SHAPELESS: Final = dict.fromkeys(
    [0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF]
)
"""Characters without a shape, which may stand between those of a word."""
_TOKEN: Final = re.compile(rf"[{CJK}]|[^\W\d_{CJK}]{{1,64}}|\d{{1,24}}")
_IS_CJK: Final = re.compile(f"[{CJK}]")
_MARKER: Final = re.compile(r"^[ \t]{0,8}(?:[-*•·▪◦–—>#]{1,6}|\d{1,2}[.)、](?!\d)|\(\d{1,2}\)|[a-zA-Z]\))[ \t]{0,8}")
_ENDING: Final = re.compile(r"[.!?。！？…]{1,4}[\"'”’)»」』]{0,2}(?=\s|$|[▫\"“「«⟦" + CJK + r"])|[。！？]")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|dr|mr|mrs|ms|prof|vs|nos?|approx|st|cf|fig|sec|ch|art)|(?-i:(?<![^\W_])[A-Z]))$", re.I
)
_SHORTENED: Final = re.compile(
    r"\b(?:inc|ltd|co|corp|al|dept|est|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)$",
    re.I,
)
"""Ends a sentence where a capital follows, and else does not."""
_STOP_ZH: Final = re.compile(
    "以及|目前|已经|我们|你们|他们|这个|那个|一个|关于|对于|其中|如果|因为|所以|但是|并且|或者|还有|仍然|正在|进行|应当|"
    "应该|必须|需要|可以|现在|同时|然后|以后|之后|之前|为止|[的了已是在和与及或也都就还把被将会要须应由对给让请这那其该等为以于到从向并而但则且吗呢吧啊]"
)


def normalise(text: str, limit: int) -> str:
    """The first ``limit`` characters in one form: full width as half, curly quotes as straight, nothing bold."""
    flat = unicodedata.normalize("NFKC", text[:limit])[:limit].translate(_SHAPELESS)
    flat = flat.replace("\u2019", "'").replace("\u2018", "'").replace("\u201c", '"').replace("\u201d", '"')
    flat = flat.replace("**", "").replace("`", "").replace("\u2011", "-").replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"[^\S\n]{2,}|[^\S\n ]", " ", flat)


def is_cjk(text: str) -> bool:
    """Whether any of it is written without spaces between the words."""
    return _IS_CJK.search(text) is not None


_SUFFIXES: Final = (
    ("ations", "ate"), ("ation", "ate"), ("ments", ""), ("ment", ""), ("ies", "y"), ("ied", "y"), ("sses", "ss"),
    ("ing", ""), ("ed", ""), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("zes", "z"), ("s", ""), ("ly", ""),
)  # fmt: skip


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A rough stem of a lower case Latin word, in the form that the lexicon's groups have."""
    for suffix, instead in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith(("ss", "eed")):
            word = word[: len(word) - len(suffix)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word


@dataclass(frozen=True, slots=True)
class Word:
    """A word that carries matter: ``stem`` is what it counts as, ``denied`` if it is an opposite of that."""

    stem: str
    start: int
    denied: bool = False


def vocabulary(text: str) -> frozenset[str]:
    """Its words, numbers and single characters, without their places."""
    return frozenset(_TOKEN.findall(text))


def words(text: str) -> list[Word]:
    """What carries matter in it: stems of Latin words, pairs of Chinese characters. Numbers are left out."""
    found: list[Word] = []
    for match in re.finditer(rf"[{CJK}]{{1,4000}}|[^\W\d_{CJK}]{{1,64}}", text):
        piece = match.group()
        if is_cjk(piece[0]):
            found += _pairs(piece, match.start())
        else:
            lower = piece.lower()
            if lower not in FUNCTION and (len(lower) > 1 or piece.isupper()):
                found.append(word(lower, match.start()))
    return found


def word(lower: str, start: int) -> Word:
    """The word as it counts: by its stem, and by what that is the same as or the opposite of."""
    plain = stem(lower)
    plain = SAME.get(plain, plain)
    first = OPPOSITE.get(plain, plain)
    return Word(first, start, denied=first != plain)


def root(lower: str) -> str:
    """What a word counts as, alone."""
    return word(lower, 0).stem


def characters(text: str) -> frozenset[str]:
    """The words of scripts without spaces, as they count, of a text too long to keep their places."""
    found: set[str] = set()
    for run in re.findall(rf"[{CJK}]{{1,4000}}", text):
        for piece in _STOP_ZH.split(run):
            found.update(map("".join, zip(piece, piece[1:], strict=False)) if len(piece) > 1 else (piece,))
    return frozenset(found)


def _pairs(run: str, start: int) -> list[Word]:
    found: list[Word] = []
    at = 0
    for stop in [*_STOP_ZH.finditer(run), None]:
        end = stop.start() if stop else len(run)
        piece = run[at:end]
        if len(piece) == 1:
            found.append(Word(piece, start + at))
        found += [Word(piece[i : i + 2], start + at + i) for i in range(len(piece) - 1)]
        if stop:
            at = stop.end()
    return found


@dataclass(frozen=True, slots=True)
class Sentence:
    """``text`` stands in the whole at ``start``; ``label`` is the heading or the words before a colon that rule it."""

    text: str
    start: int
    label: str = ""
    closed: bool = True
    """Whether it ends in a full stop or the like."""


def sentences(text: str) -> list[Sentence]:
    """The sentences of a normalised text. A listed line is one; a line that ends in a colon rules those below."""
    found: list[Sentence] = []
    label = ""
    at = 0
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        if not line.strip():
            label = ""
            continue
        marker = _MARKER.match(line)
        skip = marker.end() if marker else 0
        body = line[skip:].rstrip()
        heading = line.lstrip().startswith("#")
        if (body.rstrip("*_ ").endswith(":") or heading) and len(body) <= 120 and not _ENDING.search(body[:-1]):
            label = body
            continue
        found += _split(body, start + skip, label)
    return found


LONGEST: Final = 800
"""Characters of a sentence; a longer one is read in pieces, so that work on pairs within a sentence stays bounded."""
_LABEL: Final = re.compile(r"[^:;.!?。]{1,60}:(?=\D|\s|$)(?!//)")


def _split(line: str, start: int, label: str) -> list[Sentence]:
    found: list[Sentence] = []
    at = 0
    for ending in [*_ENDING.finditer(line), None]:
        end = ending.end() if ending else len(line)
        if ending and end < len(line) and _goes_on(line, ending):
            continue
        for low in range(at, end, LONGEST):
            piece = line[low : min(low + LONGEST, end)]
            lead = len(piece) - len(piece.lstrip())
            piece = piece.strip()
            own = _LABEL.match(piece)
            ruling = f"{label} {own.group()}".strip() if own else label
            if piece:
                found.append(Sentence(piece, start + low + lead, ruling, closed=ending is not None))
        at = end
    return found


def _goes_on(line: str, ending: re.Match[str]) -> bool:
    """Whether the full stop is an abbreviation's."""
    near, end = max(0, ending.start() - 8), ending.start()
    if _ABBREVIATION.search(line, near, end):
        return True
    return _SHORTENED.search(line, near, end) is not None and not line[ending.end() :].lstrip()[:1].isupper()


_SEGMENT: Final = re.compile(
    r"(?:[;；,，、]|:(?=\s))\s{0,4}(?:(?:and|but|while|whereas|though|although|yet|so|not)\b)?|\s(?:but|while|whereas|although)\s|[—–]|\s-\s|[()]"
)


def segments(text: str) -> list[tuple[int, int]]:
    """The spans between commas, semicolons, dashes and brackets; commas within numbers do not count."""
    spans: list[tuple[int, int]] = []
    at = 0
    for cut in _SEGMENT.finditer(text):
        before, after = text[cut.start() - 1 : cut.start()], text[cut.end() : cut.end() + 1]
        if cut.group() == "," and before.isdigit() and after.isdigit():
            continue
        if cut.start() > at:
            spans.append((at, cut.start()))
        at = cut.end() - 3 if cut.group().endswith("not") else cut.end()
    if at < len(text):
        spans.append((at, len(text)))
    return spans or [(0, len(text))]
