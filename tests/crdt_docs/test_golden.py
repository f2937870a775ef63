"""Documents of schema 1 that people have are read as they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kit.yjs_oracle import YjsOracle
from pycrdt import Doc

from crdt_docs.ids import Part
from crdt_docs.markdown import write_markdown
from crdt_docs.markdown_reader import read_markdown
from crdt_docs.schema import PART_ROOTS
from crdt_docs.updates.splice import state_vector
from crdt_docs.updates.trim import trim
from crdt_docs.working_set import read

FOLDER = Path(__file__).parents[1] / "fixtures" / "schema1"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text("utf-8"))
MAIN = [name for name, held in EXPECTED.items() if held["part"] == "main"]


def golden(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


@pytest.mark.parametrize("name", MAIN)
def test_a_working_set_reads_as_it_always_did(name: str) -> None:
    doc: Doc[Any] = Doc()
    doc.apply_update(golden(name))
    assert read(doc) == EXPECTED[name]["projection"]


@pytest.mark.node
@pytest.mark.parametrize("name", list(EXPECTED))
def test_yjs_reads_the_same_bytes_as_it_always_did(yjs: YjsOracle, name: str) -> None:
    part: Part = EXPECTED[name]["part"]
    loaded = yjs.load([golden(name)], dict.fromkeys(PART_ROOTS[part], "map"))
    assert loaded.json == EXPECTED[name]["yjs"]
    assert not loaded.pending


def test_compaction_of_old_bytes_says_the_same() -> None:
    trimmed = trim(golden("rich.bin"))
    assert state_vector(trimmed) == state_vector(golden("rich.bin"))
    doc: Doc[Any] = Doc()
    doc.apply_update(trimmed)
    assert read(doc) == EXPECTED["rich.bin"]["projection"]


def test_the_markdown_of_old_documents_still_reads_back() -> None:
    (_, draft) = EXPECTED["rich.bin"]["projection"]["documents"]
    assert write_markdown(read_markdown(draft["markdown"])) == draft["markdown"]
