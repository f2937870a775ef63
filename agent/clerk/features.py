"""What a clause looks like: the marks by which the clerk's judgement tells one kind of statement from another.

Owns the marks of clauses: their words and classes of words in order, what stands around them, what the rules say. Must
never look at anything but the message and the questions that are open. Pure, and linear in the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import combinations
from typing import Final

from agent.clerk.parts import LONGEST, Heard, Part, table_of
from agent.clerk.rules import first
from agent.clerk.sentences import BLANK, is_chinese
from agent.clerk.terms import shared, terms

_TOKEN: Final = re.compile(
    r"[A-Za-z]+(?:'[A-Za-z]+)?|[€$£]?\d+(?:[.,:/]\d+)*(?:st|nd|rd|th|k|m|am|pm|%)?|[\u3400-\u4dbf\u4e00-\u9fff]+"
    rf"|{BLANK}+|[^\s\w]"
)
_LETTERS: Final = re.compile(r"[A-Za-z]")
_SUFFIXES: Final = ("ing", "ed", "ly", "tion", "ment", "s")
_READ: Final = 120
"""Tokens of a clause that are looked at."""
_BESIDE: Final = 15
"""Tokens of a clause beside it that are."""
_WINDOW: Final = 12
"""Clauses around one that are its sentence, for what stands before it."""
_NUMERALS: Final = "一二两三四五六七八九十百千万半"
_UNLISTED: Final = {"-", "·", "THE", "IN"}
Tokens = tuple[tuple[str, ...], tuple[str, ...]]


@cache
def _classes() -> dict[str, str]:
    """Each listed word with its class."""
    text = (files(__package__) / "tables" / "classes.words").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, _, words = line.partition(": ")
        if not line.startswith("#"):
            for word in words.split():
                found.setdefault(word, name)
    return found


@lru_cache(maxsize=256)
def tokens_of(plain: str) -> Tokens:
    """The tokens of a text twice: as they are, and each as the class of its like (a number, a name, a day)."""
    words: list[str] = []
    classes: list[str] = []
    for found in _TOKEN.finditer(plain[:LONGEST].replace("’", "'")):
        raw = found[0]
        if raw[0] == BLANK:
            words.append(BLANK)
            classes.append(BLANK)
        elif "\u3400" <= raw[0] <= "\u9fff":
            words.extend(raw)
            _read_chinese(raw, classes)
        elif raw[0].isdigit() or (len(raw) > 1 and raw[0] in "€$£"):
            words.append("0")
            classes.append("0")
        else:
            words.append(raw.lower())
            classes.append(_class_of(raw))
    return tuple(words[:_READ]), tuple(classes[:_READ])


def _read_chinese(run: str, classes: list[str]) -> None:
    """The classes of a run of Chinese, by the longest words that are listed; what is between is a dot."""
    listed, at = _classes(), 0
    while at < len(run):
        length = next((n for n in (4, 3, 2, 1) if run[at : at + n] in listed and at + n <= len(run)), 0)
        if length:
            classes.append(listed[run[at : at + length]])
        else:
            mark, length = ("0" if run[at] in _NUMERALS else "·"), 1
            if not classes or classes[-1] != mark:
                classes.append(mark)
        at += length


def _class_of(raw: str) -> str:
    word = raw.lower()
    if name := _classes().get(word):
        return name
    if not _LETTERS.match(raw):
        return word
    if raw[0].isupper():
        return "AA" if len(raw) > 1 and raw.isupper() else "Aa"
    return next(("-" + suffix for suffix in _SUFFIXES if word.endswith(suffix) and len(word) > len(suffix) + 2), "-")


def looks(heard: Sequence[Heard], index: int, text: str, asked: Sequence[frozenset[str]]) -> list[str]:
    """All marks of a clause that are not by rules; ``asked`` are the terms of the questions that are open."""
    clause = heard[index].clause
    tongue = "z" if is_chinese(clause.text) else "e"
    marks = [*_own(clause.plain, tongue), *_around(heard, index, text)]
    if asked:
        about = terms(clause.plain)
        marks.append(f"asked{int(max(shared(about, question) for question in asked))}")
    return [marks[0], *(tongue + mark for mark in marks[1:])]


def _own(plain: str, tongue: str) -> Iterator[str]:
    """The marks of a clause's own words."""
    words, classes = tokens_of(plain)
    yield f"{tongue}|"
    yield from _grams(("^", *words, "$"), "w", 4 if tongue == "z" else 2)
    classed = ("^", *classes, "$")
    yield from _grams(classed, "c", 4)
    yield from (f"k{a}_{b}" for a, b in zip(classed, classed[2:], strict=False))
    several = sorted(set(classes) - _UNLISTED)[:14]
    yield from (f"b{a}&{b}" for a, b in combinations(several, 2))
    yield from (f"^{classes[0]}&{other}" for other in several)
    if tongue == "z":
        yield from _ends(words)
    else:
        yield from (f"h{word[:5]}" for word in words if len(word) > 5)
    yield f"n{min(len(words) // (4 if tongue == 'z' else 2), 8)}"


def _ends(words: Sequence[str]) -> Iterator[str]:
    """Which characters are near the beginning and near the end."""
    for n in (1, 2):
        head, tail = words[:6], words[-6:]
        yield from (f"<{''.join(head[i : i + n])}" for i in range(len(head) - n + 1))
        yield from (f">{''.join(tail[i : i + n])}" for i in range(len(tail) - n + 1))


