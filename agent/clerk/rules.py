"""The form of the clerk's rules.

Owns how a rule is written down and found. Must never hold words of a language: those are in the languages' own tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Means = Literal["constraint", "decision", "question", "next_step", "nothing", "reported", "hedged", "no_question", "unsure"]
Scope = Literal["clause", "sentence", "until_but", "message", "beside"]

_HOLE: Final = re.compile(r"<(\w+)>")
_APOSTROPHE: Final = re.compile(r"(?<=n)'(?=t)|(?<=\bi)'(?=m\b|ll\b|ve\b)|(?<=let)'(?=s\b)|(?<=that|what)'(?=s\b)|(?<=\|)'(?=m\||m\)|ve\||ve\))|(?<=\(\?:)'(?=m\||ve\||ve\))")
"""Apostrophes that people leave out on phones, where the word without one is no other word."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What a clause means in which ``pattern`` is found. The first rule of a table that fits is the one that counts.

    ``why`` is the reason in a line. ``scope`` says how far a ``nothing`` reaches: the clause, from here to the end of
    its sentence, there until a turn such as "but" or 后来, or the whole message; ``beside`` is a weak rule, whose clause belongs to a statement right before it.
    ``reported`` is somebody else's word, which may still answer a question; what is ``hedged`` answers none.
    """

    means: Means
    pattern: re.Pattern[str]
    why: str
    scope: Scope = "clause"


@dataclass(frozen=True, slots=True)
class Table:
    """A language's rules, and the words around them.

    ``before`` are judged before anything else, ``unasked`` and ``asked`` where a question may be, then ``rules``;
    ``labels`` on what stands before a colon. ``retracts`` takes back what was said before, ``settles`` makes what
    stands beside it a decision, ``continues`` belongs to the clause before, ``leading`` and ``trailing`` are no part of
    a statement, ``reports`` before and ``sources`` after an answer tell whom it comes from, ``interrogative`` opens a question that may hold commas, ``opening`` is a cue that is left out of what is filed, ``bare`` begins a choice that
    leaves its topic to what follows, ``turns`` leads from what was to what is,
    ``contrasts`` says what was not chosen, beside what was.
    The severity of a constraint is read from ``critical``, ``uncritical`` (which negates it) and ``normal``.
    """

    before: tuple[Rule, ...]
    unasked: tuple[Rule, ...]
    asked: tuple[Rule, ...]
    rules: tuple[Rule, ...]
    labels: tuple[Rule, ...]
    retracts: re.Pattern[str]
    settles: re.Pattern[str]
    continues: re.Pattern[str]
    leading: re.Pattern[str]
    trailing: re.Pattern[str]
    critical: re.Pattern[str]
    uncritical: re.Pattern[str]
    normal: re.Pattern[str]
    reports: re.Pattern[str]
    interrogative: re.Pattern[str]
    sources: re.Pattern[str]
    opening: re.Pattern[str]
    bare: re.Pattern[str]
    turns: re.Pattern[str]
    contrasts: re.Pattern[str]


def table(means: Means, holes: dict[str, str], rows: Iterable[tuple[str, str] | tuple[str, str, Scope]]) -> list[Rule]:
    """Rules from rows of pattern, reason and scope; ``<name>`` in a pattern stands for the hole of that name."""
    return [Rule(means, compiled(row[0], holes), row[1], row[2] if len(row) == 3 else "clause") for row in rows]


def compiled(pattern: str, holes: dict[str, str] | None = None) -> re.Pattern[str]:
    """A pattern with its holes filled, blind to case, and to apostrophes that people leave out."""
    filled = _HOLE.sub(lambda found: (holes or {})[found[1]], pattern)
    return re.compile(_APOSTROPHE.sub("'?", filled), re.I)
