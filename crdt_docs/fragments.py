"""Rich text between a pycrdt fragment and a plain tree.

Owns the one walk over XmlFragment. Must never index a fragment by its length, which counts what ``children`` skips,
nor open an Array, which can hang (``Array.to_py`` on half a surrogate pair).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pycrdt import XmlElement, XmlFragment, XmlText

from crdt_docs.richtext import Marks, Node, Span, check, merged
from crdt_docs.schema import MARKS, mark_of
from crdt_docs.values import plain

MAX_WALK: Final = 128


def read_fragment(fragment: XmlFragment | XmlElement) -> list[Node | Span]:
    """The fragment's children as a tree. Never raises for what a stock client wrote: what it cannot show, it skips."""
    return _children(fragment, 1)


def _children(parent: XmlFragment | XmlElement, depth: int) -> list[Node | Span]:
    out: list[Node | Span] = []
    if depth > MAX_WALK:
        return out
    for child in parent.children:
        if isinstance(child, XmlText):
            out.extend(_spans(child))
        elif isinstance(child, XmlElement):
            attributes = _attributes(child)
            out.append(Node(child.tag or "", attributes, _children(child, depth + 1)))
        elif isinstance(child, XmlFragment):
            out.extend(_children(child, depth + 1))
    return merged(out)


def _attributes(element: XmlElement) -> dict[str, Any]:
    pairs: Any = element.attributes  # pycrdt types the view's iterator as an iterable
    return {name: plain(value) for name, value in pairs}


def _spans(text: XmlText) -> Iterable[Span]:
    for value, formats in text.diff():
        if isinstance(value, str):
            yield Span(value, _marks(formats))


def _marks(formats: dict[str, Any] | None) -> Marks:
    marks: Marks = {}
    for key, value in (formats or {}).items():
        name = mark_of(key)
        if name in MARKS and value is not None and value is not False:
            attributes = plain(value)
            marks[name] = attributes if isinstance(attributes, dict) else {}
    return marks


def append_nodes(fragment: XmlFragment | XmlElement, nodes: Iterable[Node]) -> None:
    """Add blocks at the end of a fragment, in one transaction, after checking that a browser would keep them.

    Raises Malformed or TooLarge before anything is written.
    """
    insert_nodes(fragment, None, nodes)


def insert_nodes(fragment: XmlFragment | XmlElement, index: int | None, nodes: Iterable[Node]) -> None:
    """Add blocks before the child at ``index`` (None: at the end), checked as by ``append_nodes``."""
    blocks = list(nodes)
    check(blocks, fragment.tag if isinstance(fragment, XmlElement) else None)
    with fragment.doc.transaction():
        at = len(fragment.children) if index is None else index
        for offset, block in enumerate(blocks):
            _insert(fragment, at + offset, block)


def _insert(parent: XmlFragment | XmlElement, index: int, node: Node) -> None:
    present = {name: value for name, value in node.attributes.items() if value is not None}
    element = parent.children.insert(index, XmlElement(node.name))
    for name, value in present.items():
        element.attributes[name] = value
    text: XmlText | None = None
    at = 0
    for child in node.children:
        if isinstance(child, Node):
            _insert(element, at, child)
            text = None
            at += 1
            continue
        if text is None:
            text = element.children.insert(at, XmlText(""))
            at += 1
        # An attribute that the words before carry runs on unless it is ended by name.
        text.insert(len(text), child.text, _formats(child.marks))


def _formats(marks: Marks) -> dict[str, Any]:
    return {name: (marks[name] if name in marks else None) for name in MARKS}
