"""Documents that people typed in a browser, as recorded: their Markdown says what they say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from kit.recordings import Recording, read_recordings
from pycrdt import Doc, Map, XmlFragment

from crdt_docs.fragments import read_fragment
from crdt_docs.markdown import write_markdown
from crdt_docs.markdown_reader import read_markdown
from crdt_docs.richtext import Node, Span, check
from crdt_docs.schema import NODES

TYPED = {room.name: room for room in read_recordings() if "tiptap" in room.name or "offline" in room.name}


def bodies(room: Recording) -> list[XmlFragment]:
    doc: Doc[Any] = Doc()
    for event in room.events:
        if event.what in ("update", "step2"):
            doc.apply_update(event.payload)
    if "documents" in doc.keys():
        documents = doc.get("documents", type=Map)
        return [documents[key]["body"] for key in documents.keys()]
    return [doc.get(next(iter(doc.keys())), type=XmlFragment)]


def essence(nodes: Iterable[Node | Span]) -> list[Node | Span]:
    """The tree without what Markdown does not carry: empty paragraphs and attributes at their defaults."""
    out: list[Node | Span] = []
    for node in nodes:
        if isinstance(node, Span):
            out.append(node)
            continue
        defaults = NODES[node.name].attributes
        attributes = {key: value for key, value in node.attributes.items() if value != defaults[key]}
        made = Node(node.name, attributes, essence(node.children))
        if made.name != "paragraph" or made.children:
            out.append(made)
    return out


@pytest.mark.parametrize("name", list(TYPED))
def test_what_was_typed_in_a_browser_survives_markdown(name: str) -> None:
    for body in bodies(TYPED[name]):
        tree = read_fragment(body)
        check(tree)
        assert tree, "the recording holds a document"
        assert essence(read_markdown(write_markdown(tree))) == essence(tree)
