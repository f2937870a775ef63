"""Spliced bytes against both engines: random documents by pycrdt and by yjs in Node.

Each log is closed (every entry follows what it depends on) and holds re-syncs that overlap earlier entries. What the
engine makes of the spliced bytes must be what it makes of the log.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from kit import pycrdt_edits
from kit.yjs_oracle import YjsOracle

from crdt_docs.updates.parse import Parsed, parse
from crdt_docs.updates.splice import Spliced, delete_set, diff, merge, state_vector
from crdt_docs.updates.vectors import StateVector, decode_state_vector, encode_state_vector


class Replay:
    """A log spliced entry by entry, with some of the moments in between."""

    def __init__(self, log: list[bytes], rng: random.Random) -> None:
        self.document = Spliced()
        self.moments: list[tuple[int, bytes, StateVector]] = []
        self.overlapping = 0
        for number, update in enumerate(log, 1):
            parsed = parse(update)
            self.overlapping += overlaps(parsed, self.document.state_vector)
            self.document.add(parsed)
            if rng.random() < 4 / len(log):
                self.moments.append((number, self.document.full(), self.document.state_vector))
        self.full = self.document.full()

    def check_shape(self, log: list[bytes]) -> None:
        """What needs no engine."""
        vector = self.document.state_vector
        assert state_vector(self.full) == vector
        assert delete_set(self.full) == self.document.deletes
        assert merge(log) == self.full
        reloaded = Spliced.load(self.full, self.document.dump_index())
        assert reloaded.full() == self.full
        for number, snapshot, _ in self.moments:
            resumed = Spliced.load(snapshot)
            for update in log[number:]:
                resumed.add(parse(update))
            assert resumed.full() == self.full

    def cuts(self, rng: random.Random) -> list[StateVector]:
        """State vectors at any clocks, also inside structs."""
        vector = self.document.state_vector
        return [{client: rng.randrange(end + 1) for client, end in vector.items()} for _ in range(3)]

    def check_cut(self, have: StateVector) -> bytes:
        """The exact difference for ``have``, the same by every road."""
        lacking = self.document.diff(have)
        assert lacking == diff(self.full, have)
        assert lacking == Spliced.load(self.full, self.document.dump_index()).diff(have)
        for section in parse(lacking).sections:
            assert section.clock == have.get(section.client, 0)
        return lacking


def overlaps(parsed: Parsed, vector: StateVector) -> bool:
    return any(section.clock < vector.get(section.client, 0) for section in parsed.sections)


def check_with_pycrdt(seed: int) -> int:
    rng = random.Random(seed)
    log = pycrdt_edits.generate(seed, clients=1 + seed % 3)
    replay = Replay(log, rng)
    replay.check_shape(log)
    doc, seen = pycrdt_edits.load(log)
    for updates in ([replay.full], *([snapshot, replay.document.diff(at)] for _, snapshot, at in replay.moments)):
        other, view = pycrdt_edits.load(updates)
        assert view == seen, seed
        assert decode_state_vector(other.get_state()) == replay.document.state_vector, seed
        assert delete_set(other.get_update()) == delete_set(doc.get_update()), seed
    for have in replay.cuts(rng):
        replay.check_cut(have)
    return replay.overlapping


def check_with_yjs(yjs: YjsOracle, seed: int) -> int:
    rng = random.Random(seed)
    made = yjs.generate(seed, clients=1 + seed % 3, gc=bool(seed & 1), split=bool(seed & 2), steps=50)
    replay = Replay(made.updates, rng)
    replay.check_shape(made.updates)
    documents = [made.updates, [replay.full]]
    documents += [[snapshot, replay.document.diff(at)] for _, snapshot, at in replay.moments]
    truth, *others = yjs.load_each(documents, made.roots, cleanup=False)
    assert truth.state_vector == replay.document.state_vector
    for other in others:
        assert not other.pending, seed
        assert (other.json, other.state_vector, other.deletes) == (truth.json, truth.state_vector, truth.deletes), seed
    for have in replay.cuts(rng):
        theirs = yjs.diff(replay.full, encode_state_vector(have))
        assert comparable(replay.check_cut(have)) == comparable(theirs), (seed, have)
    return replay.overlapping


def comparable(update: bytes) -> tuple[Any, ...]:
    """Structs and deletes, without the flag "has a key", which yjs drops where an origin implies the key."""
    parsed = parse(update)
    sections = {}
    for client, clock, structs, _ in parsed.sections:
        flags = [update[one.start] & (0xDF if one.origin or one.right_origin else 0xFF) for one in structs]
        sections[client] = (clock, flags, [update[one.start + 1 : one.end] for one in structs])
    return sections, delete_set(update)


@pytest.mark.parametrize("start", range(0, 160, 40))
def test_pycrdt_makes_the_same_of_spliced_bytes_as_of_the_log(start: int) -> None:
    assert sum(check_with_pycrdt(seed) for seed in range(start, start + 40)) > 40


@pytest.mark.node
@pytest.mark.parametrize("start", range(0, 48, 12))
def test_yjs_makes_the_same_of_spliced_bytes_as_of_the_log(yjs: YjsOracle, start: int) -> None:
    assert sum(check_with_yjs(yjs, seed) for seed in range(start, start + 12)) > 12


@pytest.mark.node
def test_stock_yjs_with_its_tidying_agrees_with_its_own_merge(yjs: YjsOracle) -> None:
    for seed in range(1000, 1012):
        made = yjs.generate(seed, clients=2, steps=40)
        ours, theirs = yjs.load_each([[merge(made.updates)], [yjs.merge(made.updates)]], made.roots)
        assert (ours.json, ours.deletes, ours.pending) == (theirs.json, theirs.deletes, False), seed


@pytest.mark.node
def test_what_yjs_makes_pycrdt_reads_alike_from_spliced_bytes(yjs: YjsOracle) -> None:
    for seed in range(2000, 2020):
        made = yjs.generate(seed, clients=2, steps=40)
        doc, seen = pycrdt_edits.load(made.updates)
        other, view = pycrdt_edits.load([merge(made.updates)])
        assert repr(view) == repr(seen), seed  # repr, because NaN is not equal to itself
        assert delete_set(doc.get_update()) == delete_set(other.get_update()), seed


@pytest.mark.node
def test_yjs_reads_what_pycrdt_made_alike_from_spliced_bytes(yjs: YjsOracle) -> None:
    roots = {"body": "text", "list": "array", "items": "map", "prose": "xml"}
    logs = [pycrdt_edits.generate(seed) for seed in range(3000, 3020)]
    one_by_one = yjs.load_each(logs, roots, cleanup=False)
    at_once = yjs.load_each([[merge(log)] for log in logs], roots, cleanup=False)
    for single, whole in zip(one_by_one, at_once, strict=True):
        assert (whole.json, whole.deletes, whole.pending) == (single.json, single.deletes, False)


@pytest.mark.node
def test_our_state_vectors_are_those_that_yjs_reads_from_the_bytes(yjs: YjsOracle) -> None:
    for seed in range(4000, 4010):
        made = yjs.generate(seed, clients=3, steps=30)
        part = diff(merge(made.updates), {1: 1})
        for update in (*made.updates, merge(made.updates), part):
            assert state_vector(update) == decode_state_vector(yjs.vector(update))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_pycrdt_agrees_over_many_documents() -> None:
    for seed in range(10_000, 20_000):
        check_with_pycrdt(seed)


@pytest.mark.soak
@pytest.mark.node
@pytest.mark.timeout(3600)
def test_yjs_agrees_over_many_documents(yjs: YjsOracle) -> None:
    for seed in range(10_000, 14_000):
        check_with_yjs(yjs, seed)
