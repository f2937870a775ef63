"""Compaction: a document without the content that nobody can see any more, from bytes to bytes.

Owns what is kept. Must never lose or reorder anything that lives, nor a clock: replicas of any age must be able to go
on from the trimmed document. Deleted content is gone from the bytes; ids and links that others may still need stay.

1. Deleted is what the delete set says, and what is already ContentDeleted or GC.
2. Map values that lost to a concurrent write are deleted too (``map_entries``).
3. What lies under something deleted becomes GC (``buried``), and its deletion is spelled out in the delete set.
4. Other deleted content becomes ContentDeleted; structs are split where a delete range ends.
5. Neighbours that an engine would merge are merged: GC, ContentDeleted, and live text and values without a key. An
   engine that finds something inserted between them splits them again, with the same origins.
6. Split surrogate pairs are healed in place (``surrogates``).
7. Clients and delete ranges are put in order, so that equal documents trim to equal bytes:
   ``trim(merge([trim(a), b])) == trim(merge([a, b]))`` and ``trim(trim(a)) == trim(a)``.
"""

from __future__ import annotations

from collections.abc import Sequence

from crdt_docs.lib0 import varbytes, varuint
from crdt_docs.updates.buried import BURIED, find_buried
from crdt_docs.updates.cut import read_varuint, skip_values
from crdt_docs.updates.map_entries import losers
from crdt_docs.updates.parse import ANY, DELETED, GC, STRING, Id, Struct, parse
from crdt_docs.updates.splice import encode_update
from crdt_docs.updates.surrogates import find_split_pairs, slice_string, string_bytes
from crdt_docs.updates.vectors import DeleteSet
from crdt_docs.updates.whole import Whole

_HAS_ORIGIN, _HAS_RIGHT_ORIGIN, _HAS_KEY = 0x80, 0x40, 0x20


def trim(update: bytes) -> bytes:
    """The same document without deleted content.

    Takes a whole document: every client from clock 0, nothing referred to and missing. Delete ranges past the end are
    kept. Costs about 10 µs a struct. Raises Malformed for bytes that are not an update, ValueError for one with gaps or
    with links that run in a circle.
    """
    parsed = parse(update)
    whole = Whole(parsed)
    deleted = _spelled_out(whole, parsed.deletes)
    split = find_split_pairs(whole, deleted)
    for client, start, end in sorted(losers(whole, deleted)):
        deleted.add(client, start, end)
    buried = find_buried(whole, deleted)
    cuts = {c: [edge for start, units in ranges for edge in (start, start + units)] for c, ranges in deleted.items()}
    sections = []
    for client in sorted(whole.structs, reverse=True):
        writer = _Writer(whole.update, client, split)
        _write_structs(writer, whole.structs[client], cuts.get(client, ()), buried.get(client))
        sections.append((client, 0, *writer.finish()))
    for client, states in buried.items():
        for struct, state in zip(whole.structs[client], states, strict=True):
            if state == BURIED:
                deleted.add(client, struct.clock, struct.clock + struct.length)
    return encode_update(sections, deleted.items())


def _spelled_out(whole: Whole, deletes: Sequence[tuple[int, list[tuple[int, int]]]]) -> DeleteSet:
    deleted = DeleteSet(deletes)
    for client, structs in whole.structs.items():
        for struct in structs:
            if struct[2] <= DELETED:
                deleted.add(client, struct[0], struct[0] + struct[1])
    return deleted


def _write_structs(writer: _Writer, structs: list[Struct], cuts: Sequence[int], buried: bytearray | None) -> None:
    """Cut every struct where a delete range starts or ends; ``cuts`` are flat, sorted ``[start, end, …]``."""
    edge = 0
    edges = len(cuts)
    for at, struct in enumerate(structs):
        if struct[2] == GC or (buried is not None and buried[at] == BURIED):
            writer.add_gc(struct[1])
            continue
        start = struct[0]
        end = start + struct[1]
        while start < end:
            while edge < edges and cuts[edge] <= start:
                edge += 1
            stop = min(end, cuts[edge]) if edge < edges else end
            writer.add(struct, start, stop, DELETED if edge & 1 else struct[2])
            start = stop


class _Writer:
    """The structs of one client, in order, merged with the one before where an engine would merge them."""

    __slots__ = ("_update", "_client", "_split", "_out", "_number", "_ref", "_head", "_right", "_units", "_pieces")

    def __init__(self, update: bytes, client: int, split: dict[Id, list[int]]) -> None:
        self._update = update
        self._client = client
        self._split = split
        self._out: list[bytes] = []
        self._number = 0
        self._ref = -1  # of the struct that may still grow; -1 for none
        self._head = b""
        self._right: Id | None = None
        self._units = 0
        self._pieces: list[bytes] = []

    def add_gc(self, units: int) -> None:
        """Clocks without content, origin or parent."""
        if self._ref != GC:
            self._flush()
            self._ref = GC
            self._head = b"\x00"
        self._units += units

    def add(self, struct: Struct, start: int, end: int, ref: int) -> None:
        """The clocks ``start`` to ``end`` of a struct, as content ``ref``: its own, or DELETED."""
        info = self._update[struct[3]]
        grows = ref == DELETED or ((ref == STRING or ref == ANY) and not info & _HAS_KEY)
        if not (grows and ref == self._ref and struct[7] == self._right and struct[6] == (self._client, start - 1)):
            self._flush()
            if not grows and start == struct[0] and end == start + struct[1]:
                self._out.append(self._update[struct[3] : struct[5]])
                self._number += 1
                return
            self._ref = ref
            self._right = struct[7]
            self._head = self._head_at(struct, start, info & ~31 | ref)
        self._units += end - start
        if ref != DELETED:
            self._pieces.append(self._content(struct, start - struct[0], end - struct[0]))

    def _head_at(self, struct: Struct, start: int, info: int) -> bytes:
        """What comes before the content: as it was at a struct's beginning, the clock before as origin further in."""
        if start == struct.clock:
            return bytes((info,)) + self._update[struct.start + 1 : struct.content]
        head = bytes((info | _HAS_ORIGIN,)) + varuint(self._client) + varuint(start - 1)
        if info & _HAS_RIGHT_ORIGIN and struct.right_origin is not None:
            head += varuint(struct.right_origin[0]) + varuint(struct.right_origin[1])
        return head

    def _content(self, struct: Struct, start: int, end: int) -> bytes:
        """The bytes of some units of text or values, without the count before them."""
        if struct[2] == STRING:
            raw = string_bytes(self._update, struct)
            split = self._split.get((self._client, struct[0])) if self._split else None
            if split is None and start == 0 and end == struct[1]:
                return raw
            return slice_string(raw, start, end, split)
        _, at = read_varuint(self._update, struct.content)
        first = skip_values(self._update, at, start)
        return self._update[first : skip_values(self._update, first, end - start)]

    def _flush(self) -> None:
        if self._ref < 0:
            return
        self._out.append(self._head)
        if self._ref == STRING:
            self._out.append(varbytes(b"".join(self._pieces)))
        else:
            self._out.append(varuint(self._units))
            self._out += self._pieces
        self._number += 1
        self._ref = -1
        self._units = 0
        self._pieces = []

    def finish(self) -> tuple[int, bytes]:
        """How many structs, and their bytes."""
        self._flush()
        return self._number, b"".join(self._out)
