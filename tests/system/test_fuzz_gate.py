"""What the gate admits, both engines integrate alike: mutants of honest updates, and closed ones that link oddly.

The first updates of a document are honest; then hostile ones come among them. Whatever was admitted is one document in
pycrdt, in yjs, and in our own merge and trim of it; and no engine has anything left pending.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from random import Random
from typing import Any

import pytest
from kit import pycrdt_edits
from kit.mutated_updates import mutant
from kit.native_reader import NativeReader, deletions, plain
from kit.odd_updates import OddAuthor
from kit.yjs_oracle import YjsOracle

from crdt_docs.errors import Malformed
from crdt_docs.updates.parse import ARRAY_TYPE, FRAGMENT_TYPE, MAP_TYPE, TEXT_TYPE, parse
from crdt_docs.updates.splice import Spliced
from crdt_docs.updates.trim import trim
from server.domain.access import PrincipalKey
from server.rooms.gate import Gate
from server.rooms.verdict import Admit, Kind, Refuse, Shape

pytestmark = pytest.mark.node

KINDS = {"body": "text", "list": "array", "items": "map", "prose": "xml"}
SHAPE = Shape(
    {"body": TEXT_TYPE, "list": ARRAY_TYPE, "items": MAP_TYPE, "prose": FRAGMENT_TYPE},
    frozenset({"paragraph", "heading"}),
    frozenset({"bold", "link"}),
)
SOMEBODY = PrincipalKey("user:somebody")
PLAIN: dict[str, Any] = {"cleanup": False}
"""Yjs tidies formats after a remote transaction, so that what is deleted depends on how updates were batched."""
PORTION = 20


@dataclass
class Document:
    """One document's gate, and the log of what it admitted."""

    seed: int
    gate: Gate = field(default_factory=lambda: Gate(SHAPE))
    log: list[bytes] = field(default_factory=list)
    merged: Spliced = field(default_factory=Spliced)
    verdicts: Counter[str] = field(default_factory=Counter)
    told_no_order: bool = False

    def say(self, update: bytes, kind: Kind, how: str) -> None:
        """Offer one update to the gate."""
        try:
            parsed = parse(update)
        except Malformed:
            self.verdicts[f"{how} unread"] += 1
            return
        verdict = self.gate.admit(parsed, SOMEBODY, kind)
        if isinstance(verdict, Admit) and verdict.update:
            self.gate.apply(verdict)
            self.log.append(verdict.update)
            self.merged.add(parse(verdict.update))
            self.verdicts[f"{how} admitted"] += 1
            structs = (one for section in verdict.parsed.sections for one in section.structs)
            self.told_no_order |= how != "honest" and any(one.origin or one.right_origin for one in structs)
        else:
            self.verdicts[f"{how} refused" if isinstance(verdict, Refuse) else f"{how} no use"] += 1


def honest(seed: int) -> list[bytes]:
    """A log by pycrdt without a character that takes two units: where such a pair was cut, yrs and yjs part."""
    log = pycrdt_edits.generate(seed, clients=1 + seed % 3, steps=30)
    return [update.replace("😀".encode(), "éé".encode()) for update in log]


def play(seed: int) -> Document:
    """One document, its honest and its hostile authors."""
    r = Random(seed)
    document = Document(seed)
    author = OddAuthor(r, list(KINDS))
    log = honest(seed)
    begun = r.randrange(len(log))
    for number, update in enumerate(log):
        document.say(update, "update", "honest")
        for _ in range(r.choice((0, 1, 3)) if number >= begun else 0):
            kind: Kind = r.choice(("update", "step2"))
            if r.random() < 0.4:
                document.say(mutant(r, update, log), kind, "mutant")
            else:
                document.say(author.write(document.gate.state_vector, list(document.gate.types)), kind, "odd")
    return document


def check(documents: list[Document], yjs: YjsOracle, pycrdt: NativeReader) -> int:
    """By whatever road, one by one, merged or trimmed: alike in both engines, all of it there, nothing pending.

    The gate knows what there is, not in which order it stands: who says that something of theirs stands between two
    neighbours that never stood so has told no order, and an engine may put it on either side. So from one road to
    another their order may differ in either engine; between the engines on one road hardly ever. How many did.
    """
    roads = [[one.log, [one.merged.full()], [trim(one.merged.full())]] for one in documents]
    answers = iter(yjs.load_each([updates for each in roads for updates in each], KINDS, **PLAIN))
    parted = set()
    for document, each in zip(documents, roads, strict=True):
        for updates in each:
            loaded, native = next(answers), pycrdt.load(updates, KINDS)
            where = f"seed {document.seed}"
            assert not loaded.pending, where
            assert loaded.state_vector == native.state_vector == document.gate.state_vector, where
            theirs, ours = plain(loaded.json), plain(native.json)
            if theirs != ours:
                assert document.told_no_order, where
                assert Counter(letters(theirs)) == Counter(letters(ours)), where
                parted.add(document.seed)
            elif updates is document.log:  # told to yrs at once, what was collected already does not count as deleted
                assert deletions(native.update) == loaded.deletes, where
    return len(parted)


def letters(view: Any) -> Iterator[str]:
    """Every letter and value of a view, in no order."""
    if isinstance(view, dict):
        for kind, one in view.items():
            for words in (piece[0] for piece in one) if kind in ("text", "xmltext") else (one,):
                yield from words if kind in ("text", "xmltext") and isinstance(words, str) else letters(words)
    elif isinstance(view, list):
        for one in view:
            yield from letters(one)
    else:
        yield repr(view)


def fuzz(seeds: Iterable[int], yjs: YjsOracle, pycrdt: NativeReader, until: float = 0.0) -> Counter[str]:
    """Play and check documents, at least one portion, until the moment comes or the seeds end."""
    happened: Counter[str] = Counter()
    coming = iter(seeds)
    while documents := [play(seed) for seed in islice(coming, PORTION)]:
        happened["parted"] += check(documents, yjs, pycrdt)
        happened["documents"] += len(documents)
        for document in documents:
            happened.update(document.verdicts)
        if until and time.monotonic() > until:
            break
    return happened


@pytest.fixture(scope="module")
def pycrdt() -> Iterator[NativeReader]:
    with NativeReader() as reader:
        yield reader


def test_what_the_gate_admits_both_engines_integrate_alike(yjs: YjsOracle, pycrdt: NativeReader) -> None:
    happened = fuzz(range(20), yjs, pycrdt)
    assert happened["parted"] == 0
    assert min(happened[f"{how} admitted"] for how in ("honest", "odd", "mutant")) > 5, happened
    assert min(happened[f"{how} refused"] for how in ("odd", "mutant")) > 0, happened


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_what_the_gate_admits_both_engines_integrate_alike_for_half_an_hour(
    yjs: YjsOracle, pycrdt: NativeReader, fuzz_minutes: float
) -> None:
    first = random.SystemRandom().randrange(2**40)
    happened = fuzz(count(first), yjs, pycrdt, time.monotonic() + 60 * fuzz_minutes)
    print(f"seeds from {first}: {dict(happened)}")
    assert happened["parted"] * 200 < happened["documents"], happened
