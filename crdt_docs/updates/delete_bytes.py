"""The delete ranges of a growing document as bytes that are ready to be sent, and reading such bytes bit by bit.

Owns that nobody who joins has to wait until a hundred thousand ranges are encoded anew. Must never be taken for the
normal form: what is added is appended, so ranges may come in any order, touch and overlap, which every reader bears.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator
from typing import Final, NamedTuple

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.lib0 import varuint
from crdt_docs.rope import Piece, Stretch
from crdt_docs.updates.cut import read_varuint
from crdt_docs.updates.parse import MAX_CLOCK
from crdt_docs.updates.vectors import CLOCKS, append_ranges

SLICE: Final = 1000
"""Ranges after which others may run; about a millisecond."""


Deletes = list[tuple[int, list[tuple[int, int]]]]
"""(client, [(clock, length)])."""


class _Ranges:
    __slots__ = ("number", "body")

    def __init__(self) -> None:
        self.number = 0
        self.body = bytearray()


class _Ahead(NamedTuple):
    deletes: Deletes
    bodies: list[bytearray]


class DeleteBytes:
    """Each client's ranges, encoded. Grows by what is added, until a compaction makes the document new."""

    __slots__ = ("_clients", "_ahead", "_last", "number")

    def __init__(self) -> None:
        self._clients: dict[int, _Ranges] = {}
        self._ahead: _Ahead | None = None
        self._last: dict[int, tuple[int, int]] = {}
        self.number = 0

    def encode_ahead(self, deletes: Deletes) -> Generator[None, None, None]:
        """Encode in slices what is to be added later; nobody sees anything of it."""
        if sum(len(ranges) for _, ranges in deletes) <= SLICE:
            return
        ahead = _Ahead(deletes, [])
        for _, ranges in deletes:
            ahead.bodies.append(bytearray())
            for at in range(0, len(ranges), SLICE):
                append_ranges(ahead.bodies[-1], ranges[at : at + SLICE])
                yield
        self._ahead = ahead

    def add(self, deletes: Deletes) -> None:
        """Append them."""
        ahead = self._ahead
        if ahead is not None and ahead.deletes is deletes:
            self._ahead = None
        else:
            ahead = None
        last: dict[int, tuple[int, int]] = {}
        self._last = last
        for at, (client, ranges) in enumerate(deletes):
            held = self._of(client)
            last.setdefault(client, (held.number, len(held.body)))
            if ahead is not None:
                held.body += ahead.bodies[at]
            else:
                append_ranges(held.body, ranges)
            held.number += len(ranges)
            self.number += len(ranges)

    def take(self, client: int, number: int, body: bytes) -> None:
        """Append so many ranges that are encoded already."""
        held = self._of(client)
        held.body += body
        held.number += number
        self.number += number

    def _of(self, client: int) -> _Ranges:
        held = self._clients.get(client)
        if held is None:
            held = self._clients[client] = _Ranges()
        return held

    def pieces(self) -> list[Piece]:
        """The end of an update, as it is now; nothing is copied."""
        return self._from(dict.fromkeys(self._clients, (0, 0)))

    def last(self) -> list[Piece]:
        """The same of an update that was added last, and deletes something."""
        return self._from(self._last)

    def _from(self, starts: dict[int, tuple[int, int]]) -> list[Piece]:
        out: list[Piece] = [varuint(len(starts))]
        for client in sorted(starts, reverse=True):
            held, (number, start) = self._clients[client], starts[client]
            out += (varuint(client) + varuint(held.number - number), Stretch(held.body, start, len(held.body)))
        return out


class Encoded(NamedTuple):
    """One client's ranges: flat and sorted, and the bytes that they were read from."""

    client: int
    flat: array[int]
    body: bytes


def read_normal(data: bytes) -> Generator[None, None, list[Encoded]]:
    """Read the bytes that end an update and are in normal form, letting others run now and then.

    Raises Malformed, IndexError where the bytes end, and ValueError where they are not in normal form.
    """
    found: list[Encoded] = []
    clients, at = read_varuint(data, 0)
    for _ in range(clients):
        client, at = read_varuint(data, at)
        number, at = read_varuint(data, at)
        if number > len(data) - at:
            raise Malformed("count exceeds the bytes")
        all_of_it, flat = array(CLOCKS), list[int]()
        start, end = at, -1
        for done in range(1, number + 1):
            clock = data[at]
            at += 1
            if clock > 127:  # read here and not by ``read_varuint``: this is most of what reading a long document takes
                byte = data[at]
                at += 1
                clock = clock & 127 | (byte & 127) << 7
                if byte > 127:
                    byte = data[at]
                    at += 1
                    clock |= byte << 14
                if not 0 < byte < 128:
                    clock, at = read_varuint(data, at - 3)
            length = data[at]
            at += 1
            if length > 127:
                length, at = read_varuint(data, at - 1)
            if clock <= end or not length:
                raise ValueError("delete ranges out of order")
            end = clock + length
            flat.append(clock)
            flat.append(end)
            if not done % SLICE:
                _check(end)
                all_of_it.fromlist(flat)
                flat.clear()
                yield
        _check(end)
        all_of_it.fromlist(flat)
        found.append(Encoded(client, all_of_it, data[start:at]))
    if at != len(data):
        raise Malformed("trailing bytes")
    return found


def _check(end: int) -> None:
    """They ascend, so the last of them says it of all."""
    if end > MAX_CLOCK:
        raise TooLarge("clock over 32 bits")
