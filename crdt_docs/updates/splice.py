"""Merging and diffing updates by splicing bytes.

Owns documents as bytes. Precondition (I1, what the gate guarantees): an update's structs start at or below the known
clock of their client, and what they depend on came before; then the structs of one client are contiguous, merging is
concatenation, and a difference is a slice. Must never hand out more than was asked for: native clients can crash on a
struct that overlaps what they have, so a difference is cut exactly at the state vector.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterable, Sequence
from typing import Final
from zlib import crc32

from crdt_docs.errors import Malformed
from crdt_docs.lib0 import Reader, varuint
from crdt_docs.rope import Piece, Rope, view
from crdt_docs.slices import finish
from crdt_docs.updates.cut import cut
from crdt_docs.updates.delete_bytes import DeleteBytes, read_normal
from crdt_docs.updates.parse import SKIP, Parsed, Section, parse
from crdt_docs.updates.source import Source
from crdt_docs.updates.strand import EVERY, Strand, clock_of
from crdt_docs.updates.vectors import DeleteSet, StateVector, encode_deletes

_INDEX_VERSION = 1
_POINTS: Final = 400
"""Points of the index that are read before others may run; about a millisecond."""
MANY: Final = 1000
"""Delete ranges from which they are sent as they came, rather than in normal form."""


def encode_update(
    sections: Iterable[tuple[int, int, int, bytes]], deletes: Iterable[tuple[int, list[tuple[int, int]]]]
) -> bytes:
    """An update from ``(client, clock, number of structs, their bytes)`` and ``(client, [(clock, length)])``."""
    out: list[bytes] = []
    number = 0
    for client, clock, structs, body in sections:
        number += 1
        out += (varuint(structs), varuint(client), varuint(clock), body)
    return b"".join((varuint(number), *out, encode_deletes(deletes)))


class Spliced:
    """A document, as the bytes of its structs and its delete ranges.

    ``add`` keeps I1: it raises ValueError, and changes nothing, where an update starts past what is known.
    """

    __slots__ = ("_strands", "_new", "_deletes", "_delete_bytes", "_told", "_size")

    def __init__(self) -> None:
        self._strands: dict[int, Strand] = {}
        self._new: dict[int, Strand] = {}  # of clients of whom something was brought ahead, and nothing is known yet
        self._deletes = DeleteSet()
        self._delete_bytes: bytes | None = b"\x00"
        self._told = DeleteBytes()
        self._size = 0

    def add(self, parsed: Parsed, *, whole: bool = False) -> None:
        """Splice one update in; what is known already is cut off. ``whole`` where it is known to have no Skip."""
        update, sections, deletes = parsed
        strands = self._strands
        if whole and not deletes and len(sections) == 1:  # a keystroke, mostly: what follows would come to the same
            client, clock, structs, end = sections[0]
            strand = strands.get(client)
            if strand is not None and strand.end == clock:
                before = strand.size
                strand.append(update, structs, end)
                self._size += strand.size - before
                return
        self._check(sections, deletes, whole)
        for client, clock, structs, end in sections:
            strand = strands.get(client)
            if strand is None:
                strand = self._new.pop(client, None) if self._new else None
                if strand is None or strand.start != clock:
                    strand = Strand(clock)
                strands[client] = strand
            before = strand.size
            if clock == strand.end:
                strand.append(update, structs, end)
            elif end > strand.end:
                strand.append_after(update, client, structs, end)
            self._size += strand.size - before
        if deletes:
            self._delete_bytes = None
            self._deletes.update(deletes)
            self._told.add(deletes)

    def encode_ahead(self, parsed: Parsed) -> Generator[None, None, None]:
        """Do in slices what of adding an update takes longest where it deletes much."""
        return self._told.encode_ahead(parsed.deletes)

    def bring_ahead(self, parsed: Parsed) -> Generator[None, None, None]:
        """Do in slices most of what adding a long update takes, before it is due. Nobody sees anything of it.

        If something else is added first, it was for nothing; ``add`` is what adds it in any case.
        """
        for client, clock, structs, _ in parsed.sections:
            strand = self._strands.get(client)
            if strand is None:
                strand = self._new[client] = Strand(clock)
            if strand.end == clock:
                yield from strand.bring_ahead(parsed.update, structs)

    def _check(self, sections: list[Section], deletes: list[tuple[int, list[tuple[int, int]]]], whole: bool) -> None:
        strands = self._strands
        for client, clock, structs, _ in sections:
            strand = strands.get(client)
            end = self._floor(clock) if strand is None else strand.end
            if clock > end:
                raise ValueError(f"gap: client {client} is known to {end}, the update starts at {clock}")
            for struct in () if whole else structs:
                if struct[2] == SKIP and struct[0] + struct[1] > end:
                    raise ValueError(f"gap: client {client} skips {struct[1]} clocks at {struct[0]}")
        if deletes:
            self._check_deletes({section[0]: section[3] for section in sections}, deletes)

    def _floor(self, clock: int) -> int:
        return 0

    def _check_deletes(self, ends: dict[int, int], deletes: list[tuple[int, list[tuple[int, int]]]]) -> None:
        for client, ranges in deletes:
            strand = self._strands.get(client)
            end = max(ends.get(client, 0), 0 if strand is None else strand.end)
            for clock, length in ranges:
                if clock + length > end:
                    raise ValueError(
                        f"gap: client {client} is known to {end}, not to {clock + length}, which is deleted"
                    )

    def full(self) -> bytes:
        """One update that rebuilds the document: clients from the highest down, delete ranges in normal form."""
        return bytes(Rope(self._pieces({})))

    def diff(self, have: StateVector, deletes: DeleteSet | None = None) -> bytes:
        """What a replica at ``have`` lacks: structs cut exactly at its clocks, and the whole delete set.

        ``deletes`` stands in for the whole set where it is known which deletions the replica has been told.
        """
        return bytes(Rope(self._pieces(have, deletes)))

    def rope(self, have: StateVector, deletes: DeleteSet | None = None) -> Rope:
        """``diff``, as it is now, to be read off piece by piece while the document grows: nothing is copied for it.

        Many delete ranges are not put in order for it, which says the same.
        """
        if deletes is not None or self._told.number < MANY:
            return Rope(self._pieces(have, deletes))
        return Rope(self._structs(have) + self._told.pieces())

    def rope_of(self, parsed: Parsed) -> Rope:
        """An update that was added last, the same way."""
        out: list[Piece] = [varuint(len(parsed.sections))]
        for client, clock, _, _ in parsed.sections:
            out += self._strands[client].pieces(client, clock)
        return Rope(out + (self._told.last() if parsed.deletes else [b"\0"]))

    def _pieces(self, have: StateVector, deletes: DeleteSet | None = None) -> list[Piece]:
        return [*self._structs(have), self._ended() if deletes is None else deletes.encode()]

    def _structs(self, have: StateVector) -> list[Piece]:
        out: list[Piece] = [b""]
        for client in sorted(self._strands, reverse=True):
            strand = self._strands[client]
            known = max(have.get(client, 0), strand.start)
            if known < strand.end:
                out += strand.pieces(client, known)
        out[0] = varuint(len(out) // 2)
        return out

    def _ended(self) -> bytes:
        if self._delete_bytes is None:
            self._delete_bytes = self._deletes.encode()
        return self._delete_bytes

    def dissolve(self) -> Generator[None, None, None]:
        """Let go of it, one client's structs at a time, for it is not used any more: all at once takes long."""
        while self._strands:
            self._strands.popitem()
            yield

    @property
    def state_vector(self) -> StateVector:
        """Client to the first clock not held; a new dict each time."""
        return {client: strand.end for client, strand in self._strands.items()}

    @property
    def deletes(self) -> DeleteSet:
        """The delete ranges held; not to be changed."""
        return self._deletes

    @property
    def size(self) -> int:
        """Bytes held: exact for structs, four for each delete range."""
        return self._size + 4 * self._deletes.ranges

    def dump_index(self) -> bytes:
        """The index into ``full()``, so that ``load`` need not read those bytes struct by struct."""
        pieces = [view(piece) for piece in self._pieces({})]
        crc = 0
        for piece in pieces:
            crc = crc32(piece, crc)
        out = bytearray()
        for value in (_INDEX_VERSION, sum(map(len, pieces)), crc, len(self._strands)):
            out += varuint(value)
        at = len(pieces[0])
        for client, head, body in zip(sorted(self._strands, reverse=True), pieces[1::2], pieces[2::2], strict=False):
            strand = self._strands[client]
            at += len(head)
            for value in (client, strand.start, strand.end, strand.number, at, len(body), len(strand.points)):
                out += varuint(value)
            at += len(body)
            last = (strand.start, 0, 0)
            for point in strand.points:
                for new, old in zip(point, last, strict=True):
                    out += varuint(new - old)
                last = point
        return bytes(out) + crc32(out).to_bytes(4, "big")

    @classmethod
    def load(cls, update: bytes, index: bytes = b"") -> Spliced:
        """A document from ``full()`` and, to save reading it through, ``dump_index()`` of the same moment.

        An index that is not of these very bytes is ignored. Raises Malformed for an update that cannot be read, and
        ValueError for one with gaps.
        """
        if index:
            try:
                return finish(cls.load_in_slices([update], index))
            except (Malformed, ValueError, IndexError):
                pass  # another version's, another snapshot's or a damaged index: the bytes themselves are the truth
        loaded = cls()
        loaded.add(parse(update))
        return loaded

    @classmethod
    def load_in_slices(cls, pieces: Sequence[bytes], index: bytes) -> Generator[None, None, Spliced]:
        """``load`` of an update that lies in pieces, letting others run every millisecond or so.

        Raises ValueError, Malformed or IndexError for an index that is not of these very bytes.
        """
        reader = Reader(index[:-4])
        if crc32(index[:-4]).to_bytes(4, "big") != index[-4:] or reader.varuint() != _INDEX_VERSION:
            raise ValueError("not an index")
        size, crc, clients = reader.varuint(), reader.varuint(), reader.varuint()
        if size != sum(map(len, pieces)):
            raise ValueError("the index of another update")
        loaded, source, done = cls(), Source(pieces), 0
        source.skip(1)  # how many clients there are; where there are none, nothing else stands before the deletions
        for _ in range(clients):
            client, start, end, number, at, length, points = (reader.varuint() for _ in range(7))
            strand = loaded._strands[client] = Strand(start)
            strand.end = end
            strand.number = number
            source.skip(at)
            while len(strand.body) < length:
                strand.body += source.read(length - len(strand.body))
                yield
            point = (start, 0, 0)
            for _ in range(points):
                point = (point[0] + reader.varuint(), point[1] + reader.varuint(), point[2] + reader.varuint())
                strand.points.append(point)
                done += 1
                if not done % _POINTS:
                    yield
            if points:
                strand.mark = point[2] + EVERY
            strand.size = length
            loaded._size += length
        reader.finish()
        ended = source.rest()
        if source.crc != crc:
            raise ValueError("the index of another update")
        for client, flat, body in (yield from read_normal(ended)):
            loaded._deletes.take(client, flat)
            loaded._told.take(client, len(flat) // 2, body)
        loaded._delete_bytes = ended
        return loaded


class _Stretch(Spliced):
    """Part of a document: a client's structs may start at any clock, and deletes may point before it."""

    __slots__ = ()

    def _floor(self, clock: int) -> int:
        return clock

    def _check_deletes(self, ends: dict[int, int], deletes: list[tuple[int, list[tuple[int, int]]]]) -> None:
        pass


def merge(updates: Iterable[bytes]) -> bytes:
    """One update that does what these do in this order; they may be a stretch from the middle of a log.

    Raises ValueError where the structs of one client leave a gap between them.
    """
    merged = _Stretch()
    for update in updates:
        merged.add(parse(update))
    return merged.full()


def diff(update: bytes, have: StateVector) -> bytes:
    """What a replica at ``have`` lacks of this update, cut exactly; with the update's whole delete set."""
    sections = []
    parsed = parse(update)
    for section in parsed.sections:
        rest = _after(update, section, have.get(section.client, 0))
        if rest is not None:
            sections.append(rest)
    return encode_update(sections, DeleteSet(parsed.deletes).items())


def _after(update: bytes, section: Section, have: int) -> tuple[int, int, int, bytes] | None:
    client, first, structs, end = section
    at = max(0, bisect_right(structs, have, key=clock_of) - 1)
    while at < len(structs) and (structs[at].ref == SKIP or structs[at].clock + structs[at].length <= have):
        at += 1
    if at == len(structs):
        return None
    struct = structs[at]
    if struct.clock >= have:
        return client, struct.clock, len(structs) - at, update[struct.start : structs[-1].end]
    head = cut(update, client, struct, have - struct.clock)
    return client, have, len(structs) - at, head + update[struct.end : structs[-1].end]


def state_vector(update: bytes) -> StateVector:
    """What a fresh replica knows after this update: each client's structs from clock 0 to the first gap."""
    vector: StateVector = {}
    for client, first, structs, end in parse(update).sections:
        if first == 0:
            known = next((struct.clock for struct in structs if struct.ref == SKIP), end)
            if known:
                vector[client] = known
    return vector


def delete_set(update: bytes) -> DeleteSet:
    """The delete ranges that the update carries."""
    return DeleteSet(parse(update).deletes)
