"""The pinned shape of each of a task's two documents, and the gate's state as a snapshot carries it.

Owns the bridge from the schema to the gate. ``main_state`` and ``margin_state`` run in worker processes, at compaction.
"""

from __future__ import annotations

from typing import Final

from crdt_docs.ids import Part
from crdt_docs.schema import MARKS, NODES, PART_ROOTS, TOP
from crdt_docs.updates.parse import Parsed
from server.rooms.gate import Gate
from server.rooms.verdict import Shape

_CHILDREN: Final = {"": TOP, **{name: rule.children for name, rule in NODES.items()}}

SHAPES: Final[dict[Part, Shape]] = {
    part: Shape(roots, frozenset(NODES), frozenset(MARKS), _CHILDREN) for part, roots in PART_ROOTS.items()
}

FINISH: Final[dict[Part, str]] = {
    "main": "server.rooms.shapes:main_state",
    "margin": "server.rooms.shapes:margin_state",
}
"""Which function makes the gate's state of a compacted document, by its dotted name."""


def main_state(parsed: Parsed) -> bytes:
    """The gate's state of a whole main document."""
    return _state("main", parsed)


def margin_state(parsed: Parsed) -> bytes:
    """The gate's state of a whole margin."""
    return _state("margin", parsed)


def _state(part: Part, parsed: Parsed) -> bytes:
    gate = Gate(SHAPES[part])
    gate.restore(parsed)
    return gate.dump()
