"""A keystroke on its way through the gate: the two shapes that nearly all updates have, decided in little time.

Owns no rule: whatever is not exactly what ``Admission`` admits whole, and as plain typing, is left to it. A letter is
one string by one client, next after what is known of that client, with neighbours that are known and live under one
parent that may hold letters, from the principal whose id it is. A backspace deletes one range that is known and was
not deleted before, whosever it is. One function decides each, for calls are most of what so little costs.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from crdt_docs.updates.parse import STRING, TEXT_TYPE, XML_TEXT_TYPE, Id, Parsed
from server.domain.access import PrincipalKey
from server.domain.log import Claim
from server.rooms.verdict import Admit, Delta, Known, Lacking, Run

_NO_CLAIMS: Final[tuple[Claim, ...]] = ()
_NOTHING_LACKS: Final[tuple[Lacking, ...]] = ()
_new = tuple.__new__  # a NamedTuple's own __new__ is Python, and twice as slow


def admit_keystroke(gate: Known, parsed: Parsed, principal: PrincipalKey) -> Admit | None:
    """Admit a letter or a backspace of a live Update; None where it is anything else."""
    _, sections, deletes = parsed
    if deletes:
        return None if sections else _admit_backspace(gate, parsed)
    if len(sections) != 1:
        return None
    client, clock, structs, end = sections[0]
    known = gate.state_vector
    if len(structs) != 1 or known.get(client) != clock:
        return None
    _, _, ref, _, _, _, origin, right, _, _, _ = structs[0]
    if ref != STRING or origin is None or origin == right:
        return None
    claim = gate.claims.get(client)
    if claim is None or claim.provisional or claim.principal != principal:
        return None
    writer, at = origin
    if at >= known.get(writer, 0):
        return None
    starts, runs = gate.runs[writer]
    run = runs[-1] if at >= starts[-1] else runs[bisect_right(starts, at) - 1]
    parent, keyed, hole = run
    if keyed or parent is None or not _may_hold_letters(gate, parent):
        return None
    if right is not None:
        writer, at = right
        if at >= known.get(writer, 0):
            return None
        starts, runs = gate.runs[writer]
        beside = runs[-1] if at >= starts[-1] else runs[bisect_right(starts, at) - 1]
        if beside is not run and (beside.keyed or beside.parent != parent):
            return None
    if hole:
        run = Run(parent, False, False)
    delta = _new(Delta, ({client: end}, {client: ([clock], [run])}, {}, [], _NO_CLAIMS))
    return _new(Admit, (parsed, _NOTHING_LACKS, delta))


def _may_hold_letters(gate: Known, parent: str | Id) -> bool:
    if parent.__class__ is tuple:
        info = gate.types.get(parent)
        return info is not None and (not info.pinned or info.ref == TEXT_TYPE or info.ref == XML_TEXT_TYPE)
    return parent not in gate.shape.roots


def _admit_backspace(gate: Known, parsed: Parsed) -> Admit | None:
    deletes = parsed.deletes
    client, ranges = deletes[0]
    if len(deletes) != 1 or len(ranges) != 1:
        return None
    clock, length = ranges[0]
    end = clock + length
    if end > gate.state_vector.get(client, 0) or not gate.deleted.spares(client, clock, end):
        return None
    return _new(Admit, (parsed, _NOTHING_LACKS, _new(Delta, ({}, {}, {}, deletes, _NO_CLAIMS))))
