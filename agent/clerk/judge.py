"""The clerk's judgement of clauses: rules say what they see, learned weights say how far that is to be trusted.

Owns the second opinion on what the rules took a message for, and its limits: what is quoted, taken back, denied or said
in jest is never a statement, whatever the weights say. Must never learn while it is used: one message, one judgement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agent.clerk.features import looks, opinions, owners
from agent.clerk.parts import LONGEST, Heard, Part, table_of
from agent.clerk.sentences import BLANK, is_chinese
from agent.clerk.weights import TAGS, Tag, chances, in_steps, read_weights

MOST: Final = 100
"""Clauses of a message that are judged by weights; people type fewer. For what comes after them the rules speak."""
_LEANS: Final = (0.0, 0.0, 0.0, 0.0, 0.2, 0.6)
"""What is added to the logarithm of each tag's chance."""
_UNSURE: Final = 0.75
"""Where nothing is less likely than this, what isn't filed is handed back."""
_SURE: Final = 0.99
"""Where it is more likely than this, the rules need not be sure."""
_GUARDED: Final = {"jest", "retracts", "denies"}
_BEYOND_DOUBT: Final = 0.8
"""How likely it must be that what the rules take for a report or an opinion is the writer's own statement."""
_SUPPOSED: Final = "a condition or a supposition"
"""The rule of that name is beyond doubt in English; in Chinese it also fits what only names a topic (…的话)."""
_TERSE: Final = 30
"""Characters of what a label is given as: "budget: 12k"."""


def judge(text: str, parts: Sequence[Part], heard: Sequence[Heard], asked: Sequence[frozenset[str]]) -> list[Part]:
    """The clauses of a message for what they are; ``asked`` are the terms of the questions that are open."""
    if not parts:
        return []
    read = heard[:MOST]
    verdicts = _verdicts(text, parts, read, asked)
    found: list[Part] = []
    before: Heard | None = None
    for one, verdict, old in zip(read, verdicts, owners(parts, read), strict=True):
        joins = before is not None and found[-1].means in TAGS[2:] and before.clause.sentence == one.clause.sentence
        barred = _is_guarded(one) or _is_reserved(one, verdict)
        tag: Tag = "nothing" if barred else _named(one) or _tag(verdict, joins=joins)
        if tag == "more":
            last = found[-1].clause
            between = text[last.end : one.clause.start]
            found[-1].clause = replace(
                last, text=text[last.start : one.clause.end], plain=last.plain + between + one.clause.plain
            )
        else:
            found.append(_part(one, tag, verdict, old))
        before = one
    last_end = read[-1].clause.end
    return found + [part for part in parts if part.clause.start >= last_end]


def _verdicts(
    text: str, parts: Sequence[Part], heard: Sequence[Heard], asked: Sequence[frozenset[str]]
) -> list[list[float]]:
    """The chances of each tag for each clause: by its looks, then by the rules and that."""
    seen = [chances(read_weights("looks"), looks(heard, index, text, asked)) for index in range(len(heard))]
    said, weights = opinions(heard, parts), read_weights("verdicts")
    return [chances(weights, [*said[index], *in_steps(seen, index)]) for index in range(len(heard))]


def _tag(verdict: Sequence[float], *, joins: bool) -> Tag:
    """The likeliest tag. What looks like more of a statement, where there is none before it, is one of its own."""
    leaning = [math.log(max(chance, 1e-9)) + lean for chance, lean in zip(verdict, _LEANS, strict=True)]
    best = leaning.index(max(leaning))
    if TAGS[best] != "more" or joins:
        return TAGS[best]
    return TAGS[leaning.index(max(leaning[2:]), 2)]


def _is_guarded(heard: Heard) -> bool:
    """What is quoted, supposed, denied, taken back or said in jest is no statement."""
    plain, rule = heard.clause.plain, heard.rule
    supposed = rule is not None and rule.why == _SUPPOSED and not is_chinese(plain)
    return heard.state in _GUARDED or supposed or len(plain) > LONGEST or 2 * plain.count(BLANK) > len(plain)


def _is_reserved(heard: Heard, verdict: Sequence[float]) -> bool:
    """Whether a clause is reported or said with reserve, and not beyond doubt stated all the same."""
    reserved = heard.state == "told" or (heard.rule is not None and heard.rule.means == "hedged")
    return reserved and max(verdict[2:]) < _BEYOND_DOUBT


def _named(heard: Heard) -> Tag | None:
    """What a terse clause is by the topic that stands before its colon, where no rule knows better."""
    clause = heard.clause
    if heard.rule or heard.state or clause.asked or not clause.label or len(clause.plain) > _TERSE:
        return None
    cues = table_of(clause.label).cues
    if cues["limits"].fullmatch(clause.label):
        return "constraint"
    return "decision" if cues["topics"].fullmatch(clause.label) else None


def _part(heard: Heard, tag: Tag, verdict: Sequence[float], old: Part | None) -> Part:
    """A clause as a part, with what the rules know of it besides."""
    is_open = old.open if old else False
    if tag in ("constraint", "decision", "question", "next_step"):
        weak = old is not None and old.means == tag and old.weak
        return Part(heard.clause, tag, open=is_open or tag != "question", weak=weak)
    told = old is not None and old.means not in {"nothing", "reported"}
    doubtful = told if _is_guarded(heard) else verdict[0] < (_SURE if told else _UNSURE)
    return Part(heard.clause, "unsure" if doubtful else "nothing", open=is_open)
