"""Whether what is told has the sense of the ledger: not its opposite, nor less than it demands, nor by another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .acts import acts, mentions
from .bounds import bound
from .case import Case, Fault, fault
from .claims import segment
from .cues import is_weak
from .items import Row, belongs
from .reading import Passage
from .values import same

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
    likeness = row.likeness(passage.roots)
    stated = any(same(told, value) for told in passage.values for value in row.values)
    if likeness < _LIKE and not (stated and likeness >= 0.25):
        return False
    return all(likeness + 0.1 >= other.likeness(passage.roots) or other is row for other in case.standing)


def _sense(case: Case, row: Row, passage: Passage) -> Iterator[Fault]:
    key = row.item.id
    if row.item.kind != "question" and _is_denied(row, passage):
        yield fault("negated", "told with the opposite sense", key)
    elif _is_unbound(case, row, passage):
        yield fault("negated", "a most is told as a least, or the other way round", key)
    elif row.item.kind == "constraint" and _is_weakened(row, passage):
        yield fault("negated", "what must hold is told as a choice", key)
    yield from _states(row, passage)
    if _is_swapped(row, passage):
        yield fault("unsupported", "told with the parties changed about", key)


def _is_denied(row: Row, passage: Passage) -> bool:
    """Whether the words that the row denies are told undenied, or the other way round."""
    weigh = row.weights
    negative = frozenset(root for p in row.reading.passages for root in p.denied)
    shared = row.reading.roots & passage.roots
    undenied = sum(weigh[root] for root in shared & negative - passage.denied)
    agreeing = sum(weigh[root] for root in shared & negative & passage.denied)
    if shared & negative:
        return undenied > agreeing
    overturned = sum(weigh[root] for root in shared & passage.denied)
    return overturned > (0.5 if negative else 0.34) * sum(weigh[root] for root in shared)


def _is_unbound(case: Case, row: Row, passage: Passage) -> bool:
    for told in passage.values:
        for own_passage in row.reading.passages:
            for own in own_passage.values:
                if same(told, own) and belongs(row, told, passage, case.standing):
                    ways = {bound(own_passage.text, own), bound(passage.text, told)}
                    if ways == {"most", "least"}:
                        return True
    return False


def _is_weakened(row: Row, passage: Passage) -> bool:
    if is_weak(row.reading.text):
        return False
    places = [word.start for word in passage.words if word.stem in row.weights]
    return any(is_weak(segment(passage.text, at)) for at in places)


def _states(row: Row, passage: Passage) -> Iterator[Fault]:
    own = [act for p in row.reading.passages for act in acts(p.text)]
    told = list(acts(passage.text))
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
    bare = {act for p in row.reading.passages for act, _ in acts("to " + p.text[:1].lower() + p.text[1:])}
    bare |= {
        act for p in row.reading.passages for word in p.words for act, _ in acts("to " + p.text[word.start :][:24])
    }
    told = dict(acts(passage.text))
    for act in bare:
        if told.get(act) == "done":
            yield fault("asserted", f"{act}: told as done, and it is still to be done", row.item.id)


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
    swapped = [name for name in own if name in told and {own[name], told[name]} == {"does", "gets"}]
    return len(swapped) > 1


def _parts(passages: tuple[Passage, ...], row: Row) -> dict[str, str]:
    found: dict[str, str] = {}
    for passage in passages:
        acting = False
        for name in passage.names:
            match = next((own for own in row.names if set(own.parts) & set(name.parts)), None)
            part = _part(passage.text[: name.start], acting)
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
    """An act told as done that is spoken of nowhere."""
    known = {
        act
        for reading in [case.source, *(row.reading for row in case.rows)]
        for p in reading.passages
        for act in _spoken(p)
    }
    for passage in case.bare.passages:
        for act, state in acts(passage.text):
            if state == "done" and act not in known | _GRANTED:
                yield fault("unsupported", f"{act}: nobody said that it is done")


def _spoken(passage: Passage) -> frozenset[str]:
    return frozenset(mentions(passage.text))
