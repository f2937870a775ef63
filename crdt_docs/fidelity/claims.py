"""What the summary claims that nobody said, or that was said of something else: values, names, parties, sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .case import Case, Fault, fault
from .cues import is_past
from .items import FRAMING_ROOTS, Row, belongs
from .lexicon import COMMON
from .names import Name, alike, roles
from .reading import Passage
from .values import Value
from .verbatim import HIDDEN
from .words import is_cjk

_COUNTED: Final = re.compile(
    r"\s?(?:\w+ ){0,2}?(?:(?:open |unresolved )?questions?|decisions?|constraints?|rules?|items?|points?|things?"
    r"|steps?|matters?|issues?"
    r"|outputs?|results?)\b|\s?[个项条件]?(?:未决|待定|开放|尚未解决的|待解决的)?(?:问题|决定|约束|事项|要求|步骤"
    r"|限制|决策)",
    re.IGNORECASE,
)
_KNOWN_SHARE: Final = 0.34
"""The share of a sentence's words that must have been said by somebody."""


def invented(case: Case) -> Iterator[Fault]:
    """Every claim without support."""
    for passage in case.bare.passages:
        for value in passage.values:
            if not value.faint:
                yield from _value(case, passage, value)
        for name in passage.names:
            yield from _name(case, passage, name)
        yield from _parties(case, passage)
        yield from _sentence(case, passage)


def _value(case: Case, passage: Passage, value: Value) -> Iterator[Fault]:
    said = passage.text[value.start : value.end]
    if _counts(case, passage, value) or _phrase(passage, value) in case.source.lower:
        return
    holders = [row for row in case.rows if row.has(value)]
    standing = [row for row in holders if row in case.standing]
    lapsed = [row for row in holders if row in case.lapsed]
    if not holders:
        if not _in_source(case, passage, value):
            yield fault("unsupported", f"“{said}” was never said")
        yield from _elsewhere(case, passage, value)
        return
    own = max((row.affinity(passage, value) for row in standing), default=-1.0)
    old = max(lapsed, key=lambda row: row.affinity(passage, value), default=None)
    if old is not None and old.affinity(passage, value) > 1.2 * own and not _quoted_source(case, passage):
        if not is_past(passage.text, value.start, value.end):
            yield fault("stale", f"“{said}” holds no longer", old.item.id)
    elif own == 0 and _is_strange(case, passage):
        yield fault("unsupported", f"“{said}” is said of what nobody spoke of")
    elif not standing and not lapsed:
        yield fault("leaked", "a value that was to be forgotten is told", holders[0].item.id)
    elif standing and not any(belongs(row, value, passage, case.standing) for row in standing):
        rival = _rival(case, passage, value)
        if rival is not None and not _quoted_source(case, passage):
            yield fault("unsupported", f"“{said}” is said of something else", rival.item.id)


def _phrase(passage: Passage, value: Value) -> str:
    """The value with the word before it, in lower case: "season two" is a name as much as a value."""
    before = passage.text[: value.start].rstrip().rpartition(" ")[2]
    return f"{before} {passage.text[value.start : value.end]}".lower() if before else "\0"


def _is_strange(case: Case, passage: Passage) -> bool:
    """Whether hardly a word of the passage is anybody's."""
    matter = [root for root in passage.roots if root not in FRAMING_ROOTS]
    strange = [root for root in matter if root not in case.known_roots]
    return len(matter) >= 2 and len(strange) * 2 > len(matter)


def _rival(case: Case, passage: Passage, value: Value) -> Row | None:
    rivals = [row for row in case.standing if row.wants(value)]
    best = max(rivals, key=lambda row: row.affinity(passage, value), default=None)
    return best if best is not None and best.affinity(passage, value) > 0 else None


def _elsewhere(case: Case, passage: Passage, value: Value) -> Iterator[Fault]:
    """A value that only the source has, told where a row states another."""
    rival = _rival(case, passage, value)
    if rival is None or rival.likeness(passage) < 0.4 or is_past(passage.text, value.start, value.end):
        return
    if not any(rival.has(told) for told in passage.values):
        said = passage.text[value.start : value.end]
        yield fault("unsupported", f"“{said}” is not what the ledger states", rival.item.id)


