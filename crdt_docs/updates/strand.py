"""The structs of one client, as bytes. Owns where in them one may begin to read, and how they grow.

Must never show what was only brought ahead, nor change what lies behind it: long messages are read off it in slices.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from crdt_docs.lib0 import Bytes, varuint
from crdt_docs.rope import Stretch
from crdt_docs.updates.cut import cut, step
from crdt_docs.updates.parse import Struct, parse

EVERY = 4096
"""Bytes of one client's structs between two points of the index."""
AHEAD = 1 << 20
"""Bytes that are brought ahead at a time."""

clock_of = itemgetter(0)
"""Of a struct, or of a point of the index."""
_start = itemgetter(3)


Point = tuple[int, int, int]
"""(clock, structs before, offset)."""


class Coming(NamedTuple):
    """What was brought ahead of an update: some points of the index, and where the rest come from."""

    update: Bytes
    points: list[Point]
    more: Iterator[Point]


class Strand:
    """The structs of one client, as one run of bytes with a sparse index.

    Only ``size`` bytes of the body count. What may lie behind them was brought ahead out of ``coming``.
    """

    __slots__ = ("start", "end", "number", "body", "size", "coming", "mark", "points", "_whole")

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.number = 0
        self.body = bytearray()
        self.size = 0
        self.coming: Coming | None = None
        self.mark = EVERY  # the first struct that starts here or later gets a point
        self.points: list[Point] = []
        self._whole: tuple[bytes, Stretch] | None = None  # what ``pieces`` told last of all of it

    def bring_ahead(self, update: Bytes, structs: list[Struct]) -> Iterator[None]:
        """Copy what ``append`` is to take over, and note its points, in slices; nobody sees it before."""
        first, last, before = structs[0][3], structs[-1][5], self.size
        self._forget_ahead()
        coming = self.coming = Coming(update, [], self._marks(structs, before - first))
        for at in range(first, last, AHEAD):
            if self.coming is not coming or self.size != before:
                return  # something else came first
            with memoryview(update) as view:
                self.body += view[at : min(at + AHEAD, last)]
            coming.points.extend(islice(coming.more, AHEAD // EVERY))
            yield

    def _forget_ahead(self) -> None:
        if self.coming is not None:
            self.coming = None
            del self.body[self.size :]

    def append(self, update: Bytes, structs: list[Struct], end: int) -> None:
        """Take structs over whole; they start at ``self.end``."""
        first = structs[0][3]
        last = structs[-1][5]
        before = self.size
        if self.coming is not None and self.coming.update is not update:
            self._forget_ahead()
        if self.coming is not None:
            self._note(self.coming.points)
            self._note(self.coming.more)
            self.coming = None
        elif before + last - first > self.mark:
            self._note(self._marks(structs, before - first))
        if len(self.body) == before and last - first < EVERY:
            self.body += update[first:last]
        else:
            with memoryview(update) as view:
                self.body += view[first + len(self.body) - before : last]
        self.size = len(self.body)
        self.number += len(structs)
        self.end = end

    def _marks(self, structs: list[Struct], shift: int) -> Iterator[Point]:
        """Where one may begin to read; ``shift`` is from the update's offsets to the body's."""
        most, number, mark = len(structs), self.number, self.mark - shift
        at = bisect_left(structs, mark, key=_start)
        while at < most:
            clock, start = structs[at][0], structs[at][3]
            yield clock, number + at, start + shift
            mark = start + EVERY
            # no struct is shorter than a byte, so the next point is among the next few
            at = bisect_left(structs, mark, at, min(most, at + EVERY), key=_start)

    def _note(self, points: Iterable[Point]) -> None:
        self.points.extend(points)
        if self.points:
            self.mark = self.points[-1][2] + EVERY

    def append_after(self, update: bytes, client: int, structs: list[Struct], end: int) -> None:
        """Take over what lies after ``self.end`` of structs that start below it."""
        have = self.end
        at = bisect_right(structs, have, key=clock_of) - 1
        struct = structs[at]
        if struct.clock < have:
            tail = cut(update, client, struct, have - struct.clock)
            self._forget_ahead()
            if self.size >= self.mark:
                self._note([(have, self.number, self.size)])
            self.body += tail
            self.size = len(self.body)
            self.number += 1
            self.end = struct.clock + struct.length
            at += 1
        if at < len(structs):
            self.append(update, structs[at:], end)

    def pieces(self, client: int, have: int) -> tuple[bytes, Stretch]:
        """The section from exactly ``have`` on, where ``self.start <= have < self.end``.

        All of it is told to everybody who is new, and of most clients nothing comes any more: it is made once.
        """
        if have > self.start:
            return self._pieces(client, have)
        if self._whole is None or self._whole[1].end != self.size:
            self._whole = self._pieces(client, have)
        return self._whole

    def _pieces(self, client: int, have: int) -> tuple[bytes, Stretch]:
        at = bisect_right(self.points, have, key=clock_of)
        clock, number, offset = self.points[at - 1] if at else (self.start, 0, 0)
        body = self.body
        head = b""
        while clock < have:
            length, after = step(body, offset)
            if clock + length > have:
                head = _cut_at(bytes(body[offset:after]), client, clock, have - clock)
                offset = after
                break
            clock += length
            number += 1
            offset = after
        head = varuint(self.number - number) + varuint(client) + varuint(have) + head
        return head, Stretch(body, offset, self.size)


def _cut_at(body: bytes, client: int, clock: int, skip: int) -> bytes:
    update = b"".join((b"\x01\x01", varuint(client), varuint(clock), body, b"\x00"))
    return cut(update, client, parse(update).sections[0].structs[0], skip)
