"""A long reply as short records, so that whoever reads it can take breath in between. Owns how they are told apart."""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from struct import Struct
from typing import Any, Final

from crdt_docs.lib0 import Bytes

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


def records(reply: Bytes) -> Iterator[Any]:
    """What was put, in order."""
    at = 0
    while at < len(reply):
        end = at + _LENGTH.size + _LENGTH.unpack_from(reply, at)[0]
        yield marshal.loads(reply[at + _LENGTH.size : end])
        at = end
