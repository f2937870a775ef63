"""The values that admission deals in: what is known of a document, and what may be answered to an update.

Owns shapes only; must never decide.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from crdt_docs.updates.parse import ELEMENT_TYPE, Id, Parsed
from crdt_docs.updates.vectors import DeleteSet
from server.domain.access import PrincipalKey
from server.domain.log import Claim

Kind = Literal["update", "step2", "stored"]
"""How it came: a live Update, an answer to our SyncStep1 (admitted in part), or from our own store (trusted)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The pinned roots (name -> Yjs type ref), node and mark names of the document schema, and what may stand in what.

    ``children`` has the names that each node may hold, ``text`` for words; those of a body are under "". What it does
    not name may hold anything.
    """

    roots: Mapping[str, int] = field(default_factory=dict)
    nodes: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    children: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def run(self, parent: str | Id | None, keyed: bool, hole: bool) -> Run:
        """That run. Of those under the roots there are few, which all documents share."""
        return _shared_run(parent, keyed, hole) if parent in self.roots else Run(parent, keyed, hole)

    def type_info(self, ref: int, depth: int, pinned: bool, name: str) -> TypeInfo:
        """That type; only an element has a name. Of those with a known one, or none, there are few."""
        node = name if ref == ELEMENT_TYPE else ""
        make = _shared_type if not node or node in self.nodes else TypeInfo
        return make(ref, depth, pinned, node)


class TypeInfo(NamedTuple):
    """A shared type that some struct brought: its Yjs type ref, its depth, whether it hangs from a pinned root, and the
    name of an element.
    """

    ref: int
    depth: int
    pinned: bool
    node: str = ""


class Run(NamedTuple):
    """What consecutive clocks of a client have in common. ``parent`` is None where it can't be known any more."""

    parent: str | Id | None
    keyed: bool
    hole: bool


_shared_run = lru_cache(maxsize=1024)(Run)
_shared_type = lru_cache(maxsize=1024)(TypeInfo)


class Lacking(NamedTuple):
    """Something an update needs and the document does not have: a struct of ``client`` at or before ``clock``."""

    client: int
    clock: int


Starts: TypeAlias = "list[int] | array[int]"
"""Clocks in order; what was loaded is an array, see ``crdt_docs.updates.vectors.CLOCKS``."""


class Delta(NamedTuple):
    """What an admission adds to what is known: clocks reached, runs and types found, delete ranges, claims."""

    ends: dict[int, int]
    runs: dict[int, tuple[Starts, list[Run]]]
    types: dict[Id, TypeInfo]
    deletes: list[tuple[int, list[tuple[int, int]]]]
    claims: tuple[Claim, ...]


class Admit(NamedTuple):
    """May enter. ``update`` is what to log and fan out, empty if all of it was known; ``lacking`` what was left out."""

    parsed: Parsed
    lacking: tuple[Lacking, ...]
    delta: Delta

    @property
    def update(self) -> bytes:
        """The admitted bytes: a v1 update, or nothing."""
        return self.parsed.update

    def roots_set(self) -> Iterator[str]:
        """The roots of which it sets keys."""
        for _, runs in self.delta.runs.values():
            yield from (run.parent for run in runs if run.keyed and isinstance(run.parent, str))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The client ids that it claims."""
        return self.delta.claims


@dataclass(frozen=True, slots=True)
class Refuse:
    """May never enter; ``code`` is the close code."""

    code: int
    why: str


@dataclass(frozen=True, slots=True)
class Resync:
    """A gap: not a crime, but it can't enter before what it lacks."""

    lacking: Lacking


Verdict = Admit | Refuse | Resync


class Known:
    """What a gate knows of its document: clocks, deletions, types, runs and whose each client id is."""

    def __init__(self, shape: Shape, claims: Iterable[Claim] = ()) -> None:
        self.shape = shape
        self.state_vector: dict[int, int] = {}
        self.deleted = DeleteSet()
        self.types: dict[Id, TypeInfo] = {}
        self.runs: dict[int, tuple[Starts, list[Run]]] = {}
        self.claims: dict[int, Claim] = {claim.client: claim for claim in claims}
        self.seat: Callable[[int], PrincipalKey | None] = _nobody
        """Whose an unclaimed client id is, by who is or was present under it."""


def _nobody(client: int) -> None:
    return None
