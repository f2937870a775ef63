"""Updates written by hand: what the server itself puts into a document, without an engine.

Owns the bytes of new structs: map values, nested types and their first content. Must never write what a yjs client in
the same place would not: each write of a key follows the key's last item, and deletes it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Final

from crdt_docs.errors import TooLarge
from crdt_docs.lib0 import varbytes, varstring, varuint
from crdt_docs.updates.map_entries import last_entries as last_entries
from crdt_docs.updates.parse import (
    ANY,
    BINARY,
    ELEMENT_TYPE,
    FRAGMENT_TYPE,
    MAP_TYPE,
    MAX_CLOCK,
    STRING,
    TEXT_TYPE,
    TYPE,
    XML_TEXT_TYPE,
    Id,
)
from crdt_docs.updates.splice import encode_update
from crdt_docs.updates.values import MAX_DEPTH, MAX_SAFE
from crdt_docs.updates.vectors import DeleteSet

Last = Callable[[str | Id, str], Id | None]
"""(parent, key) → the id of the key's last item, deleted or not; None for a key that was never written."""

_HAS_ORIGIN: Final = 0x80
_HAS_KEY: Final = 0x20
_INT31: Final = 2**31 - 1
"""Up to here lib0 writes a whole number as an integer, beyond it as a float."""


class Composer:
    """One update by one client, from ``clock`` on: the first clock of that client which the document does not know.

    A parent is the name of a root, or the id of the item that holds a type. Text is made well-formed as JavaScript's
    ``toWellFormed`` does it: a lone surrogate becomes U+FFFD. A value that is refused (see ``encode_any``) leaves
    the update as it was. Raises TooLarge, and is done with, where clocks pass MAX_CLOCK.
    """

    def __init__(self, client: int, clock: int, last: Last) -> None:
        self.client = client
        self.clock = clock
        self._first = clock
        self._ask = last
        self._written: dict[tuple[str | Id, str], Id] = {}
        self._newest_child: dict[Id, Id] = {}
        self._structs: list[bytes] = []
        self._deleted = DeleteSet()

    def set(self, parent: str | Id, key: str, value: object) -> None:
        """Set a map key to None, a bool, number, string, bytes, or lists and string-keyed mappings of these."""
        self._write_entry(parent, key, *_encode_value(value))

    def set_map(self, parent: str | Id, key: str) -> Id:
        """Set a map key to a new Y.Map."""
        return self._write_entry(parent, key, TYPE, bytes((MAP_TYPE,)))

    def set_text(self, parent: str | Id, key: str, text: str) -> Id:
        """Set a map key to a new Y.Text that holds ``text``."""
        made = self._write_entry(parent, key, TYPE, bytes((TEXT_TYPE,)))
        self._write_text(made, text)
        return made

    def set_fragment(self, parent: str | Id, key: str) -> Id:
        """Set a map key to a new, empty Y.XmlFragment."""
        return self._write_entry(parent, key, TYPE, bytes((FRAGMENT_TYPE,)))

    def append_element(self, parent: Id, node: str, attrs: Mapping[str, object], text: str = "") -> Id:
        """Add an element to a fragment or element that this composer made, after what it has put there before.

        The element holds one Y.XmlText, or nothing where there is no text: an empty ProseMirror block. Raises
        ValueError for any other parent: whoever does not know its last child cannot write after it.
        """
        if not self._is_new(parent):
            raise ValueError(f"{parent} was not made in this update")
        values = {name: _encode_value(value) for name, value in attrs.items()}
        made = self._write_child(parent, TYPE, bytes((ELEMENT_TYPE,)) + varstring(_well_formed(node)))
        for name, value in values.items():
            self._write_entry(made, name, *value)
        if text:
            self._write_text(self._write_child(made, TYPE, bytes((XML_TEXT_TYPE,))), text)
        return made

    def finish(self) -> bytes:
        """The update so far; ``00 00`` when nothing was written."""
        sections = []
        if self._structs:
            sections.append((self.client, self._first, len(self._structs), b"".join(self._structs)))
        return encode_update(sections, self._deleted.items())

    def _is_new(self, parent: str | Id) -> bool:
        return not isinstance(parent, str) and parent[0] == self.client and parent[1] >= self._first

    def _write_entry(self, parent: str | Id, key: str, ref: int, content: bytes) -> Id:
        """Write a map value after the key's last item, which it deletes, as ``typeMapSet`` in yjs does."""
        key = _well_formed(key)
        last = self._written.get((parent, key))
        if last is None and not self._is_new(parent):
            last = self._ask(parent, key)
        if last is None:
            links = _encode_parent(parent) + varstring(key)
            made = self._write(bytes((_HAS_KEY | ref,)) + links + content)
        else:
            made = self._write(bytes((_HAS_ORIGIN | _HAS_KEY | ref,)) + _encode_id(last) + content)
            self._deleted.add(last[0], last[1], last[1] + 1)
        self._written[parent, key] = made
        return made

    def _write_child(self, parent: Id, ref: int, content: bytes) -> Id:
        """Write an item at the end of what this composer put into a new list, text or fragment."""
        before = self._newest_child.get(parent)
        if before is None:
            made = self._write(bytes((ref,)) + _encode_parent(parent) + content)
        else:
            made = self._write(bytes((_HAS_ORIGIN | ref,)) + _encode_id(before) + content)
        self._newest_child[parent] = made
        return made

    def _write_text(self, parent: Id, text: str) -> None:
        text = _well_formed(text)
        if text:
            units = len(text.encode("utf-16-le")) // 2
            self._write(bytes((STRING,)) + _encode_parent(parent) + varstring(text), units)

    def _write(self, encoded: bytes, length: int = 1) -> Id:
        if self.clock + length > MAX_CLOCK:
            raise TooLarge("clock over 32 bits")
        made = (self.client, self.clock)
        self._structs.append(encoded)
        self.clock += length
        return made


