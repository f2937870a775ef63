"""Updates written byte by byte, also such as no client writes.

Owns nothing but the spelling; ``crdt_docs.updates.compose`` is what writes updates in earnest.
"""

from __future__ import annotations

from crdt_docs.lib0 import varbytes, varstring, varuint

Id = tuple[int, int]


def struct(
    ref: int,
    content: bytes,
    *,
    origin: Id | None = None,
    right_origin: Id | None = None,
    parent: str | Id = "body",
    key: str | None = None,
) -> bytes:
    """One item; a parent and a key only where no origin implies them."""
    info = ref | (0x80 if origin else 0) | (0x40 if right_origin else 0) | (0x20 if key is not None else 0)
    out = bytes((info,))
    for place in (origin, right_origin):
        if place:
            out += varuint(place[0]) + varuint(place[1])
    if not origin and not right_origin:
        out += b"\x01" + varstring(parent) if isinstance(parent, str) else b"\x00" + b"".join(map(varuint, parent))
        out += varstring(key) if key is not None else b""
    return out + content


def string(text: str, **place: object) -> bytes:
    """A struct of characters."""
    return struct(4, varstring(text), **place)  # type: ignore[arg-type]


def section(client: int, clock: int, *structs: bytes) -> bytes:
    """The structs of one client."""
    return varuint(len(structs)) + varuint(client) + varuint(clock) + b"".join(structs)


def update(*sections: bytes, deletes: bytes = b"\x00") -> bytes:
    """A whole update."""
    return varuint(len(sections)) + b"".join(sections) + deletes


def deletes(*clients: tuple[int, list[tuple[int, int]]]) -> bytes:
    """The delete ranges, in the order given."""
    out = varuint(len(clients))
    for client, ranges in clients:
        out += varuint(client) + varuint(len(ranges))
        out += b"".join(varuint(clock) + varuint(length) for clock, length in ranges)
    return out


def one(ref: int, content: bytes, **place: object) -> bytes:
    """An update of one struct, client 1, clock 0."""
    return update(section(1, 0, struct(ref, content, **place)))  # type: ignore[arg-type]


def array(*values: bytes) -> bytes:
    """An update with one struct of lib0 "any" values."""
    return one(8, varuint(len(values)) + b"".join(values), parent="list")


__all__ = ["array", "deletes", "one", "section", "string", "struct", "update", "varbytes", "varstring", "varuint"]
