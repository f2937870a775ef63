"""A gate's state as bytes: a snapshot carries it, so that nobody has to parse the snapshot to go on from it.

Owns the layout: lines of JSON, each short enough to be read in a moment, for a long document's state takes a while in
all, and others must be able to run in between. Must never be taken for another version's, nor in part.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from crdt_docs.updates.parse import Id
from crdt_docs.updates.vectors import CLOCKS, DeleteSet
from server.domain.garbage import Heap
from server.rooms.verdict import Known, Run, Starts, TypeInfo

VERSION: Final = 3
LINE: Final = 500
"""Entries in a line."""
BREATH: Final = 12 * 1024
"""Bytes that are read before others may run; about a millisecond."""
_DELETED: Final = b'["deleted",'
_END: Final = b"[]"


class State(NamedTuple):
    """What of a gate's knowledge is the document's."""

    state_vector: dict[int, int]
    deleted: DeleteSet
    types: dict[Id, TypeInfo]
    runs: dict[int, tuple[Starts, list[Run]]]


def encode(known: Known) -> bytes:
    """The state in lines."""
    return b"\n".join(chain((json.dumps({"version": VERSION}).encode(),), _lines(known), (_END,)))


def _lines(known: Known) -> Iterator[bytes]:
    for some in _some(list(known.state_vector.items())):
        yield _line("vector", some)
    for some in _some([(*ident, *info) for ident, info in known.types.items()]):
        yield _line("types", some)
    for client, ranges in known.deleted.items():
        for part in _some(ranges):
            yield _line("deleted", [client, [edge for clock, length in part for edge in (clock, clock + length)]])
    table: dict[Run, int] = {}
    for client, (starts, values) in known.runs.items():
        for at in range(0, len(starts), LINE):
            part_of = values[at : at + LINE]
            fresh = [run for run in dict.fromkeys(part_of) if run not in table]
            table.update((run, number) for number, run in enumerate(fresh, len(table)))
            if fresh:
                yield _line("table", fresh)
            yield _line("runs", [client, list(starts[at : at + LINE]), [table[run] for run in part_of]])


def _some(entries: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (entries[at : at + LINE] for at in range(0, len(entries), LINE))


def _line(kind: str, what: object) -> bytes:
    return json.dumps([kind, what], separators=(",", ":")).encode()


def decode(state: bytes, deleted: DeleteSet | None = None) -> Generator[None, None, State]:
    """Read it, letting others run after a few lines. Raises ValueError, KeyError, TypeError, IndexError, OverflowError.

    ``deleted`` is what it says is deleted, where that is known already.
    """
    read = State({}, DeleteSet() if deleted is None else deleted.copy(), {}, {})
    table: list[Run] = []
    read_to = 0
    end = state.find(b"\n")
    if json.loads(state[:end])["version"] != VERSION:
        raise ValueError("another version's")
    while True:
        start, end = end + 1, state.find(b"\n", end + 1)
        if end < 0:
            break
        if deleted is not None and state.startswith(_DELETED, start):
            continue
        kind, what = json.loads(state[start:end])
        _take(read, table, kind, what)
        if end - read_to > BREATH:
            read_to = end
            yield
    if state[start:] != _END:
        raise ValueError("cut short")
    return read


def _take(read: State, table: list[Run], kind: str, what: Any) -> None:
    match kind:
        case "vector":
            read.state_vector.update(what)
        case "types":
            read.types.update(((client, clock), TypeInfo(*info)) for client, clock, *info in what)
        case "deleted":
            client, flat = what
            read.deleted.take(client, array(CLOCKS, flat))
        case "table":
            table.extend(Run(tuple(at) if isinstance(at, list) else at, *rest) for at, *rest in what)
        case "runs":
            client, first, numbers = what
            starts, values = read.runs.setdefault(client, (array(CLOCKS), Heap()))
            starts.extend(first)
            values += [table[number] for number in numbers]
        case _:
            raise ValueError("unknown")
