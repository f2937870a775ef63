"""Which write of a map key is the current one, told from the bytes.

Owns the order of concurrent writes to one key: yjs puts them in a list by YATA and shows the last; all others it
deletes as it integrates them, which no update says. Must never guess where the order costs too much or the links are
odd: then it answers None, and the engines that load the document settle it as they always do.

Writes to a key carry no right origin (``typeMapSet`` in yjs, ``Map::insert`` in yrs). Then YATA's list is the pre-order
of the tree that the origins span, siblings by client upwards (one client's later sibling goes left), and the last
write is found by walking down that tree: linear, whatever was concurrent. Only writes with right origins need YATA
itself, which is quadratic, so there is a bound on how many of them are resolved.
"""

from __future__ import annotations

from collections.abc import Iterator

from crdt_docs.updates.parse import DELETED, GC, Id, Parsed
from crdt_docs.updates.vectors import DeleteSet
from crdt_docs.updates.whole import Place, Whole

MapKey = tuple[str | Id, str]
"""(the map: a root's name or the id of the item that holds it, the key)."""

MAX_TANGLED = 2_000
"""Clocks in a group with right origins up to which YATA is run: about a second at worst."""

_UNKNOWN, _NO_KEY, _OPEN = -1, -2, -3


def map_entries(whole: Whole) -> dict[MapKey, list[Place]]:
    """Every map key with all structs that ever wrote it, also those under types that are gone."""
    if not any(struct[9] is not None for structs in whole.structs.values() for struct in structs):
        return {}
    numbers: dict[MapKey, int] = {}
    groups: list[list[Place]] = []
    found = {client: [_UNKNOWN] * len(structs) for client, structs in whole.structs.items()}
    for client, structs in whole.structs.items():
        mine = found[client]
        for at, struct in enumerate(structs):
            group = mine[at]
            if group == _UNKNOWN:
                if at and struct[6] == (client, struct[0] - 1):
                    group = mine[at] = mine[at - 1]
                else:
                    group = _find_group(whole, found, numbers, (client, at))
            if group >= 0:
                if group == len(groups):
                    groups.append([])
                groups[group].append((client, at))
    return {key: groups[number] for key, number in numbers.items()}


def _find_group(whole: Whole, found: dict[int, list[int]], numbers: dict[MapKey, int], place: Place) -> int:
    """Follow origins to the struct that names its parent, as yjs does, and note the answer along the way."""
    path: list[Place] = []
    while True:
        client, at = place
        group = found[client][at]
        if group == _OPEN:
            raise ValueError("origins run in a circle")
        if group != _UNKNOWN:
            break
        struct = whole.structs[client][at]
        if struct.ref == GC or (struct.parent is not None and struct.key is None):
            group = found[client][at] = _NO_KEY
            break
        if struct.parent is not None and struct.key is not None:
            group = found[client][at] = numbers.setdefault((struct.parent, struct.key), len(numbers))
            break
        found[client][at] = _OPEN
        path.append(place)
        link = struct.origin or struct.right_origin
        assert link is not None  # the format has a parent where there is no origin
        place = (link[0], whole.index(link))
    for client, at in path:
        found[client][at] = group
    return group


def last_entry(whole: Whole, group: list[Place]) -> Id | None:
    """The id that a new write to this key takes as its origin, deleted or not; None where that is not worth finding."""
    structs = [whole.structs[client][at] for client, at in group]
    if all(struct.right_origin is None for struct in structs):
        return _last_of_tree(whole, group)
    if sum(struct.length for struct in structs) > MAX_TANGLED:
        return None
    return _last_by_yata(whole, group)


def _last_of_tree(whole: Whole, group: list[Place]) -> Id | None:
    """Walk down from the roots, always into the last child."""
    children: dict[Place | None, dict[int, tuple[int, int, Place]]] = {}
    for place in group:
        struct = whole.structs[place[0]][place[1]]
        origin = struct.origin
        parent = None if origin is None else (origin[0], whole.index(origin))
        rank = (place[0], -struct.clock, place)
        best = children.setdefault(parent, {})
        clock = -1 if origin is None else origin[1]
        if clock not in best or best[clock] < rank:
            best[clock] = rank
    if None not in children:
        return None
    place = children[None][-1][2]
    while True:
        client, at = place
        struct = whole.structs[client][at]
        end = struct.clock + struct.length - 1
        for clock, rank in sorted(children.get(place, {}).items()):
            if clock == end or rank[:2] > (client, -clock - 1):  # beside it stands the struct's own next clock
                place = rank[2]
                break
        else:
            return client, end


