"""Whether what is told has the sense of the ledger: not its opposite, nor less than it demands, nor by another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from .acts import finished, mentions
from .bounds import bound
from .case import Case, Fault, fault
from .cues import cancels, denies, is_weak
from .items import FRAMED, FRAMING_ROOTS, MOST, Row, belongs
from .names import Name
from .reading import Passage
from .values import Value, same
from .words import is_cjk

_LIKE: Final = 0.5
_GRANTED: Final = frozenset({"agree", "confirm", "accept", "complete"})
"""Acts that deciding something may be called."""


def turned(case: Case) -> Iterator[Fault]:
    """Every row that is told in another sense."""
    for row in case.standing:
        for passage in case.bare.passages:
            if _tells(case, row, passage):
                yield from _sense(case, row, passage)
    yield from _acts_without_ground(case)


def _tells(case: Case, row: Row, passage: Passage) -> bool:
    likeness = row.likeness(passage)
    stated = any(same(told, value) for told in passage.values for value in row.values)
    if likeness < _LIKE * (0.7 if is_cjk(passage.text) else 1) and not (stated and likeness >= 0.25):
        return False
    return all(likeness + 0.1 >= other.likeness(passage) or other is row for other in case.standing)


def _sense(case: Case, row: Row, passage: Passage) -> Iterator[Fault]:
    key = row.item.id
    if row.item.kind != "question" and (_is_denied(row, passage) or _is_opposite(case, row, passage)):
        yield fault("negated", "told with the opposite sense", key)
    elif _is_unbound(case, row, passage):
        yield fault("negated", "a most is told as a least, or the other way round", key)
    elif row.item.kind == "constraint" and _is_weakened(case, row, passage):
        yield fault("negated", "what must hold is told as a choice", key)
    yield from _states(row, passage)
    if _is_swapped(row, passage) or _is_crossed(row, passage):
        yield fault("unsupported", "told with its parties or values changed about", key)


def _is_denied(row: Row, passage: Passage) -> bool:
    """Whether nothing of what the row denies is told denied, or much is told denied that the row does not deny."""
    shared = row.reading.roots & passage.roots
    negative = [frozenset(group) for own in row.reading.passages for group in _denials(own)]
    if any(group & shared and not group & shared & passage.denied for group in negative):
        return True
    if any(group & shared for group in negative):
        return False
    if denies(row.reading.text):
        return False
    overturned = sum(_weight(row, root) for root in shared & passage.denied)
    return overturned > 0.3 * sum(_weight(row, root) for root in shared)


def _weight(row: Row, root: str) -> float:
    """What a word weighs for the sense: verbs of which resumptions are built are verbs all the same."""
    return row.weights[root] / (FRAMED if root in FRAMING_ROOTS else 1)


def _denials(passage: Passage) -> list[set[str]]:
    """The words under each denial, and each that stands denied by itself."""
    under = [
        {word.stem for word in passage.words if start <= word.start < end} & passage.denied
        for start, end in passage.denials
    ]
    return [*under, *({root} for root in passage.denied if not any(root in group for group in under))]


def _is_opposite(case: Case, row: Row, passage: Passage) -> bool:
    """Whether it takes the other side, denies the row's value, or has before what comes after."""
    if cancels(passage.sentence.label) and not cancels(row.reading.text):
        return True
    own: dict[str, set[bool]] = {}
    for one in row.reading.passages:
        for axis, sides in one.stances.items():
            own.setdefault(axis, set()).update(sides)
    told = passage.stances
    if any(sides and own[axis] and not sides & own[axis] for axis, sides in told.items() if axis in own):
        return True
    for value in passage.values:
        if passage.denies(value.start) and row.has(value) and belongs(row, value, passage, case.standing):
            held = [(p, v) for p in row.reading.passages for v in p.values if same(v, value)]
            if not any(p.denies(v.start) for p, v in held):
                return True
    return any(_is_reversed(p, passage) for p in row.reading.passages)


_ORDERS: Final = re.compile(r"\b(?:before|after)\b", re.IGNORECASE)


def _is_reversed(own: Passage, told: Passage) -> bool:
    """Whether of two things the first is told to come after the second."""
    order, other = _ORDERS.search(own.text), _ORDERS.search(told.text)
    if order is None or other is None:
        return False
    first, second = _sides(own, order), _sides(told, other)
    straight = len(first[0] & second[0]) + len(first[1] & second[1])
    crossed = len(first[0] & second[1]) + len(first[1] & second[0])
    alike = order.group().lower() == other.group().lower()
    return crossed > straight if alike else straight > crossed


def _sides(passage: Passage, order: re.Match[str]) -> tuple[set[str], set[str]]:
    """The words before a "before", and those after it; if it begins the sentence, what follows its clause is before."""
    comma = passage.text.find(",", order.end())
    end = comma if order.start() < 6 and comma > 0 else len(passage.text)
    after = {word.stem for word in passage.words if order.end() <= word.start < end}
    return {word.stem for word in passage.words} - after, after


def _is_unbound(case: Case, row: Row, passage: Passage) -> bool:
    for told in passage.values:
        for own_passage in row.reading.passages:
            for own in own_passage.values[:MOST]:
                if same(told, own) and belongs(row, told, passage, case.standing):
                    ways = {
                        bound(own_passage.text, own_passage.segments, own),
                        bound(passage.text, passage.segments, told),
                    }
                    if ways == {"most", "least"}:
                        return True
    return False


