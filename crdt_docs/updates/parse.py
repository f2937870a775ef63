"""Reading one Yjs v1 update: bounded, exact, and without building a document.

Owns the layout of a parsed struct. Must never allocate by a count that the bytes do not back, nor accept what a yjs or
yrs client could not read in turn (overlong varints, V2, unknown content, deep nesting, JSON that is none).

The format, from yjs ``encoding.js``: ``sections deletes``, where a section is
``count client clock struct*`` and a struct ``info [origin] [right origin] [parent [key]] content``.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple, NoReturn

from crdt_docs.errors import Malformed, TooLarge

MAX_DEPTH: Final = 64
MAX_CLOCK: Final = 2**32 - 1
"""yrs counts clocks in 32 bits."""
MAX_SAFE: Final = 2**53 - 1

GC: Final = 0
DELETED: Final = 1
JSON: Final = 2
BINARY: Final = 3
STRING: Final = 4
EMBED: Final = 5
FORMAT: Final = 6
TYPE: Final = 7
ANY: Final = 8
DOC: Final = 9
SKIP: Final = 10

ARRAY_TYPE: Final = 0
MAP_TYPE: Final = 1
TEXT_TYPE: Final = 2
ELEMENT_TYPE: Final = 3
FRAGMENT_TYPE: Final = 4
HOOK_TYPE: Final = 5
XML_TEXT_TYPE: Final = 6

Id = tuple[int, int]
"""(client, clock)."""


class Struct(NamedTuple):
    """One run of content by one client. Offsets point into the update's bytes.

    ``parent`` is a root's name, the id of the item that holds the parent type, or None where an origin implies it.
    ``detail`` is (type ref, node name or None) for TYPE, the mark's name for FORMAT, else None.
    """

    clock: int
    length: int
    ref: int
    start: int
    content: int
    end: int
    origin: Id | None
    right_origin: Id | None
    parent: str | Id | None
    key: str | None
    detail: Any


class Section(NamedTuple):
    """The structs of one client, contiguous from ``clock`` to ``end``."""

    client: int
    clock: int
    structs: list[Struct]
    end: int


class Parsed(NamedTuple):
    """An update, read. ``deletes`` are (client, [(clock, length)]) in wire order."""

    update: bytes
    sections: list[Section]
    deletes: list[tuple[int, list[tuple[int, int]]]]


_PLAIN_JSON: Final = frozenset((b"null", b"true", b"false", b"{}", b"[]", b'""', b"undefined"))
_EMPTY: Final = Parsed(b"\x00\x00", [], [])


def parse(update: bytes) -> Parsed:
    """Read a whole v1 update.

    Raises Malformed for bytes that are not one, and TooLarge where nesting or clocks pass their bound.
    """
    if update == b"\x00\x00":
        return _EMPTY
    try:
        return _parse(update)
    except IndexError:
        raise Malformed("update cut short") from None
    except UnicodeDecodeError:
        raise Malformed("string is not UTF-8") from None


def _parse(b: bytes) -> Parsed:  # one closure, because a call per varint through objects costs three times as much
    size = len(b)
    p = 0

    def uint() -> int:
        nonlocal p
        byte = b[p]
        p += 1
        if byte < 128:
            return byte
        value = byte & 127
        shift = 7
        while True:
            byte = b[p]
            p += 1
            value |= (byte & 127) << shift
            if byte < 128:
                if byte == 0:
                    raise Malformed("overlong varint")
                if value > MAX_SAFE:
                    raise Malformed("varint over 53 bits")
                return value
            shift += 7
            if shift > 49:
                raise Malformed("varint too long")

    def string() -> str:
        nonlocal p
        length = uint()
        end = p + length
        if end > size:
            raise Malformed("string cut short")
        text = b[p:end].decode()
        p = end
        return text

    def json_text() -> None:
        nonlocal p
        length = uint()
        end = p + length
        if end > size:
            raise Malformed("string cut short")
        raw = b[p:end]
        p = end
        if raw not in _PLAIN_JSON:
            check_json(raw)

    def count() -> int:
        number = uint()
        if number > size - p:
            raise Malformed("count exceeds the bytes")
        return number

    def any_value(depth: int) -> None:
        nonlocal p
        if depth > MAX_DEPTH:
            raise TooLarge("values nested too deep")
        tag = b[p]
        p += 1
        if tag == 119:
            string()
        elif tag == 125:
            signed_int()
        elif tag in (127, 126, 121, 120):
            pass
        elif tag == 124:
            p += 4
        elif tag == 123 or tag == 122:
            p += 8
        elif tag == 118:
            for _ in range(count()):
                string()
                any_value(depth + 1)
        elif tag == 117:
            for _ in range(count()):
                any_value(depth + 1)
        elif tag == 116:
            nbytes = uint()  # not in one statement: that would add to where p was before
            p += nbytes
        else:
            raise Malformed(f"unknown value tag {tag}")
        if p > size:
            raise Malformed("value cut short")

    def signed_int() -> None:
        nonlocal p
        byte = b[p]
        p += 1
        if byte < 128:
            return
        value = byte & 63
        shift = 6
        while True:
            byte = b[p]
            p += 1
            value |= (byte & 127) << shift
            if byte < 128:
                if byte == 0 or value > MAX_SAFE:
                    raise Malformed("integer out of range")
                return
            shift += 7
            if shift > 48:
                raise Malformed("integer too long")

    sections: list[Section] = []
    seen: set[int] = set()
    for _ in range(count()):
        structs: list[Struct] = []
        number = count()
        client = uint()
        first = clock = uint()
        if client in seen:
            raise Malformed("client twice")
        seen.add(client)
        for _ in range(number):
            start = p
            info = b[p]
            p += 1
            ref = info & 31
            if ref == 0 or ref == 10:
                if info & 0xE0:
                    raise Malformed("flags on a struct without origins")
                content = p
                length = uint()
                if length == 0:
                    raise Malformed("zero-length struct")
                structs.append(Struct(clock, length, ref, start, content, p, None, None, None, None, None))
                clock += length
                if clock > MAX_CLOCK:
                    raise TooLarge("clock over 32 bits")
                continue
            origin: Id | None = (uint(), uint()) if info & 0x80 else None
            right_origin: Id | None = (uint(), uint()) if info & 0x40 else None
            parent: str | Id | None = None
            key: str | None = None
            detail: Any = None
            if not info & 0xC0:
                kind = uint()
                if kind == 1:
                    parent = string()
                elif kind == 0:
                    parent = (uint(), uint())
                else:
                    raise Malformed("parent is neither a name nor an id")
                if info & 0x20:
                    key = string()
            content = p
            length = 1
            if ref == 4:
                nbytes = uint()
                end = p + nbytes
                if end > size:
                    raise Malformed("string cut short")
                raw = b[p:end]
                p = end
                length = nbytes if raw.isascii() else len(raw.decode().encode("utf-16-le")) // 2
            elif ref == 1:
                length = uint()
            elif ref == 8:
                length = count()
                for _ in range(length):
                    any_value(0)
            elif ref == 7:
                type_ref = uint()
                if type_ref > 6:
                    raise Malformed(f"unknown type {type_ref}")
                detail = (type_ref, string() if type_ref == 3 or type_ref == 5 else None)
            elif ref == 6:
                detail = string()
                json_text()
            elif ref == 2:
                length = count()
                for _ in range(length):
                    json_text()
            elif ref == 3:
                nbytes = uint()
                p += nbytes
            elif ref == 5:
                json_text()
            elif ref == 9:
                string()
                any_value(0)
            else:
                raise Malformed(f"unknown content {ref}")
            if p > size:
                raise Malformed("content cut short")
            if length == 0:
                raise Malformed("zero-length struct")
            structs.append(Struct(clock, length, ref, start, content, p, origin, right_origin, parent, key, detail))
            clock += length
            if clock > MAX_CLOCK:
                raise TooLarge("clock over 32 bits")
        if structs:
            sections.append(Section(client, first, structs, clock))

    deletes: list[tuple[int, list[tuple[int, int]]]] = []
    for _ in range(count()):
        client = uint()
        ranges = []
        for _ in range(count()):
            clock = uint()
            length = uint()
            if length == 0:
                raise Malformed("zero-length delete")
            if clock + length > MAX_CLOCK:
                raise TooLarge("clock over 32 bits")
            ranges.append((clock, length))
        if ranges:
            deletes.append((client, ranges))
    if p != size:
        raise Malformed("trailing bytes")
    return Parsed(b, sections, deletes)


def check_json(raw: bytes) -> None:
    """Raise unless ``raw`` is JSON as ``JSON.parse`` takes it (RFC 8259), nested at most MAX_DEPTH deep."""
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _nesting(raw) > MAX_DEPTH:
        raise TooLarge("JSON nested too deep")
    try:
        json.loads(raw, parse_constant=_refuse_constant)
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


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
