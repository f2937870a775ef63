"""The score of a resumption, and whether it may be shown.

Invariants, each with its test:
- F1 pure, and it raises for no text; a text past the bound is refused, not read.
- F2 the gate stands apart from the score: what loses a constraint is blocked, however much else it tells.
- F3 a row told in its own words is told: the template rendered from the ledger always passes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from .case import Case, Fault, fault
from .claims import invented
from .ledger import Blocked, Fidelity, Kind, LedgerItem, Passed, Severity
from .reading import SUMMARY_LIMIT, Passage
from .sense import turned
from .validity import outdated, unsettled
from .verbatim import HIDDEN
from .words import CJK, normalise

WEIGHT: Final[dict[Severity, float]] = {"critical": 5.0, "important": 3.0, "normal": 1.0}
LONGEST: Final = 100_000
"""Characters of a summary in all, most of which may be the ledger's own words."""
ITEMS, LETTERS = 1_000, 200_000
"""Rows that are checked, and their characters; a longer ledger has no summary."""
CLAIMS: Final = 250
"""Values and names that are checked, besides those in the ledger's own words."""
_PENALTY: Final = {"stale": 0.6, "leaked": 0.5, "asserted": 0.7, "negated": 0.6, "blurred": 0.85, "unfinished": 0.8}
_BROKEN: Final = re.compile(
    r"(?:[,;:(\[、，；–—-]|\b(?:a|an|the|of|to|for|with|and|or|but|by|in|on|at|from|that|which|is|are|was|will|must|not|as|than|if"
    r"|whether|because|his|her|their|its|no|dr|mr|ms)|[的在和与将把由被但而因])\s*$",
    re.IGNORECASE,
)
_PIECE: Final = re.compile(rf"[{CJK}]|[^\W{CJK}]+")


def score(summary: str, ledger: Sequence[LedgerItem], source: str = "", *, budget_words: int = 120) -> Fidelity:
    """How faithfully the summary tells the ledger, 0 to 100, and whether it may be shown.

    ``source`` is what it may draw on besides: conversation, documents, the task's name. Rows whose omission blocks are
    constraints, open questions and next steps of any severity, and whatever else is not ``normal``; a normal constraint
    may be counted instead ("and 3 more constraints").
    """
    if len(summary) > LONGEST or len(ledger) > ITEMS or sum(len(item.text) for item in ledger) > LETTERS:
        return _refused(fault("unfinished", "the summary or the ledger is too long to be checked"))
    if not summary.strip():
        return _refused(fault("unfinished", "there is no text"))
    case = Case(normalise(summary, LONGEST), tuple(ledger), source)
    if len(case.rest) > SUMMARY_LIMIT:
        return _refused(fault("unfinished", f"more than {SUMMARY_LIMIT} characters besides the ledger's own words"))
    if sum(len(passage.values) + len(passage.names) for passage in case.bare.passages) > CLAIMS:
        return _refused(fault("unfinished", f"more than {CLAIMS} values and names"))
    share = _share(case)
    faults = tuple(
        dict.fromkeys(
            [*_omitted(case), *unsettled(case), *outdated(case), *turned(case), *invented(case), *_broken(case)]
        )
    )
    blocking = tuple(it.finding for it in faults if it.blocks)
    points = 100 * share * _penalty(case, faults) * _brevity(case, budget_words)
    return Fidelity(
        round(points, 1),
        round(share, 4),
        tuple(it.finding for it in faults),
        Blocked(blocking) if blocking else Passed(),
    )


def _refused(only: Fault) -> Fidelity:
    return Fidelity(0.0, 0.0, (only.finding,), Blocked((only.finding,)))


def _share(case: Case) -> float:
    total = sum(WEIGHT[row.item.severity] for row in case.standing)
    told = sum(WEIGHT[row.item.severity] * case.tellings[row.item.id].share for row in case.standing)
    return told / total if total else 1.0


def must_be_told(item: LedgerItem) -> bool:
    """Whether a summary without the row is none."""
    return item.severity != "normal" or item.kind in ("constraint", "next_step") or item.status == "open"


def _omitted(case: Case) -> Iterator[Fault]:
    counted = _counted(case)
    for row in case.standing:
        telling = case.tellings[row.item.id]
        if telling.share >= 1 or (row.item.kind == "question" and telling.is_partial):
            continue
        missing = [row.reading.text[v.start : v.end] for v in telling.values] or [name.text for name in telling.names]
        detail = f"not told: {', '.join(missing)}" if missing and telling.share else "not told"
        is_counted = row.item.severity == "normal" and row.item.kind in counted
        yield fault("omitted", detail, row.item.id, blocks=must_be_told(row.item) and not is_counted)


_MORE: Final = re.compile(r"\b(\d{1,6}) more (constraint|decision)|另有 ?(\d{1,6}) ?[条项](约束|决定)")
_KINDS: Final[dict[str, Kind]] = {
    "constraint": "constraint",
    "decision": "decision",
    "约束": "constraint",
    "决定": "decision",
}


def _counted(case: Case) -> frozenset[Kind]:
    """The kinds of which the summary tells how many more there are, and does not tell too few."""
    untold = Counter(row.item.kind for row in case.standing if case.tellings[row.item.id].share < 1)
    told = [(_KINDS[match[2] or match[4]], int(match[1] or match[3])) for match in _MORE.finditer(case.rest)]
    return frozenset(kind for kind, number in told if untold[kind] <= number)


def _broken(case: Case) -> Iterator[Fault]:
    passages = case.bare.passages
    if not passages:
        yield fault("unfinished", "there are no words")
    elif _BROKEN.search(case.bare.text.rstrip()[-40:]) or _ends_short(passages):
        yield fault("unfinished", "the text breaks off")


def _ends_short(passages: Sequence[Passage]) -> bool:
    """Whether the last sentence alone has no full stop, in a text that is no list."""
    *before, last = [passage.sentence.closed or passage.text.rstrip('"»」⟧').endswith(HIDDEN) for passage in passages]
    return bool(before) and all(before) and not last


def _penalty(case: Case, faults: Sequence[Fault]) -> float:
    points = 1.0
    unsupported = 0
    for it in faults:
        if it.finding.code == "unsupported":
            unsupported += 1
        else:
            points *= _PENALTY.get(it.finding.code, 1.0)
    share = min(unsupported / max(len(case.bare.passages), 1), 1.0)
    return points * (0.5 + 0.5 * (1 - share))


def _brevity(case: Case, budget: int) -> float:
    """1 within the budget, falling to 0.9 at twice that. Two Chinese characters count as a word."""
    pieces = _PIECE.findall(case.text)
    words = sum(0.5 if len(piece) == 1 and not piece.isascii() else 1.0 for piece in pieces)
    return 0.9 + 0.1 * max(0.0, min(1.0, 2 - words / max(budget, 1)))
