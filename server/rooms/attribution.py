"""Who wrote what, as it is noted beside each admitted update. Owns what is worth a note; must never cost typing one.

A note begins where the actor of a client id changes, and again after an hour. Deletions leave no struct behind, so what
loses something is noted too: the Texts and Maps of the ledger, and its entries; never the running text of a document,
where deleting is typing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple

from crdt_docs.updates.parse import MAP_TYPE, TEXT_TYPE, Id, Parsed
from server.domain.log import AUTHOR_HOLDS, Actor, Entry
from server.rooms.gate import Gate
from server.rooms.hearing import KeySet
from server.rooms.verdict import Admit, Run

MOST_CUTS: Final = 1_000
"""Places that one update is noted to have deleted from."""

_new = tuple.__new__  # a NamedTuple's own __new__ is Python, and twice as slow


class Pending(NamedTuple):
    """An admitted update on its way to the log."""

    entry: Entry
    parsed: Parsed
    keys: tuple[KeySet, ...] = ()


class Attribution:
    """What one room remembers of who wrote last under which client id."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: dict[int, tuple[Actor, float]] = {}

    def admit(self, gate: Gate, admit: Admit, actor: Actor, at: float) -> Entry:
        """Make the admission the gate's state; the entry for the log, with its notes."""
        begun: list[Id] = []
        for client in admit.delta.ends:
            last = self._last.get(client)
            if last is None or at - last[1] >= AUTHOR_HOLDS or (last[0] is not actor and last[0] != actor):
                self._last[client] = (actor, at)
                begun.append((client, gate.state_vector.get(client, 0)))
        gate.apply(admit)
        deletes = admit.delta.deletes
        return _new(Entry, (admit.parsed.update, actor, at, tuple(begun), _cuts(gate, deletes) if deletes else ()))


def _matters(gate: Gate, run: Run) -> bool:
    """Whether it is noted who deletes something of it."""
    if isinstance(run.parent, tuple):
        info = gate.types.get(run.parent)
        return info is not None and info.pinned and info.ref in (TEXT_TYPE, MAP_TYPE)
    return run.keyed and run.parent in gate.shape.roots


def _cuts(gate: Gate, deletes: Iterable[tuple[int, list[tuple[int, int]]]]) -> tuple[Id, ...]:
    found: dict[Id, None] = {}
    for client, ranges in deletes:
        starts, runs = gate.runs[client]
        if len(runs) * 8 < len(ranges) and not any(_matters(gate, run) for run in runs):
            continue
        for clock, length in ranges:
            end = clock + length
            at = bisect_right(starts, clock) - 1
            while at < len(starts) and starts[at] < end:
                parent = runs[at].parent
                if not _matters(gate, runs[at]):
                    pass
                elif isinstance(parent, tuple):
                    found[parent] = None
                else:
                    first = max(clock, starts[at])
                    last = min(end, starts[at + 1]) if at + 1 < len(starts) else end
                    found.update(((client, entry), None) for entry in range(first, min(last, first + MOST_CUTS)))
                if len(found) >= MOST_CUTS:
                    return tuple(found)[:MOST_CUTS]
                at += 1
    return tuple(found)
