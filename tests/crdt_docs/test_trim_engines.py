"""Trimmed documents in real engines: whatever yjs and yrs make of a document, they make of its trimmed form."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from kit.yjs_oracle import Generated, YjsOracle
from pycrdt import Doc, Text

from crdt_docs.updates.parse import DELETED, GC, parse
from crdt_docs.updates.splice import diff, merge
from crdt_docs.updates.trim import trim
from crdt_docs.updates.vectors import DeleteSet, decode_state_vector

pytestmark = pytest.mark.node

PLAIN: dict[str, Any] = {"cleanup": False}
"""Yjs tidies formats after a remote transaction, so that what is deleted depends on how updates were batched."""


def generate(yjs: YjsOracle, seed: int, split: bool = False) -> Generated:
    r = Random(seed)
    return yjs.generate(seed, clients=r.randint(1, 4), steps=r.randint(5, 120), split=split, gc=r.random() < 0.7)


def classes(update: bytes) -> dict[int, list[tuple[int, str]]]:
    """Per client where runs of GC, deleted and live clocks end."""
    out: dict[int, list[tuple[int, str]]] = {}
    for section in parse(update).sections:
        runs = out.setdefault(section.client, [])
        for struct in section.structs:
            kind = {GC: "gc", DELETED: "deleted"}.get(struct.ref, "live")
            if runs and runs[-1][1] == kind:
                runs.pop()
            runs.append((struct.clock + struct.length, kind))
    return out


def assert_same_document(yjs: YjsOracle, seed: int, split: bool) -> None:
    log = generate(yjs, seed, split)
    full = merge(log.updates)
    trimmed = trim(full)
    want, have = yjs.load_each([[full], [trimmed]], log.roots, **PLAIN)
    assert have.json == want.json
    assert have.state_vector == want.state_vector
    assert have.deletes == want.deletes
    assert not have.pending
    assert dict(DeleteSet(parse(trimmed).deletes).items()) == want.deletes
    assert classes(trimmed) == classes(want.state)
    assert len(trimmed) <= len(want.state)
    assert trim(trimmed) == trimmed


@pytest.mark.parametrize("split", [False, True], ids=["whole pairs", "split pairs"])
def test_yjs_reads_a_trimmed_document_as_it_reads_the_log(yjs: YjsOracle, split: bool) -> None:
    for seed in range(80):
        assert_same_document(yjs, seed, split)


def test_stock_yjs_with_its_tidying_shows_the_same(yjs: YjsOracle) -> None:
    for seed in range(1_000, 1_040):
        log = generate(yjs, seed)
        full = merge(log.updates)
        want, have = yjs.load_each([[full], [trim(full)]], log.roots)
        assert have.json == want.json


def test_what_was_written_while_away_fits_a_document_trimmed_meanwhile(yjs: YjsOracle) -> None:
    for seed in range(2_000, 2_060):
        log = generate(yjs, seed)
        at = Random(seed).randint(0, len(log.updates))
        early, late = log.updates[:at], log.updates[at:]
        full = merge(log.updates)
        want, have = yjs.load_each([[full], [trim(merge(early)), *late]], log.roots, **PLAIN)
        assert (have.json, have.state_vector, have.deletes) == (want.json, want.state_vector, want.deletes)
        assert trim(merge([trim(merge(early)), *late])) == trim(full)


def test_a_replica_of_any_age_catches_up_from_a_trimmed_document(yjs: YjsOracle) -> None:
    for seed in range(3_000, 3_060):
        log = generate(yjs, seed)
        early = log.updates[: Random(seed).randint(0, len(log.updates))]
        full = merge(log.updates)
        vector = yjs.load(early, **PLAIN).state_vector
        missing = diff(trim(full), vector)
        want, have = yjs.load_each([[full], [*early, missing]], log.roots, **PLAIN)
        assert (have.json, have.state_vector, have.deletes) == (want.json, want.state_vector, want.deletes)
        assert not have.pending


def test_yrs_and_yjs_read_the_same_text_even_where_pairs_were_split(yjs: YjsOracle) -> None:
    for seed in range(4_000, 4_060):
        log = generate(yjs, seed, split=True)
        trimmed = trim(merge(log.updates))
        want = yjs.load([trimmed], log.roots, **PLAIN)
        doc = Doc[Text]()
        text = doc.get("body", type=Text)
        doc.apply_update(trimmed)
        plain = [part["insert"] for part in want.json["body"]["text"] if isinstance(part["insert"], str)]
        assert "".join(plain) == "".join(part for part, _ in text.diff() if isinstance(part, str))
        assert decode_state_vector(doc.get_state()) == want.state_vector


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_thousands_of_documents_read_the_same(yjs: YjsOracle) -> None:
    for seed in range(10_000, 14_000):
        assert_same_document(yjs, seed, split=bool(seed & 1))
