"""Reading one Yjs v1 update: bounded, exact, and without building a document.

Owns the layout of a parsed struct. Must never allocate by a count that the bytes do not back, nor accept what a yjs or
yrs client could not read in turn (overlong varints, V2, unknown content, deep nesting, JSON that is none).

The format, from yjs ``encoding.js``: ``sections deletes``, where a section is
``count client clock struct*`` and a struct ``info [origin] [right origin] [parent [key]] content``.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.updates.values import MAX_DEPTH as MAX_DEPTH
from crdt_docs.updates.values import MAX_SAFE as MAX_SAFE
from crdt_docs.updates.values import (
    read_bytes,
    read_count,
    read_string,
    read_varuint,
    skip_any,
    skip_json,
)

MAX_CLOCK: Final = 2**32 - 1
"""yrs counts clocks in 32 bits."""

GC: Final = 0
DELETED: Final = 1
JSON: Final = 2
"""Never accepted: yrs reads one string more than yjs writes, and no yjs since 13.0 writes it."""
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
"""Never accepted: yrs does not read the name that yjs writes after it, and is lost from there on."""
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


_EMPTY: Final = Parsed(b"\x00\x00", [], [])
_new = tuple.__new__  # a NamedTuple's own __new__ is Python, and twice as slow


def parse(update: bytes) -> Parsed:
    """Read a whole v1 update.

    Raises Malformed for bytes that are not one, and TooLarge where nesting or clocks pass their bound.
    """
    if update == b"\x00\x00":
        return _EMPTY
    try:
        quick = _parse_keystroke(update) or _parse_backspace(update)
    except IndexError:
        quick = None
    if quick is not None:
        return quick
    try:
        return _parse(update)
    except IndexError:
        raise Malformed("update cut short") from None
    except UnicodeDecodeError:
        raise Malformed("string is not UTF-8") from None


def _parse_keystroke(b: bytes) -> Parsed | None:
    """What typing sends, in half the time: one ASCII string after or before something, nothing deleted.

    None, or IndexError, where it is anything else or not quite in order: ``_parse`` then says what.
    """
    if b[0] != 1 or b[1] != 1 or b[-1] != 0:
        return None
    after = 6 if b[5] < 128 else 7
    raw = b[2:after]
    client = _client(raw)
    if client is None:
        return None
    clock = b[after]
    start = after + 1
    if clock > 127:
        byte = b[start]
        start += 1
        clock = clock & 127 | (byte & 127) << 7
        if byte > 127:
            byte = b[start]
            start += 1
            clock |= byte << 14
        if not 0 < byte < 128:
            return None
    info = b[start]
    if info & 0x7F != 4 and info & 0xBF != 0x84 or info == 4:
        return None
    p = start + 1
    ids: list[Id] = []
    for _ in (1, 2) if info == 0xC4 else (1,):
        after = p + 4 if b[p + 3] < 128 else p + 5
        other = client if b[p:after] == raw else _client(b[p:after])
        if other is None:
            return None
        at = b[after]
        p = after + 1
        if at > 127:
            byte = b[p]
            p += 1
            at = at & 127 | (byte & 127) << 7
            if byte > 127:
                byte = b[p]
                p += 1
                at |= byte << 14
            if not 0 < byte < 128:
                return None
        ids.append((other, at))
    length = b[p]
    end = p + 1 + length
    if not 0 < length < 128 or end != len(b) - 1 or not b[p + 1 : end].isascii():
        return None
    origin = ids[0] if info & 0x80 else None
    right_origin = ids[-1] if info & 0x40 else None
    struct = _new(Struct, (clock, length, 4, start, p, end, origin, right_origin, None, None, None))
    return _new(Parsed, (b, [_new(Section, (client, clock, [struct], clock + length))], []))


def _parse_backspace(b: bytes) -> Parsed | None:
    """The other thing that typing sends: one range of one client's, deleted. Else as for ``_parse_keystroke``."""
    if b[0] != 0 or b[1] != 1:
        return None
    after = 6 if b[5] < 128 else 7
    client = _client(b[2:after])
    if client is None or b[after] != 1:
        return None
    clock = b[after + 1]
    p = after + 2
    if clock > 127:
        byte = b[p]
        p += 1
        clock = clock & 127 | (byte & 127) << 7
        if byte > 127:
            byte = b[p]
            p += 1
            clock |= byte << 14
        if not 0 < byte < 128:
            return None
    length = b[p]
    if not 0 < length < 128 or p + 1 != len(b):
        return None
    return _new(Parsed, (b, [], [(client, [(clock, length)])]))


def _client(raw: bytes) -> int | None:
    """A client id of 22 to 35 bits, as random ones are, from a varint of four or five bytes; None if it isn't one."""
    value = int.from_bytes(raw, "little")
    if value & 0x8080808080 == 0x80808080 and raw[-1]:
        return (
            value & 0x7F
            | value >> 1 & 0x3F80
            | value >> 2 & 0x1FC000
            | value >> 3 & 0xFE00000
            | value >> 4 & 0x7F0000000
        )
    if value & 0x8080808080 == 0x808080 and raw[-1]:
        return value & 0x7F | value >> 1 & 0x3F80 | value >> 2 & 0x1FC000 | value >> 3 & 0xFE00000
    return None


