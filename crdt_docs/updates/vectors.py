"""State vectors and delete sets: what a replica knows, and what it knows to be deleted.

Owns both encodings and the normal form of delete ranges. Must never allocate by a count that the bytes do not back: a
five-byte state vector that claims 2**29 entries makes native decoders take a gigabyte.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from operator import lt
from typing import Final

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.lib0 import Reader, varuint
from crdt_docs.slices import finish
from crdt_docs.updates.parse import MAX_CLOCK, parse_deletes

StateVector = dict[int, int]
"""Client id to the first clock that is not known."""


def encode_state_vector(vector: StateVector) -> bytes:
    """Encode as yjs does: highest client first."""
    out = bytearray(varuint(len(vector)))
    for client in sorted(vector, reverse=True):
        out += varuint(client)
        out += varuint(vector[client])
    return bytes(out)


def decode_state_vector(data: bytes, max_entries: int | None = None) -> StateVector:
    """Read a state vector. From outside, say how many entries it may have: it names as many as it likes.

    Raises TooLarge for more than ``max_entries`` entries or clocks over 32 bits, and Malformed for a client named
    twice, for varints that are overlong or over 53 bits, and for trailing bytes.
    """
    return finish(decode_in_slices(data, max_entries))


def decode_in_slices(data: bytes, max_entries: int | None = None) -> Generator[None, None, StateVector]:
    """``decode_state_vector``, letting others run every millisecond or so."""
    reader = Reader(data)
    number = reader.varuint()
    if number > (len(data) - reader.at) // 2:
        raise Malformed("count exceeds the bytes")
    if max_entries is not None and number > max_entries:
        raise TooLarge("state vector has too many entries")
    vector: StateVector = {}
    for done in range(number):
        client = reader.varuint()
        clock = reader.varuint()
        if clock > MAX_CLOCK:
            raise TooLarge("clock over 32 bits")
        vector[client] = clock
        if not (done + 1) % SLICE:
            yield
    if len(vector) != number:
        raise Malformed("client twice")
    reader.finish()
    return vector


SLICE: Final = 500
"""Entries of a state vector that are read before others may run."""
BATCH = 64
"""Ranges from which one pass over all is cheaper than one insertion each."""
CLOCKS: Final = "Q"
"""Kind of an array of clocks. Python's search for garbage looks at each entry of a list, and at none of an array: where
a document has a hundred thousand of them, that is milliseconds in which nobody else runs."""


class DeleteSet:
    """Deleted clocks in normal form: per client a flat, sorted array ``start, end, start, end, …``; none touch.

    Two sets that delete the same clocks are equal and encode to the same bytes.
    """

    __slots__ = ("_clients",)

    def __init__(self, deletes: Iterable[tuple[int, Iterable[tuple[int, int]]]] = ()) -> None:
        self._clients: dict[int, array[int]] = {}
        self.update(deletes)

    def update(self, deletes: Iterable[tuple[int, Iterable[tuple[int, int]]]]) -> None:
        """Add ``(client, [(clock, length)])``, as ``Parsed.deletes`` has them."""
        for client, ranges in deletes:
            new = list(ranges)
            if len(new) > BATCH:
                if not self._extend(client, new):
                    self._merge(client, [(clock, clock + length) for clock, length in new])
                continue
            for clock, length in new:
                self.add(client, clock, clock + length)

    def _extend(self, client: int, new: list[tuple[int, int]]) -> bool:
        """Append ranges, if they are in normal form and lie behind all that are held, as nearly always."""
        flat = [0] * (2 * len(new))
        flat[::2] = [clock for clock, _ in new]
        flat[1::2] = [clock + length for clock, length in new]
        old = self._clients.get(client)
        if old and flat[0] <= old[-1] or not all(map(lt, flat, islice(flat, 1, None))):
            return False
        self._clients.setdefault(client, array(CLOCKS)).extend(flat)
        return True

    def _merge(self, client: int, spans: list[tuple[int, int]]) -> None:
        """Add many at once by one sorted pass: one at a time each shifts all that lies behind it."""
        old = self._clients.get(client, array(CLOCKS))
        spans += zip(old[::2], old[1::2], strict=True)
        spans.sort()
        flat: list[int] = []
        for start, end in spans:
            if flat and start <= flat[-1]:
                flat[-1] = max(flat[-1], end)
            elif start < end:
                flat += (start, end)
        if flat:
            self._clients[client] = array(CLOCKS, flat)

    def add(self, client: int, start: int, end: int) -> None:
        """Add the clocks from ``start`` to before ``end``."""
        if start >= end:
            return
        flat = self._clients.get(client)
        if flat is None:
            self._clients[client] = array(CLOCKS, (start, end))
        elif start > flat[-1]:
            flat.append(start)
            flat.append(end)
        else:
            low = bisect_left(flat, start)  # odd: start lies in a range, or touches its end
            high = bisect_right(flat, end)  # odd: end lies in a range, or touches its start
            flat[low:high] = array(CLOCKS, [start] * (~low & 1) + [end] * (~high & 1))

    def take(self, client: int, flat: array[int]) -> None:
        """Take over a client's next ranges, which lie behind all that are held of it: flat, sorted, none touch."""
        known = self._clients.get(client)
        if known is None:
            self._clients[client] = flat
        elif flat[0] > known[-1]:
            known += flat
        else:
            raise ValueError("delete ranges out of order")

    def covers(self, client: int, start: int, end: int) -> bool:
        """Whether every clock from ``start`` to before ``end`` is deleted."""
        if start >= end:
            return True
        flat = self._clients.get(client)
        if flat is None:
            return False
        at = bisect_right(flat, start)
        return at & 1 == 1 and flat[at] >= end

    def spares(self, client: int, start: int, end: int) -> bool:
        """Whether no clock from ``start`` to before ``end`` is deleted."""
        flat = self._clients.get(client)
        if flat is None or start >= flat[-1]:
            return True
        at = bisect_right(flat, start)
        return not at & 1 and end <= flat[at]

    def missing(self, client: int, start: int, end: int) -> list[tuple[int, int]]:
        """The parts ``(start, end)`` of the given span that are not deleted, in order."""
        flat = self._clients.get(client)
        if flat is None:
            return [(start, end)] if start < end else []
        gaps = []
        at = bisect_right(flat, start)
        if at & 1:
            start = flat[at]
            at += 1
        while start < end:
            stop = min(end, flat[at]) if at < len(flat) else end
            if start < stop:
                gaps.append((start, stop))
            if at >= len(flat):
                break
            start = flat[at + 1]
            at += 2
        return gaps

    def items(self) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Each client with its ranges ``[(clock, length)]``, highest client first: the order that yjs writes."""
        for client in sorted(self._clients, reverse=True):
            flat = self._clients[client]
            yield client, [(flat[at], flat[at + 1] - flat[at]) for at in range(0, len(flat), 2)]

    def copy(self) -> DeleteSet:
        """An independent copy."""
        twin = DeleteSet()
        twin._clients = {client: flat[:] for client, flat in self._clients.items()}
        return twin

    @property
    def ranges(self) -> int:
        """How many ranges are held, over all clients."""
        return sum(map(len, self._clients.values())) // 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeleteSet) and self._clients == other._clients

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self._clients)

    def __repr__(self) -> str:
        return f"DeleteSet({list(self.items())})"

    def encode(self) -> bytes:
        """The bytes that end an update."""
        return encode_deletes(self.items())

    @classmethod
    def decode(cls, data: bytes) -> DeleteSet:
        """Read the bytes that end an update, in any order and overlap. Raises Malformed or TooLarge."""
        try:
            deletes, end = parse_deletes(data)
        except IndexError:
            raise Malformed("delete set cut short") from None
        if end != len(data):
            raise Malformed("trailing bytes")
        return cls(deletes)


def encode_deletes(deletes: Iterable[tuple[int, list[tuple[int, int]]]]) -> bytes:
    """Encode ``(client, [(clock, length)])`` in the order given; clients without ranges are left out."""
    out = bytearray()
    number = 0
    for client, ranges in deletes:
        if not ranges:
            continue
        number += 1
        out += varuint(client)
        out += varuint(len(ranges))
        append_ranges(out, ranges)
    return varuint(number) + bytes(out)


def append_ranges(out: bytearray, ranges: Iterable[tuple[int, int]]) -> None:
    """Encode ``(clock, length)`` as a delete set has them, two varints each."""
    for clock, length in ranges:
        while clock > 127:
            out.append(clock & 127 | 128)
            clock >>= 7
        out.append(clock)
        while length > 127:
            out.append(length & 127 | 128)
            length >>= 7
        out.append(length)
