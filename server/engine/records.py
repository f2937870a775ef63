"""A long reply as short records, so that whoever reads it can take breath in between.

Owns how they are told apart, and how a reply is read that came in parts: in one piece it would take long to copy, and
to be let go of.
"""

from __future__ import annotations

import asyncio
import marshal
from collections import deque
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Any, Final, cast

_LENGTH: Final = Struct(">I")


class Records:
    """``put`` plain data; ``out`` is the reply."""

    def __init__(self) -> None:
        self.out = bytearray()

    def put(self, what: Any) -> None:
        """Write one more."""
        record = marshal.dumps(what)
        self.out += _LENGTH.pack(len(record))
        self.out += record


class Parts:
    """A reply that is taken off from its beginning. True while anything is left."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = deque(part for part in parts if part)
        self._at = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    def take(self, size: int) -> bytes:
        """The next so many bytes. Raises IndexError where there are fewer."""
        out: list[memoryview] = []
        while size:
            out.append(self._some(size))
            size -= len(out[-1])
        return b"".join(out)

    async def take_long(self, size: int) -> bytes:
        """``take``, letting others run now and then."""
        out = bytearray()
        while len(out) < size:
            out += self._some(size - len(out))
            await asyncio.sleep(0)
        return cast(bytes, out)

    def _some(self, most: int) -> memoryview:
        part = self._parts[0]
        some = memoryview(part)[self._at : self._at + most]
        self._at += len(some)
        if self._at == len(part):
            self._next()
        return some

    def rest(self) -> list[bytes]:
        """All that is left, nearly all of it as it lies."""
        begun = [self._parts[0][self._at :]] if self._at else []
        if begun:
            self._next()
        rest, self._parts = [*begun, *self._parts], deque()
        return rest

    def _next(self) -> None:
        self._parts.popleft()
        self._at = 0


def records(reply: Parts) -> Iterator[Any]:
    """What was put, in order."""
    while reply:
        yield marshal.loads(reply.take(_LENGTH.unpack(reply.take(_LENGTH.size))[0]))
