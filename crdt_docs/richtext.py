"""Rich text as a plain tree, and the rules that keep a browser from deleting it.

Owns Node and Span, the shape between documents, Markdown and docx. Must never touch a CRDT.
A ProseMirror editor that meets a node against its schema deletes it, and the deletion syncs: so whatever writes
into a shared document checks its tree first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.schema import MARKS, NODES, TOP

MAX_DEPTH: Final = 56
"""Levels of nodes in a body: the gate admits 64 levels of types, of which a body lies three deep."""

Marks = dict[str, dict[str, Any]]


@dataclass(slots=True)
class Span:
    """Words that carry the same marks; ``marks`` maps a mark's name to its attributes."""

    text: str
    marks: Marks = field(default_factory=dict)


@dataclass(slots=True)
class Node:
    """An element, as ProseMirror names it."""

    name: str
    attributes: dict[str, Any] = field(default_factory=dict)
    children: list[Node | Span] = field(default_factory=list)


def check(nodes: Iterable[Node | Span], parent: str | None = None, depth: int = 1) -> None:
    """Raise Malformed where the tree breaks the schema, TooLarge where it is too deep for a body."""
    if depth > MAX_DEPTH:
        raise TooLarge("nodes nested too deep")
    allowed = TOP if parent is None else NODES[parent].children
    count = 0
    for child in nodes:
        count += 1
        if isinstance(child, Span):
            _check_span(child, parent, allowed)
            continue
        if child.name not in allowed:
            raise Malformed(f"{child.name} may not stand in {parent or 'a document'}")
        if parent and count == 1 and NODES[parent].first not in (None, child.name):
            raise Malformed(f"{parent} must begin with {NODES[parent].first}")
        strange = child.attributes.keys() - NODES[child.name].attributes.keys()
        if strange:
            raise Malformed(f"{child.name} has no attribute {min(strange)}")
        check(child.children, child.name, depth + 1)
    if parent and count < NODES[parent].least:
        raise Malformed(f"{parent} may not be empty")


def _check_span(span: Span, parent: str | None, allowed: frozenset[str]) -> None:
    if parent is None or "text" not in allowed:
        raise Malformed(f"words may not stand in {parent or 'a document'}")
    for mark, attributes in span.marks.items():
        if mark not in NODES[parent].marks:
            raise Malformed(f"words in {parent} may not carry {mark}")
        if attributes.keys() - MARKS[mark].keys():
            raise Malformed(f"{mark} has an unknown attribute")


def settled(children: Iterable[Node | Span]) -> Iterator[Node | Span]:
    """The tree as it stands while suggestions are open: offered words left out, words offered for deletion kept."""
    for child in children:
        if isinstance(child, Node):
            yield Node(child.name, child.attributes, list(settled(child.children)))
        elif "insertion" not in child.marks:
            yield child


def merged(children: Iterable[Node | Span], marks: frozenset[str] | None = None) -> list[Node | Span]:
    """Children with neighbouring spans of equal marks joined and empty ones gone; only ``marks``, if given, count."""
    out: list[Node | Span] = []
    for child in children:
        if isinstance(child, Node):
            out.append(child)
            continue
        if not child.text:
            continue
        kept = {name: value for name, value in child.marks.items() if marks is None or name in marks}
        last = out[-1] if out else None
        if isinstance(last, Span) and last.marks == kept:
            last.text += child.text
        else:
            out.append(Span(child.text, kept))
    return out


def plain_text(children: Iterable[Node | Span]) -> str:
    """The words alone, one line per block: for search, titles and likeness."""
    lines: list[str] = [""]
    _plain(children, lines)
    return "\n".join(line for line in lines if line)


def _plain(children: Iterable[Node | Span], lines: list[str]) -> None:
    for child in children:
        if isinstance(child, Span):
            lines[-1] += child.text
        elif child.name == "hardBreak":
            lines.append("")
        else:
            lines.append("")
            _plain(child.children, lines)
            lines.append("")
