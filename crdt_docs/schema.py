"""Schema 1 as data: which roots a task's documents have, and which nodes and marks their rich text may hold.

Owns what ``schema1.json`` says, which the browser's code reads too, and the update that a new task starts from. Must
never import the engine, nor be imported by ``crdt_docs.updates``, which knows bytes and no meaning.

``entries`` in the file names each field's shape: ``milliseconds`` are since the Unix epoch (JavaScript's
``Date.now()``), ``ids`` is one id or a list of them, ``value`` is anything JSON can hold, ``by`` and ``author`` are
names to show. There is no image node: a picture's address in a shared document tells its host who reads it, and an
agent could be talked into carrying words out by one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from crdt_docs.ids import Part
from crdt_docs.updates.compose import Composer

_SOURCE: Final[dict[str, Any]] = json.loads((files("crdt_docs") / "schema1.json").read_text("utf-8"))

SCHEMA_VERSION: Final[int] = _SOURCE["version"]
TYPE_REFS: Final[dict[str, int]] = _SOURCE["types"]
"""The number that stands for each shared type in a struct's content (yjs ``ContentType.js``)."""

PART_ROOTS: Final[dict[Part, dict[str, int]]] = {
    part: {name: TYPE_REFS[kind] for name, kind in roots.items()} for part, roots in _SOURCE["parts"].items()
}
"""The pinned roots of each of a task's two documents, and their types."""
ROOTS: Final[dict[str, int]] = {name: ref for roots in PART_ROOTS.values() for name, ref in roots.items()}
"""All pinned roots. A root of any other name is stored and relayed, and never opened by the engine."""


@dataclass(frozen=True, slots=True)
class NodeRule:
    """What one kind of node may hold. ``children`` are node names, with ``text`` for words.

    ``least`` is how few children it must have, ``first`` the kind that the first must be, ``marks`` what its words
    may carry, ``attributes`` the names it may have with their defaults.
    """

    children: frozenset[str]
    least: int
    first: str | None
    marks: frozenset[str]
    attributes: dict[str, Any]


def _expand(names: list[str]) -> frozenset[str]:
    groups: dict[str, list[str]] = _SOURCE["groups"]
    return frozenset(child for name in names for child in groups.get(name, [name]))


def _defaults(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: rule["default"] for name, rule in attributes.items()}


MARKS: Final[dict[str, dict[str, Any]]] = {
    name: _defaults(rule["attributes"]) for name, rule in _SOURCE["marks"].items()
}
"""Mark names with their attributes and defaults."""

NODES: Final[dict[str, NodeRule]] = {
    name: NodeRule(
        children=_expand(rule["children"]),
        least=rule["least"],
        first=rule.get("first"),
        marks=frozenset(rule.get("marks", MARKS)),
        attributes=_defaults(rule["attributes"]),
    )
    for name, rule in _SOURCE["nodes"].items()
}
"""Node names with their rules. A browser deletes a node that breaks them, words and all, for everyone."""

TOP: Final[frozenset[str]] = _expand(_SOURCE["top"])
"""What a document's body may hold."""

_OVERLAPPING: Final = frozenset(name for name, rule in _SOURCE["marks"].items() if rule.get("overlaps"))


def is_mark(name: str) -> bool:
    """Whether a format key names a mark; overlapping marks are written ``name--hash`` (y-prosemirror, y-tiptap)."""
    base, _, suffix = name.partition("--")
    return base in MARKS and (base == name or bool(suffix))


def mark_of(name: str) -> str:
    """The mark that a format key names, without the hash of an overlapping one."""
    return name.partition("--")[0]


def may_overlap(mark: str) -> bool:
    """Whether one word may carry the mark twice, as with two comments on it."""
    return mark in _OVERLAPPING


def seed(
    composer: Composer, *, name: str, goal: str = "", status: str = "open", document: str, title: str = "Notes"
) -> None:
    """Compose the beginning of a new task's main document: its meta and one empty document to open.

    Done by the server, once; ``document`` is the new document's id. The body is left without a paragraph: an editor
    shows one anyway, and writes it with the first word.
    """
    composer.set("meta", "schema", SCHEMA_VERSION)
    composer.set("meta", "name", name)
    composer.set("meta", "status", status)
    composer.set_text("meta", "goal", goal)
    entry = composer.set_map("documents", document)
    composer.set_text(entry, "title", title)
    composer.set(entry, "kind", "text")
    composer.set(entry, "order", 0)
    composer.set_fragment(entry, "body")
    composer.set_map(entry, "retired")


def seed_update(
    client: int, *, name: str, goal: str = "", status: str = "open", document: str, title: str = "Notes"
) -> bytes:
    """``seed`` as an update under a client id of its own."""
    composer = Composer(client, 0, lambda parent, key: None)
    seed(composer, name=name, goal=goal, status=status, document=document, title=title)
    return composer.finish()