def _parse(b: bytes) -> Parsed:
    sections: list[Section] = []
    seen: set[int] = set()
    clients: dict[bytes, int] = {}
    number, p = read_count(b, 0)
    for _ in range(number):
        length, p = read_count(b, p)
        client, p = read_varuint(b, p)
        clock, p = read_varuint(b, p)
        if client in seen:
            raise Malformed("client twice")
        seen.add(client)
        structs, end, p = _parse_structs(b, p, length, clock, clients)
        if structs:
            sections.append(_new(Section, (client, clock, structs, end)))
    deletes, p = parse_deletes(b, p)
    if p != len(b):
        raise Malformed("trailing bytes")
    return _new(Parsed, (b, sections, deletes))


def _parse_structs(
    b: bytes, p: int, number: int, clock: int, clients: dict[bytes, int]
) -> tuple[list[Struct], int, int]:
    """``number`` structs from ``p`` on, the clock after them and where they end."""
    structs: list[Struct] = []
    for _ in range(number):
        start = p
        info = b[p]
        p += 1
        ref = info & 31
        origin: Id | None = None
        right_origin: Id | None = None
        parent: str | Id | None = None
        key: str | None = None
        detail: Any = None
        if info & 0xC0:
            if info & 0x80:
                origin, p = _parse_id(b, p, clients)
            if info & 0x40:
                right_origin, p = _parse_id(b, p, clients)
        elif ref != 0 and ref != 10:
            kind = b[p]
            if kind == 1:
                parent, p = read_string(b, p + 1)
            elif kind == 0:
                parent, p = _parse_id(b, p + 1, clients)
            else:
                raise Malformed("parent is neither a name nor an id")
            if info & 0x20:
                key, p = read_string(b, p)
        content = p
        if ref == 4:
            length = b[p]
            p += 1
            if length > 127:
                length, p = read_varuint(b, p - 1)
            raw = b[p : p + length]
            p += length
            if not raw.isascii():
                length = len(raw.decode().encode("utf-16-le")) // 2
        elif ref < 2 or ref == 10:
            if ref != 1 and info & 0xE0:
                raise Malformed("flags on a struct without origins")
            length, p = read_varuint(b, p)
        else:
            length, detail, p = _parse_content(b, p, ref)
        if p > len(b):
            raise Malformed("content cut short")
        if length == 0:
            raise Malformed("zero-length struct")
        structs.append(_new(Struct, (clock, length, ref, start, content, p, origin, right_origin, parent, key, detail)))
        clock += length
        if clock > MAX_CLOCK:
            raise TooLarge("clock over 32 bits")
    return structs, clock, p


def _parse_id(b: bytes, p: int, clients: dict[bytes, int]) -> tuple[Id, int]:
    """An id; ``clients`` remembers five-byte client ids by their bytes, for most of an update consists of them."""
    raw = b[p : p + 5]
    client = clients.get(raw)
    if client is not None:
        p += 5
    else:
        client, end = read_varuint(b, p)
        if end == p + 5:
            clients[raw] = client
        p = end
    clock = b[p]
    p += 1
    if clock > 127:
        clock, p = read_varuint(b, p - 1)
        if clock > MAX_CLOCK:
            raise TooLarge("clock over 32 bits")
    return (client, clock), p


def _parse_content(b: bytes, p: int, ref: int) -> tuple[int, Any, int]:
    """The content's length in clocks, its detail, and where it ends."""
    if ref == ANY:
        length, p = read_count(b, p)
        for _ in range(length):
            p = skip_any(b, p)
        return length, None, p
    if ref == TYPE:
        kind, p = read_varuint(b, p)
        if kind > 6 or kind == HOOK_TYPE:
            raise Malformed(f"unknown type {kind}")
        name = None
        if kind == ELEMENT_TYPE:
            name, p = read_string(b, p)
        return 1, (kind, name), p
    if ref == FORMAT:
        mark, p = read_string(b, p)
        return 1, mark, skip_json(b, p)
    if ref == EMBED:
        return 1, None, skip_json(b, p)
    if ref == BINARY:
        _, p = read_bytes(b, p)
        return 1, None, p
    if ref == DOC:
        _, p = read_string(b, p)
        if b[p] != 118:
            raise Malformed("a subdocument's options are not an object")
        return 1, None, skip_any(b, p)
    raise Malformed(f"unknown content {ref}")


def parse_deletes(b: bytes, p: int = 0) -> tuple[list[tuple[int, list[tuple[int, int]]]], int]:
    """The delete ranges at ``p`` and where they end. Raises Malformed, TooLarge, and IndexError where the bytes end."""
    deletes: list[tuple[int, list[tuple[int, int]]]] = []
    number, p = read_count(b, p)
    for _ in range(number):
        client, p = read_varuint(b, p)
        length, p = read_count(b, p)
        ranges = []
        for _ in range(length):
            clock = b[p]
            p += 1
            if clock > 127:
                clock, p = read_varuint(b, p - 1)
            length = b[p]
            p += 1
            if length > 127:
                length, p = read_varuint(b, p - 1)
            if length == 0:
                raise Malformed("zero-length delete")
            if clock + length > MAX_CLOCK:
                raise TooLarge("clock over 32 bits")
            ranges.append((clock, length))
        if ranges:
            deletes.append((client, ranges))
    return deletes, p