def _encode_value(value: object) -> tuple[int, bytes]:
    """What a map holds for a value, as ``typeMapSet`` chooses it: (content ref, content)."""
    return (BINARY, varbytes(value)) if isinstance(value, bytes) else (ANY, b"\x01" + encode_any(value))


def encode_any(value: object, depth: int = 0) -> bytes:
    """A value as lib0's ``writeAny`` puts it.

    Raises ValueError for what JSON and JavaScript do not share, TooLarge for nesting over MAX_DEPTH.
    """
    if depth > MAX_DEPTH:
        raise TooLarge("values nested too deep")
    if value is None:
        return b"\x7e"
    if isinstance(value, bool):
        return b"\x78" if value else b"\x79"
    if isinstance(value, int | float):
        return _encode_number(value)
    if isinstance(value, str):
        return b"\x77" + varstring(_well_formed(value))
    if isinstance(value, bytes):
        return b"\x74" + varbytes(value)
    if isinstance(value, Mapping):
        members = b"".join(varstring(_well_formed(_key(k))) + encode_any(v, depth + 1) for k, v in value.items())
        return b"\x76" + varuint(len(value)) + members
    if isinstance(value, list | tuple):
        return b"\x75" + varuint(len(value)) + b"".join(encode_any(item, depth + 1) for item in value)
    raise ValueError(f"a document cannot hold a {type(value).__name__}")


def _encode_number(value: int | float) -> bytes:
    """Whole numbers of up to 31 bits as integers, others as the narrowest exact float: JavaScript knows one number."""
    if abs(value) > MAX_SAFE if isinstance(value, int) else not math.isfinite(value):
        raise ValueError("not a number that JSON and JavaScript share")
    if value == int(value) and abs(value) <= _INT31 and (value or math.copysign(1, value) > 0):
        return b"\x7d" + _encode_signed(int(value))
    try:
        narrow = struct.pack(">f", value)
        if struct.unpack(">f", narrow)[0] == value:
            return b"\x7c" + narrow
    except OverflowError:
        pass  # too great for 32 bits
    return b"\x7b" + struct.pack(">d", value)


def _encode_signed(value: int) -> bytes:
    """lib0's ``writeVarInt``: six bits and the sign in the first byte, seven in the others."""
    rest = abs(value)
    first = rest & 63 | (64 if value < 0 else 0)
    rest >>= 6
    return bytes((first | 128,)) + varuint(rest) if rest else bytes((first,))


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise ValueError("the keys of a mapping must be strings")
    return key


def _encode_id(target: Id) -> bytes:
    return varuint(target[0]) + varuint(target[1])


def _encode_parent(parent: str | Id) -> bytes:
    return b"\x01" + varstring(parent) if isinstance(parent, str) else b"\x00" + _encode_id(parent)


def _well_formed(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
