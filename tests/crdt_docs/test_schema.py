"""Schema 1 is pinned: what changes here breaks documents that people have."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Any

from pycrdt import Doc, Map, XmlFragment

from crdt_docs import schema
from crdt_docs.updates.parse import parse
from crdt_docs.working_set import read

SEED = {"name": "Acme 合同", "goal": "签 😀", "document": "00000000-0000-4000-8000-000000000001"}
SEED_SHA256 = "d46961306c4d8468dd17077d4cfba15206252fcad070783bbf6bbb3830c8521b"


def test_the_pinned_roots_are_these_and_all_are_maps() -> None:
    assert set(schema.PART_ROOTS["main"]) == {
        *("meta", "documents", "constraints", "decisions", "questions"),
        *("outputs", "messages", "slots", "calls", "summary"),
    }
    assert set(schema.PART_ROOTS["margin"]) == {"comments", "suggestions"}
    assert set(schema.ROOTS.values()) == {1}


def test_nodes_and_marks_are_these() -> None:
    assert set(schema.NODES) == {
        *("paragraph", "heading", "bulletList", "orderedList", "listItem", "taskList", "taskItem", "blockquote"),
        *("codeBlock", "horizontalRule", "hardBreak", "table", "tableRow", "tableCell", "tableHeader"),
    }
    assert set(schema.MARKS) == {
        *("bold", "italic", "strike", "underline", "code", "link"),
        *("insertion", "deletion", "modification", "comment"),
    }


def test_every_rule_names_only_what_exists() -> None:
    for rule in schema.NODES.values():
        assert rule.children <= schema.NODES.keys() | {"text"}
        assert rule.marks <= schema.MARKS.keys()
        assert rule.first is None or rule.first in rule.children
    assert schema.NODES.keys() >= schema.TOP
    assert "text" not in schema.TOP


def test_an_overlapping_mark_is_known_by_its_name_and_hash() -> None:
    assert schema.is_mark("comment--a1b2c3")
    assert schema.mark_of("comment--a1b2c3") == "comment"
    assert not schema.is_mark("comment--")
    assert not schema.is_mark("blink")
    assert schema.may_overlap("comment")
    assert not schema.may_overlap("bold")


def test_the_seed_is_these_very_bytes_so_that_a_retry_seeds_nothing_new() -> None:
    made = schema.seed_update(7, **SEED)
    assert made == schema.seed_update(7, **SEED)
    assert hashlib.sha256(made).hexdigest() == SEED_SHA256


def test_the_seed_reads_as_a_named_task_with_one_empty_document() -> None:
    doc: Doc[Map[Any]] = Doc()
    doc.apply_update(schema.seed_update(7, **SEED))
    found = read(doc)
    assert found["meta"] == {"schema": 1, "name": "Acme 合同", "status": "open", "goal": "签 😀"}
    assert found["documents"] == [{"id": SEED["document"], "title": "Notes", "markdown": ""}]
    body = doc.get("documents", type=Map)[SEED["document"]]["body"]
    assert isinstance(body, XmlFragment)
    assert found["messages"] == found["decisions"] == []


def test_the_seed_has_one_client_and_deletes_nothing() -> None:
    parsed = parse(schema.seed_update(7, **SEED))
    assert [section.client for section in parsed.sections] == [7]
    assert parsed.deletes == []


def test_the_schema_is_one_file_that_other_languages_read() -> None:
    assert (files("crdt_docs") / "schema1.json").is_file()
