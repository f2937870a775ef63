"""The clerk's rules, as they stand in ``tables``.

Owns how a rule is written down and read. Must never hold words of a language: those are in the tables.

A table is a text file. ``means scope: why`` opens a rule; the indented lines below are the alternatives of its pattern,
joined by bars as they are read, so a long one may be broken at a bar. ``<name>`` stands for words of the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, Literal, cast

Means = Literal[
    "constraint", "decision", "question", "next_step", "nothing", "reported", "hedged", "no_question", "unsure"
]
Scope = Literal["clause", "sentence", "until_but", "message", "beside"]
Tongue = Literal["english", "chinese"]

_HEAD: Final = re.compile(r"(\w+)(?: (\w+))?: (.+)")
_HOLE: Final = re.compile(r"<(\w+)>")
_ARTICLE: Final = r"(?:(?:the|our|my|a|an|this|that|their|his|her|all|your) )?"
_DEEPEST: Final = 6
"""Words within words within words."""
_APOSTROPHE: Final = re.compile(
    r"(?<=n)'(?=t)|(?<=\bi)'(?=m\b|ll\b|ve\b)|(?<=let)'(?=s\b)|(?<=that|what)'(?=s\b)|(?<=\|)'(?=m\||m\)|ve\||ve\))"
    r"|(?<=\(\?:)'(?=m\||ve\||ve\))"
)
"""Apostrophes that people leave out on phones, where the word without one is no other word."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What a clause means in which ``pattern`` is found. The first rule of a table that fits is the one that counts.

    ``why`` is the reason in a line. ``scope`` says how far a ``nothing`` reaches: the clause, from here to the end of
    its sentence, there until a turn such as "but", or the whole message; ``beside`` is a weak rule, whose clause
    belongs to a statement right before it. ``reported`` is somebody else's word, which may still answer a question;
    what is ``hedged`` answers none.
    """

    means: Means
    pattern: re.Pattern[str]
    why: str
    scope: Scope = "clause"


@dataclass(frozen=True, slots=True)
class Table:
    """A language's rules, and the words around statements.

    ``before`` are judged before anything else, ``unasked`` and ``asked`` where a question may be, then ``rules``;
    ``labels`` on what stands before a colon. ``cues`` are patterns by name.
    """

    before: tuple[Rule, ...]
    unasked: tuple[Rule, ...]
    asked: tuple[Rule, ...]
    rules: tuple[Rule, ...]
    labels: tuple[Rule, ...]
    cues: Mapping[str, re.Pattern[str]]


def first(rules: tuple[Rule, ...], plain: str) -> Rule | None:
    """The first rule that fits, or None."""
    return next((rule for rule in rules if rule.pattern.search(plain)), None)


@cache
def read_table(tongue: Tongue) -> Table:
    """All rules of a language."""
    words = {name: f"(?:{pattern})" for name, _, _, pattern in _blocks(f"{tongue}_words")}
    questions = _rules(f"{tongue}_questions", words, tongue)
    kinds = ("open", "limits", "steps", "choices")
    return Table(
        before=_rules(f"{tongue}_first", words, tongue),
        unasked=tuple(rule for rule in questions if rule.means != "question"),
        asked=tuple(rule for rule in questions if rule.means == "question"),
        rules=tuple(rule for kind in kinds for rule in _rules(f"{tongue}_{kind}", words, tongue)),
        labels=_rules(f"{tongue}_labels", words, tongue),
        cues={name: _compiled(pattern, words, tongue) for name, _, _, pattern in _blocks(f"{tongue}_cues")},
    )


@cache
def read_patterns(table: str) -> Mapping[str, re.Pattern[str]]:
    """The patterns of a table that serves both languages, by name, in order."""
    return {name: re.compile(pattern.replace("<article>", _ARTICLE), re.I) for name, _, _, pattern in _blocks(table)}


@cache
def read_pairs(table: str, name: str) -> Mapping[str, str]:
    """Pairs of words such as ``revise=revision`` in a block of a table."""
    pairs = next(pattern for block, _, _, pattern in _blocks(table) if block == name)
    return dict(pair.split("=", 1) for pair in pairs.split("|"))


def _rules(table: str, words: Mapping[str, str], tongue: Tongue) -> tuple[Rule, ...]:
    return tuple(
        Rule(cast(Means, means), _compiled(pattern, words, tongue), why, cast(Scope, scope or "clause"))
        for means, scope, why, pattern in _blocks(table)
    )


def _blocks(table: str) -> Iterator[tuple[str, str | None, str, str]]:
    """Name, scope, reason and pattern of each rule in a table."""
    text = (files(__package__) / "tables" / f"{table}.rules").read_text(encoding="utf-8")
    for block in text.split("\n\n"):
        head, *lines = [line for line in block.splitlines() if line and not line.startswith("#")] or [""]
        if found := _HEAD.fullmatch(head):
            yield found[1], found[2], found[3], "|".join(line.lstrip(" ") for line in lines)


def _compiled(pattern: str, words: Mapping[str, str], tongue: Tongue) -> re.Pattern[str]:
    """A pattern with its words filled in. Only English is blind to case: it makes wide ranges dear to compile."""
    for _ in range(_DEEPEST):
        pattern = _HOLE.sub(lambda found: words[found[1]], pattern)
    return re.compile(_APOSTROPHE.sub("'?", pattern), re.I if tongue == "english" else re.NOFLAG)
