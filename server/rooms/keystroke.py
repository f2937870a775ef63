"""A keystroke on its way through the gate: the one shape that nearly all updates have, decided in little time.

Owns no rule: whatever is not exactly what ``Admission`` admits whole, and as a plain letter, is left to it. A letter is
one string by one client, next after what is known of that client, with neighbours that are known and live under one
parent that may hold letters, from the principal whose id it is.
"""

from __future__ import annotations

from bisect import bisect_right

from crdt_docs.updates.parse import STRING, TEXT_TYPE, XML_TEXT_TYPE, Id, Parsed
from server.domain.access import PrincipalKey
from server.rooms.verdict import Admit, Delta, Known, Run


def admit_keystroke(gate: Known, parsed: Parsed, principal: PrincipalKey) -> Admit | None:
    """Admit a letter of a live Update; None where it is anything else."""
    _, sections, deletes = parsed
    if deletes or len(sections) != 1:
        return None
    client, clock, structs, end = sections[0]
    if len(structs) != 1 or gate.state_vector.get(client) != clock:
        return None
    struct = structs[0]
    if struct.ref != STRING:
        return None
    claim = gate.claims.get(client)
    if claim is None or claim.provisional or claim.principal != principal:
        return None
    run = _place(gate, struct.origin, struct.right_origin)
    if run is None:
        return None
    return Admit(parsed, (), Delta({client: end}, {client: ([clock], [run])}, {}, [], ()))


def _place(gate: Known, origin: Id | None, right: Id | None) -> Run | None:
    """The run that the letter is of, if its neighbours agree that it is one."""
    if origin is None or origin == right:
        return None
    run = _live(gate, origin)
    if run is None:
        return None
    if right is not None:
        beside = _live(gate, right)
        if beside is None or beside.parent != run.parent:
            return None
    if run.parent.__class__ is tuple:
        info = gate.types.get(run.parent)
        if info is None or (info.pinned and info.ref != TEXT_TYPE and info.ref != XML_TEXT_TYPE):
            return None
    elif run.parent in gate.shape.roots:
        return None
    return run if not run.hole else Run(run.parent, False, False)


def _live(gate: Known, ident: Id) -> Run | None:
    """What a neighbour is of, if it is known, and no key's value."""
    client, clock = ident
    if clock >= gate.state_vector.get(client, 0):
        return None
    starts, runs = gate.runs[client]
    run = runs[-1] if clock >= starts[-1] else runs[bisect_right(starts, clock) - 1]
    return None if run.parent is None or run.keyed else run
