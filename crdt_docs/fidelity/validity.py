"""What is told as holding and does not, as settled and is open, as open and is settled; and what must not be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .acts import finished
from .case import Case, Fault, fault
from .cues import cancels, is_open, is_past, is_undecided, settles
from .items import Row
from .overlap import recall
from .reading import Passage
from .values import same
from .verbatim import HIDDEN

_OWN: Final = 0.6
"""The share of the words that only a lapsed row has, which tells that row."""
_ALL, _OTHERS = 0.9, 0.75
"""The share of a row's words that is as good as all, and what no other row may come to beside it."""
_LIKE: Final = 0.45
"""The share of a question's words that makes a passage one about it."""


def outdated(case: Case) -> Iterator[Fault]:
    """Superseded decisions, retired constraints and forgotten facts, by the words that only they have."""
    for row in case.forgotten:
        if any(_tells(case, row, passage) for passage in case.bare.passages):
            yield fault("leaked", "what was to be forgotten is told", row.item.id)
    for passage in case.bare.passages:
        if HIDDEN in passage.text and cancels(passage.sentence.label):
            yield fault("negated", f"told as holding no longer, under “{passage.sentence.label[:40]}”")
    for row in case.lapsed:
        values = [value for value in row.values if not any(other.has(value) for other in case.standing)]
        for passage in case.bare.passages:
            stated = not values or any(same(told, value) for told in passage.values for value in values)
            if stated and _tells(case, row, passage) and not _is_over(case, row, passage):
                yield fault("stale", "told as holding, and it does not", row.item.id)
                break


def _own_words(case: Case, row: Row) -> dict[str, float]:
    shared = frozenset(root for other in case.standing for root in other.reading.roots)
    return {root: weight for root, weight in row.weights.items() if root not in shared}


def _tells(case: Case, row: Row, passage: Passage) -> bool:
    """Whether the passage has the words that only the row has; or all of its words, and of no other row as many."""
    own, likeness = _own_words(case, row), row.likeness(passage)
    if own and recall(own, passage.roots, passage.families) >= _OWN and likeness >= _LIKE:
        return len(own) > 1 or len(row.weights) < 3 or likeness >= _OWN
    return likeness >= _ALL and all(other.likeness(passage) < _OTHERS for other in case.standing)


def _is_over(case: Case, row: Row, passage: Passage) -> bool:
    """Whether the passage says that it held once, or of a step that it is done."""
    if row.item.kind == "next_step" and ("done" in dict(passage.acts).values() or any(finished(passage.text))):
        return True
    return _all_past(row, passage, _own_words(case, row) or dict(row.weights))


def _all_past(row: Row, passage: Passage, own: dict[str, float]) -> bool:
    if is_past(passage.sentence.label, 0, 0):
        return True
    words = [word for word in passage.words if word.stem in own]
    return any(is_past(passage.text, word.start, word.start + 1, row.reading.text) for word in words)


def unsettled(case: Case) -> Iterator[Fault]:
    """Open questions told as answered, and without their point; settled matters told as open."""
    for row in case.standing:
        if row.item.kind == "question" and row.item.status == "open":
            yield from _question(case, row)
        elif row.item.kind in ("decision", "constraint", "fact") or row.item.status == "answered":
            yield from _settled(case, row)


def _question(case: Case, row: Row) -> Iterator[Fault]:
    for passage in case.bare.passages:
        if _is_about(case, row, passage) and _asserts(row, passage):
            yield fault("asserted", "an open question is told as settled", row.item.id)
            return
    telling = case.tellings[row.item.id]
    if telling.is_partial:
        missing = [*(value.amount for value in telling.values), *(name.text for name in telling.names)]
        yield fault(
            "blurred",
            "the question is told without its point: " + (", ".join(filter(None, missing)) or "its words"),
            row.item.id,
        )


def _is_about(case: Case, row: Row, passage: Passage) -> bool:
    """Whether the passage is about the row, and more than about any other; its values count as words do."""
    if row.likeness(passage) < _LIKE and not (row.values and _states(row, passage) and row.likeness(passage) > 0.15):
        return False
    rank = _rank(row, passage)
    return all(rank >= _rank(other, passage) for other in case.standing if other is not row)


def _rank(row: Row, passage: Passage) -> float:
    return row.likeness(passage) + (0.3 if row.values and _states(row, passage) else 0.0)


def _states(row: Row, passage: Passage) -> bool:
    return any(same(told, value) for told in passage.values for value in row.values)


def _asserts(row: Row, passage: Passage) -> bool:
    if not is_open(passage.ruled):
        return True
    if is_open(passage.sentence.label):
        return False
    part = _fullest(row, passage)
    return not is_open(part) and settles(part) and _is_clause(row, part, passage)


def _is_clause(row: Row, part: str, passage: Passage) -> bool:
    """Whether the segment says most of what the passage says of the row, and so stands alone."""
    at = passage.text.find(part)
    inside = {word.stem for word in passage.words if at <= word.start < at + len(part)}
    return recall(row.weights, inside) >= _LIKE


def _fullest(row: Row, passage: Passage) -> str:
    """The segment of the passage that holds most of the row."""
    weights: dict[str, float] = {}
    for word in passage.words:
        part = passage.segment(word.start)
        weights[part] = weights.get(part, 0.0) + row.weights.get(word.stem, 0.0)
    return max(weights, key=lambda part: weights[part], default=passage.text)


def _settled(case: Case, row: Row) -> Iterator[Fault]:
    answered = row.item.status == "answered"
    if not answered and is_open(row.reading.text):
        return
    for passage in case.bare.passages:
        if not _is_about(case, row, passage):
            continue
        part = _fullest(row, passage)
        opened = (
            is_open(part)
            or is_open(passage.sentence.label)
            or (passage.text.endswith("?") and part in passage.text[-len(part) - 2 :])
        )
        near = [other for other in case.standing if other.item.status == "open" and _is_near(other, row, passage)]
        if not near and (opened or is_undecided(passage.text)):
            yield fault("stale" if answered else "blurred", "a settled matter is told as open", row.item.id)
            return


def _is_near(question: Row, row: Row, passage: Passage) -> bool:
    """Whether the passage may as well be about the question."""
    return _states(question, passage) or recall(question.matter, passage.roots, passage.families) >= 0.6 * recall(
        row.matter, passage.roots, passage.families
    )
