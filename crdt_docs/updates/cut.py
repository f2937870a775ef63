"""Cutting one struct in two, as yjs cuts it, and stepping over structs that have been parsed before.

Owns where a struct ends and what its second half looks like. Must never be handed bytes that ``parse`` has not
accepted: nothing is checked here.
"""

from __future__ import annotations

from crdt_docs.lib0 import Bytes, varbytes, varuint
from crdt_docs.updates.parse import ANY, DELETED, DOC, ELEMENT_TYPE, FORMAT, GC, SKIP, STRING, TYPE, Struct


def cut(update: Bytes, client: int, struct: Struct, skip: int) -> bytes:
    """The struct without its first ``skip`` clocks: whole bytes, with info and origin.

    As yjs writes it (``Item.write`` with an offset): the origin is the clock before, the right origin stays, a parent
    is implied, and half a surrogate pair becomes U+FFFD. Raises ValueError unless something is cut and something left.
    """
    if not 0 < skip < struct.length:
        raise ValueError("a cut must fall inside the struct")
    info = update[struct.start]
    if struct.ref in (GC, SKIP):
        return bytes((info,)) + varuint(struct.length - skip)
    head = bytes((0x80 | info & 0x60 | struct.ref,)) + varuint(client) + varuint(struct.clock + skip - 1)
    if struct.right_origin is not None:
        head += varuint(struct.right_origin[0]) + varuint(struct.right_origin[1])
    return head + _cut_content(update, struct, skip)


def _cut_content(update: Bytes, struct: Struct, skip: int) -> bytes:
    left = struct.length - skip
    if struct.ref == DELETED:
        return varuint(left)
    _, at = read_varuint(update, struct.content)
    if struct.ref == STRING:
        text = bytes(update[at : struct.end])
        if text.isascii():
            return varbytes(text[skip:])
        halves = text.decode().encode("utf-16-le")[skip * 2 :]
        return varbytes(halves.decode("utf-16-le", "replace").encode())
    at = skip_values(update, at, skip)
    return varuint(left) + bytes(update[at : struct.end])


def read_varuint(data: Bytes, at: int) -> tuple[int, int]:
    """The varint at ``at``, and where it ends."""
    byte = data[at]
    at += 1
    if byte < 128:
        return byte, at
    value = byte & 127
    shift = 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def skip_values(data: Bytes, at: int, number: int) -> int:
    """Where the ``number`` lib0 "any" values that start at ``at`` end."""
    while number:
        number -= 1
        tag = data[at]
        at += 1
        if tag in (119, 116):
            length, at = read_varuint(data, at)
            at += length
        elif tag == 125:
            _, at = read_varuint(data, at)
        elif tag == 124:
            at += 4
        elif tag in (123, 122):
            at += 8
        elif tag == 118:
            members, at = read_varuint(data, at)
            for _ in range(members):
                length, at = read_varuint(data, at)
                at = skip_values(data, at + length, 1)
        elif tag == 117:
            members, at = read_varuint(data, at)
            number += members
    return at


def step(data: Bytes, at: int) -> tuple[int, int]:
    """The length in clocks of the struct at ``at``, and where it ends."""
    info = data[at]
    at += 1
    ref = info & 31
    if ref in (GC, SKIP):
        return read_varuint(data, at)
    for flag in (0x80, 0x40):
        if info & flag:
            at = _skip_varuints(data, at, 2)
    if not info & 0xC0:
        named, at = read_varuint(data, at)
        at = _skip_strings(data, at, 1) if named else _skip_varuints(data, at, 2)
        if info & 0x20:
            at = _skip_strings(data, at, 1)
    return _step_content(data, at, ref)


def _step_content(data: Bytes, at: int, ref: int) -> tuple[int, int]:
    if ref == STRING:
        length, at = read_varuint(data, at)
        text = data[at : at + length]
        at += length
        return (length if text.isascii() else len(text.decode().encode("utf-16-le")) // 2), at
    if ref == DELETED:
        return read_varuint(data, at)
    if ref == ANY:
        number, at = read_varuint(data, at)
        return number, skip_values(data, at, number)
    if ref == TYPE:
        kind, at = read_varuint(data, at)
        return 1, _skip_strings(data, at, 1) if kind == ELEMENT_TYPE else at
    if ref == DOC:
        return 1, skip_values(data, _skip_strings(data, at, 1), 1)
    return 1, _skip_strings(data, at, 2 if ref == FORMAT else 1)


def _skip_varuints(data: Bytes, at: int, number: int) -> int:
    while number:
        if data[at] < 128:
            number -= 1
        at += 1
    return at


def _skip_strings(data: Bytes, at: int, number: int) -> int:
    for _ in range(number):
        length, at = read_varuint(data, at)
        at += length
    return at
