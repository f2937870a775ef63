"""What nearly all of a log is, taken into a gate by a short road: letters and backspaces.

What is in the log was admitted once, so nobody asks again whose it is or whether it fits. Owns no rule: the state that
it leaves is the one that ``Admission`` leaves, and whatever is not one of the two shapes is left to that.
"""

from __future__ import annotations

from bisect import bisect_right

from crdt_docs.updates.parse import STRING, Id, Parsed
from server.rooms.verdict import Known, Run


def restore_keystroke(gate: Known, parsed: Parsed) -> bool:
    """Take in a string next after what is known of its client, beside what lives, or ranges that are deleted.

    False, and nothing changed, where it is anything else.
    """
    _, sections, deletes = parsed
    if deletes:
        return not sections and _restore_deletes(gate, deletes)
    if len(sections) != 1:
        return False
    client, clock, structs, end = sections[0]
    if len(structs) != 1 or gate.state_vector.get(client) != clock or structs[0].ref != STRING:
        return False
    origin, right = structs[0].origin, structs[0].right_origin
    run = _living(gate, origin or right)
    if run is None or (origin and right and _living(gate, right) is None):
        return False
    if run.parent.__class__ is tuple and run.parent not in gate.types:
        return False
    if run.hole:
        run = Run(run.parent, False, False)
    starts, runs = gate.runs[client]
    if runs[-1] != run:
        starts.append(clock)
        runs.append(run)
    gate.state_vector[client] = end
    return True


def _restore_deletes(gate: Known, deletes: list[tuple[int, list[tuple[int, int]]]]) -> bool:
    for client, ranges in deletes:
        known = gate.state_vector.get(client, 0)
        if any(clock + length > known for clock, length in ranges):
            return False
    gate.deleted.update(deletes)
    return True


def _living(gate: Known, ident: Id | None) -> Run | None:
    """What a neighbour is of, if it is known, not collected, and no key's value."""
    if ident is None:
        return None
    client, clock = ident
    if clock >= gate.state_vector.get(client, 0):
        return None
    starts, runs = gate.runs[client]
    run = runs[-1] if clock >= starts[-1] else runs[bisect_right(starts, clock) - 1]
    return None if run.parent is None or run.keyed else run
