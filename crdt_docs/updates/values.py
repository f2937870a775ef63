"""The values inside content: JSON text, and lib0's own encoding of any value.

Owns what both engines can read. Must never let through what one of them would choke on: yjs throws in the middle of an
update, and yrs refuses the whole of it, for every peer that asks for the document from then on.
"""

from __future__ import annotations

import json
import math
import re
from typing import Final, NoReturn

from crdt_docs.errors import Malformed, TooLarge

MAX_DEPTH: Final = 64
MAX_SAFE: Final = 2**53 - 1
"""What JavaScript counts exactly; lib0 throws above it."""

_PLAIN: Final = frozenset((b"null", b"true", b"false", b"{}", b"[]", b'""'))
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


def read_varuint(b: bytes, p: int) -> tuple[int, int]:
    """The varint at ``p`` and where it ends. Raises Malformed, and IndexError where the bytes end."""
    byte = b[p]
    p += 1
    if byte < 128:
        return byte, p
    value = byte & 127
    shift = 7
    while True:
        byte = b[p]
        p += 1
        if byte < 128:
            break
        value |= (byte & 127) << shift
        shift += 7
        if shift > 49:
            raise Malformed("varint too long")
    if byte == 0:
        raise Malformed("overlong varint")
    value |= byte << shift
    if value > MAX_SAFE:
        raise Malformed("varint over 53 bits")
    return value, p


def read_count(b: bytes, p: int) -> tuple[int, int]:
    """A varint that counts things of at least one byte each, all of which must be there."""
    number, p = read_varuint(b, p)
    if number > len(b) - p:
        raise Malformed("count exceeds the bytes")
    return number, p


def read_string(b: bytes, p: int) -> tuple[str, int]:
    """A string and where it ends. Raises UnicodeDecodeError too."""
    raw, p = read_bytes(b, p)
    return raw.decode(), p


def read_bytes(b: bytes, p: int) -> tuple[bytes, int]:
    """A byte array and where it ends."""
    length, p = read_varuint(b, p)
    end = p + length
    if end > len(b):
        raise Malformed("byte array cut short")
    return b[p:end], end


def skip_any(b: bytes, p: int, depth: int = 0) -> int:
    """Where the lib0 "any" value at ``p`` ends."""
    if depth > MAX_DEPTH:
        raise TooLarge("values nested too deep")
    tag = b[p]
    p += 1
    if tag == 119:
        _, p = read_string(b, p)
    elif tag == 125:
        p = _skip_signed(b, p)
    elif tag == 124:
        p += 4
    elif tag == 123 or tag == 122:
        p += 8
    elif tag == 118:
        number, p = read_count(b, p)
        for _ in range(number):
            key, p = read_string(b, p)
            if key == "__proto__" and b[p] == 116:  # lib0 would take the object for bytes, and fail to write it again
                raise Malformed("bytes as an object's prototype")
            p = skip_any(b, p, depth + 1)
    elif tag == 117:
        number, p = read_count(b, p)
        for _ in range(number):
            p = skip_any(b, p, depth + 1)
    elif tag == 116:
        _, p = read_bytes(b, p)
    elif tag not in (127, 126, 121, 120):
        raise Malformed(f"unknown value tag {tag}")
    if p > len(b):
        raise Malformed("value cut short")
    return p


def _skip_signed(b: bytes, p: int) -> int:
    byte = b[p]
    p += 1
    if byte < 128:
        return p
    value = byte & 63
    shift = 6
    while True:
        byte = b[p]
        p += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if byte == 0 or value > MAX_SAFE:
                raise Malformed("integer out of range")
            return p
        shift += 7
        if shift > 48:
            raise Malformed("integer too long")


def skip_json(b: bytes, p: int) -> int:
    """Where the string of JSON at ``p`` ends."""
    raw, p = read_bytes(b, p)
    if raw not in _PLAIN:
        check_json(raw)
    return p


def check_json(raw: bytes) -> None:
    """Raise unless both ``JSON.parse`` and yrs read it (RFC 8259), and it is nested at most MAX_DEPTH deep.

    Stricter than ``JSON.parse`` by two things that yrs refuses: halves of surrogate pairs, and numbers past a double.
    """
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _nesting(raw) > MAX_DEPTH:
        raise TooLarge("JSON nested too deep")
    try:
        value = json.loads(raw.decode(), parse_constant=_refuse, parse_float=_finite, parse_int=_finite)
        if _SURROGATE.search(raw):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise Malformed("content is not JSON") from None


def _nesting(raw: bytes) -> int:
    depth = deepest = 0
    inside = escaped = False
    for byte in raw:
        if inside:
            if escaped:
                escaped = False
            elif byte == 92:
                escaped = True
            elif byte == 34:
                inside = False
        elif byte == 34:
            inside = True
        elif byte in (91, 123):
            depth += 1
            deepest = max(deepest, depth)
        elif byte in (93, 125):
            depth -= 1
    return deepest


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("number out of range")
    return number