def _grams(words: Sequence[str], name: str, longest: int) -> Iterator[str]:
    for n in range(1, longest + 1):
        for start in range(len(words) - n + 1):
            gram = " ".join(words[start : start + n])
            if gram not in {"^", "$"}:
                yield name + gram


def _around(heard: Sequence[Heard], index: int, text: str) -> Iterator[str]:
    """The marks of what stands around a clause."""
    clause = heard[index].clause
    if clause.label:
        words, _ = tokens_of(clause.label)
        yield from (f"L{word}" for word in words[:6])
        yield f"L{'|'.join(words[:6])}|"
        yield "L=own" if clause.label_at < clause.start else "L=carried"
    yield f"a{clause.after}"
    yield f"asked={clause.asked}{clause.text[-1:] in '?？'}"
    if BLANK in clause.plain:
        yield "quoted"
    yield f"end{text[clause.end : clause.end + 2].strip()[:1]}"
    nearby = range(max(0, index - _WINDOW), min(len(heard), index + _WINDOW))
    same = [n for n in nearby if heard[n].clause.sentence == clause.sentence]
    yield f"place{min(same.index(index), 3)}of{min(len(same), 4)}"
    yield f"sent{min(clause.sentence, 2)}of{min(heard[-1].clause.sentence, 3)}"
    for step, name in ((-1, "p"), (1, "n"), (-2, "pp")):
        near = index + step
        yield from _beside(heard[near], name, same=near in same) if 0 <= near < len(heard) else (f"{name}#",)
    for n in range(same[0], index):
        yield from (f"s{kind}" for kind in tokens_of(heard[n].clause.plain)[1][:_BESIDE])
    if same[0] > 0:
        yield from (f"m{kind}" for kind in tokens_of(heard[0].clause.plain)[1][:4])


def _beside(heard: Heard, name: str, *, same: bool) -> Iterator[str]:
    shown = tokens_of(heard.clause.plain)[1]
    mark = f"{name}{'=' if same else '/'}"
    if name != "pp":
        yield from (f"{mark}{kind}" for kind in shown[:_BESIDE])
        yield from (f"{mark}{a} {b}" for a, b in zip(shown[:_BESIDE], shown[1:_BESIDE], strict=False))
    yield f"{mark}^{' '.join(shown[:2])}"
    yield f"{mark}${' '.join(shown[-2:])}"


def opinions(heard: Sequence[Heard], parts: Sequence[Part]) -> list[list[str]]:
    """What the rules say of each clause: the first that fits, what came of it, and all others that fit."""
    taken = [_taken(one, part) for one, part in zip(heard, owners(parts, heard), strict=True)]
    return [[*_of_first(heard, taken, index), *_of_all(heard[index])] for index in range(len(heard))]


def owners(parts: Sequence[Part], heard: Sequence[Heard]) -> list[Part | None]:
    """For each clause what the rules made it part of."""
    found: list[Part | None] = []
    rest = list(reversed(parts))
    for one in heard:
        while rest and rest[-1].clause.end <= one.clause.start:
            rest.pop()
        found.append(rest[-1] if rest and rest[-1].clause.start <= one.clause.start else None)
    return found


def _taken(heard: Heard, part: Part | None) -> str:
    """What the rules took a clause for in the end, with a plus where it continues the one before it."""
    return part.means + "+" * (part.clause.start < heard.clause.start) if part else "gone"


def _of_first(heard: Sequence[Heard], taken: Sequence[str], index: int) -> Iterator[str]:
    one = heard[index]
    tongue = "z" if is_chinese(one.clause.text) else "e"
    judged = f"{one.rule.means}{one.rule.scope}" if one.rule else "none"
    yield f"R{judged}"
    if one.rule:
        yield f"{tongue}R{one.rule.means}:{one.rule.why}"
    yield f"R*{taken[index]}"
    yield f"R*{taken[index]}{one.state}{judged}"
    yield f"R@{one.state}"
    for near in (index - 1, index + 1):
        if 0 <= near < len(heard):
            same = heard[near].clause.sentence == one.clause.sentence
            yield f"R{near - index}{same}{taken[near]}"
            yield f"R{near - index}{same}{taken[near]}|{taken[index]}"
    if one.clause.label and (label := first(table_of(one.clause.label).labels, one.clause.label)):
        yield f"RL{label.means}"


def _of_all(heard: Heard) -> Iterator[str]:
    """Every rule and cue that fits a clause, whether or not another came first."""
    plain, table = heard.clause.plain[:LONGEST], table_of(heard.clause.text)
    tongue = "z" if is_chinese(heard.clause.text) else "e"
    groups = (("before", table.before), ("unasked", table.unasked), ("asked", table.asked), ("rules", table.rules))
    for name, rules in groups:
        for number, rule in enumerate(rules):
            if rule.pattern.search(plain):
                yield f"{tongue}H{rule.means}:{rule.why}"
                yield f"{tongue}H{name}{number}"
    for name, pattern in table.cues.items():
        if name not in {"leading", "trailing", "topic", "limits", "topics"} and pattern.search(plain):
            yield f"{tongue}Q{name}"
