"""The lib0 encoding, bounded: unsigned varints, byte arrays and strings.

Owns the primitives of both wires and of the update format. Must never read past the buffer, allocate by an untrusted
count, or accept a varint in more than its shortest form: ``82 00`` is 2 in lib0, and a router that looks at
the first byte would be fooled by it.
"""

from __future__ import annotations

from typing import Final

from crdt_docs.errors import Malformed

Bytes = bytes | bytearray
"""What was read; a bytearray is long, and belongs to whom it is handed: it is not changed any more, nor copied."""

MAX_VARUINT = 2**53 - 1
"""What JavaScript reads exactly; lib0 throws above it."""


_ONE_BYTE: Final = [bytes((value,)) for value in range(128)]


def varuint(value: int) -> bytes:
    """Encode an unsigned integer as LEB128."""
    if value < 128:
        return _ONE_BYTE[value]
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def varbytes(data: bytes) -> bytes:
    """Encode a byte array with its length before it."""
    return varuint(len(data)) + data


def varstring(text: str) -> bytes:
    """Encode a string as UTF-8 with its length in bytes before it."""
    return varbytes(text.encode())


class Reader:
    """A cursor over untrusted bytes. Every method raises Malformed where the bytes end or overshoot."""

    __slots__ = ("data", "at")

    def __init__(self, data: Bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def varuint(self) -> int:
        """Read one varint of at most 53 bits, in its shortest form."""
        data, at, value, shift = self.data, self.at, 0, 0
        try:
            while True:
                byte = data[at]
                at += 1
                value |= (byte & 127) << shift
                if byte < 128:
                    break
                shift += 7
                if shift > 49:
                    raise Malformed("varint too long")
        except IndexError:
            raise Malformed("varint cut short") from None
        if byte == 0 and shift:
            raise Malformed("overlong varint")
        if value > MAX_VARUINT:
            raise Malformed("varint over 53 bits")
        self.at = at
        return value

    def bytes(self) -> bytes:
        """Read a length and that many bytes."""
        length = self.varuint()
        end = self.at + length
        if end > len(self.data):
            raise Malformed("byte array cut short")
        out = bytes(self.data[self.at : end])
        self.at = end
        return out

    def string(self) -> str:
        """Read a length in bytes and that much UTF-8."""
        try:
            return self.bytes().decode()
        except UnicodeDecodeError:
            raise Malformed("string is not UTF-8") from None

    def finish(self) -> None:
        """Raise Malformed unless everything was read."""
        if self.at != len(self.data):
            raise Malformed("trailing bytes")