def _is_weakened(case: Case, row: Row, passage: Passage) -> bool:
    if is_weak(row.reading.text) or not is_weak(passage.text):
        return False
    if all(other is row or other.likeness(passage) < 0.3 for other in case.standing):
        return any(is_weak(passage.text[start:end]) for start, end in passage.segments)
    places = [word.start for word in passage.words if word.stem in row.weights]
    return any(is_weak(passage.segment(at)) for at in places)


def _states(row: Row, passage: Passage) -> Iterator[Fault]:
    own = [act for p in row.reading.passages for act in p.acts]
    told = passage.acts
    for act, state in dict.fromkeys(own):
        others = {how for what, how in told if what == act}
        if len(others) != 1 or state in others or ({how for what, how in own if what == act} != {state}):
            continue
        if state == "done":
            yield fault("negated", f"{act}: told as still to be done, and it is done", row.item.id)
        elif row.item.kind in ("next_step", "question", "constraint"):
            yield fault("asserted", f"{act}: told as done, and it is still to be done", row.item.id)
    if row.item.kind == "next_step" and not own:
        yield from _already(row, passage)


def _already(row: Row, passage: Passage) -> Iterator[Fault]:
    """A next step whose act is given in the bare form: it is to be done, whoever tells it as done."""
    done = {act for act, state in passage.acts if state == "done"}
    for act in done & mentions(row.reading.text):
        yield fault("asserted", f"{act}: told as done, and it is still to be done", row.item.id)
    for act, surface in finished(passage.text):
        named = any(surface in own.text for own in row.names)
        if (
            act in row.reading.roots
            and not named
            and (not surface.isascii() or surface not in row.reading.text.lower())
        ):
            yield fault("asserted", f"“{surface}”: told as done, and it is still to be done", row.item.id)


_ROLE_TO: Final = re.compile(r"(?:\b(?:to|for)\s|[给向致]|交给|发给|寄给)$", re.IGNORECASE)
_ROLE_BY: Final = re.compile(r"(?:\bby\s|由)$", re.IGNORECASE)
_ROLE_OTHER: Final = re.compile(r"\b(?:with|from|of|at|about|on|via|in)\s$|[与和跟同从]$", re.IGNORECASE)
_CLAUSE: Final = re.compile(
    r"(?:^|[,;:.!?。(\-–—>\"'、]|\b(?:and|that|because|when|while|next|then|if|whether|is|for)|由|请|让|应由)\s*$",
    re.IGNORECASE,
)


def _is_swapped(row: Row, passage: Passage) -> bool:
    """Whether who does it and whom it is done to are the other way round, or one and the same."""
    own = _parts(row.reading.passages, row)
    told = _parts((passage,), row)
    moves = {(own[name], told[name]) for name in own if name in told}
    return {("does", "gets"), ("gets", "does")} <= moves


def _is_crossed(row: Row, passage: Passage) -> bool:
    """Whether of two values of the row each is told nearer to the word that the other one stands by."""
    for own in row.reading.passages:
        for a, b in combinations(own.values[:MOST], 2):
            by_a, by_b = _beside(own, a), _beside(own, b)
            told_a = next((v for v in passage.values if same(v, a)), None)
            told_b = next((v for v in passage.values if same(v, b)), None)
            if a.kind != b.kind or same(a, b) or by_a == by_b or told_a is None or told_b is None:
                continue
            nearer = [_distance(passage, told_b, by_a) - _distance(passage, told_a, by_a)]
            nearer.append(_distance(passage, told_a, by_b) - _distance(passage, told_b, by_b))
            if max(nearer) < 0:
                return True
    return False


def _beside(passage: Passage, value: Value) -> str:
    """The word that stands last before a value; of the first words the next one after it."""
    before = [word.stem for word in passage.words if word.start < value.start]
    after = [word.stem for word in passage.words if word.start > value.start]
    return (before[-1:] or after[:1] or [""])[0]


def _distance(passage: Passage, value: Value, stem: str) -> int:
    return min((abs(word.start - value.start) for word in passage.words if word.stem == stem), default=0)


def _parts(passages: tuple[Passage, ...], row: Row) -> dict[str, str]:
    found: dict[str, str] = {}
    for passage in passages:
        acting, last = False, ""
        for name in passage.names:
            match = next((own for own in row.names if set(own.parts) & set(name.parts)), None)
            before = passage.text[: name.start]
            part = (
                last
                if last and re.search(r"(?:\band|,|&|[和与、及])\s?$", before) and _adjoins(passage, name)
                else _part(before, acting)
            )
            last = part
            acting = acting or part == "does"
            if match is not None and part:
                found[match.text] = part if found.get(match.text, part) == part else ""
    return found


def _part(before: str, acting: bool) -> str:
    near = before[-24:]
    if _ROLE_TO.search(near):
        return "gets"
    if _ROLE_BY.search(near):
        return "does"
    if _ROLE_OTHER.search(near):
        return ""
    return "does" if _CLAUSE.search(near) and not acting else "gets"


def _acts_without_ground(case: Case) -> Iterator[Fault]:
    """An act told as done that is spoken of nowhere, or in a sentence that half of is spoken of nowhere."""
    known = {act for row in case.rows for act in mentions(row.reading.text)}
    for passage in case.bare.passages:
        for act, state in passage.acts:
            strange = passage.roots - case.known_roots
            if (
                state == "done"
                and act not in _GRANTED
                and (act not in known | case.source.acts or len(strange) * 2 >= len(passage.roots))
            ):
                yield fault("unsupported", f"{act}: nobody said that it is done")


def _adjoins(passage: Passage, name: Name) -> bool:
    """Whether another name stands right before the "and" before this one."""
    return any(0 < name.start - other.end <= 6 for other in passage.names if other is not name)
