"""Characters outside the basic plane, which yjs counts as two and may split.

Owns what a split leaves. Must never change a length: clocks count UTF-16 units.

When an origin, a right origin or the end of a delete range falls between the halves of a pair, yjs writes U+FFFD in
both places (``ContentString.splice``) as it loads the document; yrs does not, and the two part for good. Written into
the bytes beforehand, the split finds no pair, and all engines read the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from crdt_docs.updates.cut import read_varuint
from crdt_docs.updates.parse import STRING, Id, Struct
from crdt_docs.updates.vectors import DeleteSet
from crdt_docs.updates.whole import Whole

_LONE = "\ufffd".encode("utf-16-le")


def find_split_pairs(whole: Whole, deleted: DeleteSet) -> dict[Id, list[int]]:
    """Per struct, named by its first id, the offsets of second halves whose pair something splits."""
    halves = {(client, struct.clock + offset): struct for client, struct, offset in _second_halves(whole)}
    split: dict[Id, list[int]] = {}
    if not halves:
        return split
    for target in _boundaries(whole, deleted):
        struct = halves.pop(target, None)
        if struct is not None:
            split.setdefault((target[0], struct.clock), []).append(target[1] - struct.clock)
    return split


def _second_halves(whole: Whole) -> Iterator[tuple[int, Struct, int]]:
    for client, structs in whole.structs.items():
        for struct in structs:
            if struct[2] != STRING or struct[5] - struct[4] <= struct[1] + 1:
                continue
            raw = string_bytes(whole.update, struct)
            if max(raw) < 0xF0:  # no character of four bytes
                continue
            unit = 0
            for character in raw.decode():
                unit += 1
                if character > "\uffff":
                    yield client, struct, unit
                    unit += 1


def _boundaries(whole: Whole, deleted: DeleteSet) -> Iterator[Id]:
    """Every id before which yjs ends a struct."""
    for structs in whole.structs.values():
        for struct in structs:
            if struct[6] is not None:
                yield struct[6][0], struct[6][1] + 1
            if struct[7] is not None:
                yield struct[7]
    for client, ranges in deleted.items():
        for clock, length in ranges:
            yield client, clock
            yield client, clock + length


def string_bytes(update: bytes, struct: Struct) -> bytes:
    """The UTF-8 of a struct that holds a string."""
    _, at = read_varuint(update, struct.content)
    return update[at : struct.end]


def slice_string(raw: bytes, start: int, end: int, split: list[int] | None) -> bytes:
    """Units ``start`` to ``end`` of UTF-8 text, with the pairs that end before an offset in ``split`` replaced."""
    if split is None and raw.isascii():
        return raw[start:end]
    units = bytearray(raw.decode().encode("utf-16-le"))
    for offset in split or ():
        units[2 * offset - 2 : 2 * offset + 2] = _LONE + _LONE
    return units[2 * start : 2 * end].decode("utf-16-le").encode()