def _counts(case: Case, passage: Passage, value: Value) -> bool:
    """Whether it counts the ledger's rows: "two questions are open"."""
    if value.kind != "number" or not value.amount.isdigit():
        return False
    counted = _COUNTED.match(passage.text, value.end) or _COUNTED.match(passage.text, value.end - 1)
    return counted is not None and int(value.amount) <= len(case.standing)


def _in_source(case: Case, passage: Passage, value: Value) -> bool:
    return case.source.states(value, passage.roots)


def _quoted_source(case: Case, passage: Passage) -> bool:
    return len(passage.text) > 12 and passage.text.strip(" .。") in case.source.text


def _name(case: Case, passage: Passage, name: Name) -> Iterator[Fault]:
    unknown = [part for part in name.parts if not _known(case, part)]
    if name.head and len(name.parts) > 1:
        unknown = [part for part in unknown if part != name.parts[0]]
    said = passage.text[name.start : name.end]
    forgotten = [row for row in case.forgotten if any(alike(name, own) for own in row.reading.names)]
    held = any(alike(name, own) for row in [*case.standing, *case.lapsed] for own in row.reading.names)
    if forgotten and not held and (unknown or forgotten[0].likeness(passage) >= 0.3):
        yield fault("leaked", "a name that was to be forgotten is told", forgotten[0].item.id)
    elif unknown:
        yield fault("unsupported", f"“{said}” was never named")
    elif len(name.parts) > 1 and _patched(case, name):
        yield fault("unsupported", f"“{said}” is put together from two names")
    else:
        yield from _misnamed(case, passage, name)


def _known(case: Case, part: str) -> bool:
    if case.knows(part) or part in COMMON:
        return True
    return (is_cjk(part) or not part.isalpha()) and case.says(part)


def _patched(case: Case, name: Name) -> bool:
    """Whether it joins parts of names that are never joined where they come from."""
    if case.says(name.text):
        return False
    held = [own for row in case.rows for own in row.reading.names]
    if any(alike(name, own) for own in held if len(own.parts) > 1):
        return False
    return any(set(name.parts) & set(own.parts) for own in held if len(own.parts) > 1) or case.source.joins(name)


def _misnamed(case: Case, passage: Passage, name: Name) -> Iterator[Fault]:
    """A name where the row that the passage tells has another in its place."""
    row = case.row_of(passage)
    if row is None or not row.names or row.names_one(name) or row.likeness(passage) < 0.5:
        return
    if any(row.names_one(other) for other in passage.names):
        return
    others = [other for other in case.standing if other.names_one(name) and other.likeness(passage) >= 0.5]
    if not others and not any(own.text in passage.text.lower() for own in row.names):
        said = passage.text[name.start : name.end]
        yield fault("unsupported", f"“{said}” stands where the ledger names {row.names[0].text}", row.item.id)


def _parties(case: Case, passage: Passage) -> Iterator[Fault]:
    told = roles(passage.text)
    known = {kind for kind, _ in roles(case.ledger_text)} if told else set()
    for kind, word in told:
        if kind not in known and not case.says(word) and kind not in {one for one, _ in roles(case.source.lower)}:
            yield fault("unsupported", f"“{word}” has no part in this")


def _sentence(case: Case, passage: Passage) -> Iterator[Fault]:
    """A sentence most of whose words nobody has said. It weighs, and blocks nothing by itself."""
    if HIDDEN in passage.text:
        return
    matter = [root for root in passage.roots if root not in FRAMING_ROOTS]
    families = {root[:5] for root in case.known_roots if len(root) >= 5}
    known = [root for root in matter if root in case.known_roots or (len(root) >= 5 and root[:5] in families)]
    if len(matter) >= (6 if is_cjk(passage.text) else 3) and len(known) / len(matter) < _KNOWN_SHARE:
        yield fault("unsupported", f"nobody said “{passage.text[:60]}”", blocks=False)