def _last_by_yata(whole: Whole, group: list[Place]) -> Id | None:
    """Integrate the group clock by clock, dependencies first, as ``Item.integrate`` does."""
    origins: dict[Id, Id | None] = {}
    rights: dict[Id, Id | None] = {}
    for client, at in group:
        struct = whole.structs[client][at]
        for clock in range(struct.clock, struct.clock + struct.length):
            origins[client, clock] = struct.origin if clock == struct.clock else (client, clock - 1)
            rights[client, clock] = struct.right_origin
    if any(link is not None and link not in origins for links in (origins, rights) for link in links.values()):
        return None  # a link out of the list: no honest client's, and engines differ on it
    row = _Row(origins, rights)
    waiting: set[Id] = set()
    for first in sorted(origins):
        stack = [first]
        while stack:
            item = stack[-1]
            needs = ((item[0], item[1] - 1), origins[item], rights[item])
            missing = next((need for need in needs if need in origins and need not in row.placed), None)
            if item in row.placed:
                stack.pop()
            elif missing is None:
                row.place(item)
                stack.pop()
            elif missing in waiting:
                return None  # they wait for each other: no order of arrival integrates them
            else:
                waiting.add(item)
                stack.append(missing)
    return row.last()


class _Row:
    """A list under YATA: one clock each."""

    def __init__(self, origins: dict[Id, Id | None], rights: dict[Id, Id | None]) -> None:
        self.origins = origins
        self.rights = rights
        self.placed: set[Id] = set()
        self._next: dict[Id | None, Id | None] = {}  # None stands before the first and after the last

    def place(self, item: Id) -> None:
        """Integrate one item whose links are placed."""
        origin, right = self.origins[item], self.rights[item]
        left = origin
        other = self._next.get(left)
        before: set[Id] = set()
        conflicting: set[Id] = set()
        while other is not None and other != right:
            before.add(other)
            conflicting.add(other)
            its_origin = self.origins[other]
            if its_origin == origin:
                if other[0] < item[0]:
                    left = other
                    conflicting.clear()
                elif self.rights[other] == right:
                    break
            elif its_origin in before:
                if its_origin not in conflicting:
                    left = other
                    conflicting.clear()
            else:
                break
            other = self._next.get(other)
        self._next[item] = self._next.get(left)
        self._next[left] = item
        self.placed.add(item)

    def last(self) -> Id | None:
        """The rightmost item."""
        item: Id | None = None
        while (after := self._next.get(item)) is not None:
            item = after
        return item


def losers(whole: Whole, deleted: DeleteSet) -> Iterator[tuple[int, int, int]]:
    """Spans ``(client, start, end)`` of map values that a concurrent write has replaced and that no update deletes."""
    for group in map_entries(whole).values():
        if len(group) < 2:
            continue
        live = []
        for client, at in group:
            struct = whole.structs[client][at]
            if struct.ref != DELETED and not deleted.covers(client, struct.clock, struct.clock + struct.length):
                live.append((client, struct.clock, struct.clock + struct.length))
        last = last_entry(whole, group) if live else None
        if last is None:
            continue
        for client, start, end in live:
            if (client, end - 1) != last:
                yield client, start, end


def last_entries(parsed: Parsed) -> dict[MapKey, Id]:
    """For every map key of a whole document the id of its last item, deleted or not: the origin of the next write.

    Where the order was not resolved (see the module), the greatest (clock, client). Raises ValueError for a document
    with gaps.
    """
    whole = Whole(parsed)
    found: dict[MapKey, Id] = {}
    for key, group in map_entries(whole).items():
        last = last_entry(whole, group)
        if last is None:
            clock, client = max((s.clock + s.length - 1, c) for c, at in group for s in (whole.structs[c][at],))
            last = (client, clock)
        found[key] = last
    return found
