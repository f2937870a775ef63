"""Trimming what people typed: sizes to the byte, and the text that is left."""

from __future__ import annotations

import pytest
from kit.trace_logs import AUTHORS, ROOT, end_of, type_together, write_down
from kit.yjs_oracle import YjsOracle
from pycrdt import Doc, Text

from crdt_docs.updates.parse import DELETED, STRING, parse
from crdt_docs.updates.splice import diff, merge, state_vector
from crdt_docs.updates.trim import trim


def text_of(update: bytes) -> str:
    doc = Doc[Text]()
    text = doc.get(ROOT, type=Text)
    doc.apply_update(update)
    return str(text)


def characters_in(update: bytes) -> int:
    """How many units of text the bytes hold, deleted or not."""
    return sum(s.length for section in parse(update).sections for s in section.structs if s.ref == STRING)


def check(name: str, full: bytes, early: bytes, full_size: int, trimmed_size: int) -> bytes:
    """Of a whole trace, and of an early part of it that was trimmed when the rest arrived."""
    trimmed = trim(full)
    end = end_of(name)
    assert (len(full), len(trimmed)) == (full_size, trimmed_size)
    assert text_of(trimmed) == end
    assert characters_in(trimmed) == len(end) < characters_in(full)
    assert trim(merge([trim(early), full])) == trimmed
    return trimmed


def test_a_source_file_is_trimmed_to_a_fifth() -> None:
    name = "sveltecomponent"
    check(name, write_down(name), write_down(name, 10_000), 404_082, 75_224)


def test_a_paper_of_260_000_edits_is_trimmed_to_a_thirteenth() -> None:
    full = write_down("automerge-paper")
    trimmed = trim(full)
    assert (len(full), len(trimmed)) == (3_431_550, 276_982)
    assert text_of(trimmed) == end_of("automerge-paper")


@pytest.mark.node
def test_a_document_by_two_is_trimmed_to_an_eighth_and_stays_whole_for_both(yjs: YjsOracle) -> None:
    log = type_together("friendsforever")
    early = merge(log[: len(log) // 3])
    full = merge([early, *log[len(log) // 3 :]])
    trimmed = check("friendsforever", full, early, 382_471, 52_810)
    vector = state_vector(early)
    assert sorted(vector) == sorted(AUTHORS)
    for loaded in yjs.load_each([[trimmed], [early, diff(trimmed, vector)]], {ROOT: "text"}):
        assert loaded.json[ROOT]["text"] == [{"insert": end_of("friendsforever")}]
        assert not loaded.pending
    assert len(trimmed) < len(yjs.state([full]))


def test_what_the_engine_has_cleared_away_itself_trims_to_the_same_bytes() -> None:
    full = write_down("sveltecomponent")
    doc = Doc[Text]()
    doc.apply_update(full)
    snapshot = doc.get_update()
    assert any(s.ref == DELETED for section in parse(snapshot).sections for s in section.structs)
    assert trim(snapshot) == trim(full)
