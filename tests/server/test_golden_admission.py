"""The gate lets in whole what schema 1 allows: the documents that people have, and what seed and peers write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crdt_docs.updates.parse import parse
from crdt_docs.updates.splice import state_vector
from server.domain.access import PrincipalKey
from server.rooms.gate import Gate
from server.rooms.shapes import SHAPES
from server.rooms.verdict import Admit

FOLDER = Path(__file__).parents[1] / "fixtures" / "schema1"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text("utf-8"))


@pytest.mark.parametrize("name", list(EXPECTED))
def test_a_document_of_schema_1_is_admitted_whole(name: str) -> None:
    update = (FOLDER / name).read_bytes()
    gate = Gate(SHAPES[EXPECTED[name]["part"]])
    verdict = gate.admit(parse(update), PrincipalKey("user:ann"), "step2")
    assert isinstance(verdict, Admit), verdict
    gate.apply(verdict)
    assert gate.state_vector == state_vector(update)
