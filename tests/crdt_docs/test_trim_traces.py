"""Trimming what people typed: sizes to the byte, and the text that is left."""

from __future__ import annotations

import pytest
from kit.trace_logs import AUTHORS, ROOT, type_together, write_down
from kit.traces import read_trace
from kit.yjs_oracle import YjsOracle
from pycrdt import Doc, Text

from crdt_docs.updates.parse import DELETED, STRING, parse
from crdt_docs.updates.splice import diff, merge
from crdt_docs.updates.trim import trim


def text_of(update: bytes) -> str:
    doc = Doc[Text]()
    text = doc.get(ROOT, type=Text)
    doc.apply_update(update)
    return str(text)


def characters_in(update: bytes) -> int:
    """How many units of text the bytes hold, deleted or not."""
    return sum(s.length for section in parse(update).sections for s in section.structs if s.ref == STRING)


def check_trace(name: str, log: list[bytes], full_size: int, trimmed_size: int) -> bytes:
    full = merge(log)
    trimmed = trim(full)
    end = read_trace(name).end
    assert (len(full), len(trimmed)) == (full_size, trimmed_size)
    assert text_of(trimmed) == end
    assert characters_in(trimmed) == len(end) < characters_in(full)
    half = len(log) // 2
    assert trim(merge([trim(merge(log[:half])), *log[half:]])) == trimmed
    return trimmed


def test_a_source_file_is_trimmed_to_a_fifth() -> None:
    check_trace("sveltecomponent", write_down("sveltecomponent"), 404_082, 75_224)


@pytest.mark.node
def test_a_document_by_two_is_trimmed_to_an_eighth_and_stays_whole_for_both(yjs: YjsOracle) -> None:
    log = type_together("friendsforever")
    trimmed = check_trace("friendsforever", log, 382_471, 52_810)
    early = log[: len(log) // 3]
    vector = yjs.load([merge(early)]).state_vector
    assert sorted(vector) == sorted(AUTHORS)
    documents = [[trimmed], [merge(early), diff(trimmed, vector)]]
    for loaded in yjs.load_each(documents, {ROOT: "text"}):
        assert loaded.json[ROOT]["text"] == [{"insert": read_trace("friendsforever").end}]
        assert not loaded.pending
    assert len(trimmed) < len(yjs.state([merge(log)]))


def test_a_paper_of_260_000_edits_is_trimmed_to_a_thirteenth() -> None:
    log = write_down("automerge-paper")
    full = merge(log)
    trimmed = trim(full)
    assert (len(full), len(trimmed)) == (3_431_550, 276_982)
    assert text_of(trimmed) == read_trace("automerge-paper").end
    assert trim(trimmed) == trimmed


def test_what_the_engine_has_cleared_away_itself_trims_to_the_same_bytes() -> None:
    log = write_down("sveltecomponent")
    doc = Doc[Text]()
    doc.apply_update(merge(log))
    snapshot = doc.get_update()
    assert any(s.ref == DELETED for section in parse(snapshot).sections for s in section.structs)
    assert trim(snapshot) == trim(merge(log))
