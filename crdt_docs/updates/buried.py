"""What lies under something deleted: structs that every engine turns into GC.

Owns that rule. Must never bury what an engine would still show: a struct is buried only if yjs, loading the same
document, would find no parent for it (``Item.getMissing``) or would delete it with its parent (``ContentType.delete``).
"""

from __future__ import annotations

from crdt_docs.updates.parse import DELETED, GC, TYPE, Struct
from crdt_docs.updates.vectors import DeleteSet
from crdt_docs.updates.whole import Place, Whole

BURIED = 2
_UNKNOWN, _ALIVE, _OPEN = 0, 1, 3


def find_buried(whole: Whole, deleted: DeleteSet) -> dict[int, bytearray]:
    """Per client one byte for each struct, BURIED or not; nothing at all for a document in which nothing can be.

    A struct is buried if it is GC, if what it refers to (origin, right origin, parent) is buried, or if its parent is a
    deleted type.
    """
    if not _may_bury(whole, deleted):
        return {}
    states = {client: bytearray(len(structs)) for client, structs in whole.structs.items()}
    for client, structs in whole.structs.items():
        mine = states[client]
        for at, struct in enumerate(structs):
            if mine[at]:
                continue
            if at and struct[6] == (client, struct[0] - 1) and struct[7] is None and struct[2]:
                mine[at] = mine[at - 1]
            else:
                _settle(whole, deleted, states, (client, at))
    return states


def _may_bury(whole: Whole, deleted: DeleteSet) -> bool:
    for client, structs in whole.structs.items():
        for struct in structs:
            if struct[2] == GC:
                return True
            if struct[2] == TYPE and deleted.covers(client, struct[0], struct[0] + 1):
                return True
            if struct[8].__class__ is tuple and whole.at(struct[8]).ref == DELETED:
                return True  # a ContentDeleted that was a type once
    return False


def _settle(whole: Whole, deleted: DeleteSet, states: dict[int, bytearray], first: Place) -> None:
    stack = [first]
    while stack:
        client, at = stack[-1]
        struct = whole.structs[client][at]
        verdict = _judge(whole, deleted, states, struct)
        if isinstance(verdict, int):
            states[client][at] = verdict
            stack.pop()
            continue
        if states[verdict[0]][verdict[1]] == _OPEN or verdict == (client, at):
            raise ValueError("structs refer to each other in a circle")
        states[client][at] = _OPEN
        stack.append(verdict)


def _judge(whole: Whole, deleted: DeleteSet, states: dict[int, bytearray], struct: Struct) -> int | Place:
    """BURIED, _ALIVE, or the place that has to be settled first."""
    if struct.ref == GC:
        return BURIED
    for link in (struct.origin, struct.right_origin, struct.parent):
        if link is None or isinstance(link, str):
            continue
        at = whole.index(link)
        state = states[link[0]][at]
        if state == BURIED:
            return BURIED
        if state != _ALIVE:
            return link[0], at
    if struct.parent.__class__ is tuple:
        holder = whole.at(struct.parent)
        if holder.ref == DELETED or deleted.covers(*_span(struct.parent)):
            return BURIED
    return _ALIVE


def _span(target: tuple[int, int]) -> tuple[int, int, int]:
    return target[0], target[1], target[1] + 1
