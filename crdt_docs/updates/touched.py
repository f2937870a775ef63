"""Which entries of a document changed since a replica was last at a state, told from the bytes.

Owns the way from a struct up to the root and keys that it hangs from. Must never look at what anybody wrote about
themselves: it answers with the clocks of client ids, and whose those are is the log's to say. A state vector tells
nothing of deletions, so the places where something was deleted are given.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple

from crdt_docs.updates.parse import DELETED, GC, Id, Parsed
from crdt_docs.updates.vectors import DeleteSet, StateVector
from crdt_docs.updates.whole import Place, Whole

Span = tuple[int, int, int]
"""Clocks of a client: (client, first, first after)."""


class Path(NamedTuple):
    """Where something stands: the entry ``key`` of a root, a field in it, and a key in that. None where above that."""

    root: str
    key: str
    field: str | None = None
    inner: str | None = None


class Touch(NamedTuple):
    """What is new at a place. ``made`` if it is the very entry, or the inner one, which was not there before."""

    path: Path
    made: bool
    spans: list[Span]


class _Home(NamedTuple):
    parent: str | Id
    key: str | None


_UNKNOWN: Final = _Home("", None)


def touched(parsed: Parsed, since: StateVector) -> list[Touch]:
    """All places under keyed roots with living structs past that state. Raises ValueError for a part of a document."""
    homes = Homes(Whole(parsed))
    deleted = DeleteSet(parsed.deletes)
    found: dict[tuple[Path, bool], list[Span]] = {}
    for client, _, structs, end in parsed.sections:
        have = since.get(client, 0)
        if end <= have:
            continue
        for at in range(max(0, bisect_right(structs, have, key=lambda struct: struct.clock) - 1), len(structs)):
            struct = structs[at]
            first, after = max(struct.clock, have), struct.clock + struct.length
            if after <= have or struct.ref in (GC, DELETED) or deleted.covers(client, first, after):
                continue
            path = homes.path((client, at))
            if path is None:
                continue
            key = (path, homes.is_made((client, at), since))
            spans = found.setdefault(key, [])
            if spans and spans[-1][0] == client and spans[-1][2] == first:
                spans[-1] = (client, spans[-1][1], after)
            else:
                spans.append((client, first, after))
    return [Touch(path, made, spans) for (path, made), spans in found.items()]


def places(parsed: Parsed, ids: Iterable[Id]) -> list[Path | None]:
    """Where the items with these ids stand, deleted or not; None for what can't be told any more."""
    homes = Homes(Whole(parsed))
    found: list[Path | None] = []
    for client, clock in ids:
        try:
            found.append(homes.path((client, homes.whole.index((client, clock)))))
        except ValueError:
            found.append(None)
    return found


class Homes:
    """The parents of a document's structs, each found once."""

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self._homes: dict[Place, _Home] = {}
        self._paths: dict[str | Id, tuple[str, ...] | None] = {}

    def path(self, place: Place) -> Path | None:
        """Where a struct stands; None for what hangs from nothing known, or from a root without keys."""
        home = self._home(place)
        above = self._above(home.parent)
        if above is None:
            return None
        names = above if home.key is None else (*above, home.key)
        return Path(*names[:4]) if len(names) > 1 and names[0] else None

    def is_made(self, place: Place, since: StateVector) -> bool:
        """Whether the struct is an entry of a root, or of a map in an entry's field, that had no value before."""
        home = self._home(place)
        above = self._above(home.parent)
        if home.key is None or above is None or len(above) not in (1, 3):
            return False
        seen: set[Place] = set()
        while place not in seen:
            seen.add(place)
            struct = self.whole.structs[place[0]][place[1]]
            if struct.clock < since.get(place[0], 0):
                return False
            if struct.origin is None:
                return True
            place = (struct.origin[0], self.whole.index(struct.origin))
        return False

    def _above(self, parent: str | Id) -> tuple[str, ...] | None:
        """The root and the keys down to a type."""
        climbed: list[tuple[str | Id, str | None]] = []
        while isinstance(parent, tuple) and parent not in self._paths and len(climbed) < 1_000:
            home = self._home((parent[0], self.whole.index(parent)))
            climbed.append((parent, home.key))
            parent = home.parent
        if isinstance(parent, str):
            names: tuple[str, ...] | None = (parent,) if parent else None
        else:
            names = self._paths.get(parent)
        for ident, key in reversed(climbed):
            names = names if names is None or key is None else (*names, key)
            self._paths[ident] = names
        return names

    def _home(self, place: Place) -> _Home:
        """The parent and key of a struct: its own, or those of what it was put beside."""
        beside: list[Place] = []
        home = self._homes.get(place)
        while home is None:
            struct = self.whole.structs[place[0]][place[1]]
            link = struct.origin or struct.right_origin
            if struct.parent is None and link is not None and struct.ref != GC:
                beside.append(place)
                self._homes[place] = _UNKNOWN  # should origins ever run in a circle
                place = (link[0], self.whole.index(link))
                home = self._homes.get(place)
            else:
                home = self._homes[place] = _UNKNOWN if struct.parent is None else _Home(struct.parent, struct.key)
        for waiting in beside:
            self._homes[waiting] = home
        return home
