"""Closed updates that link oddly: each fits its document's clocks, and everything else about it is drawn.

Owns what a hostile author could write who knows the document. Must never draw but from the ``Random`` it is given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random

from kit.raw_updates import Id, deletes, section, struct, update

from crdt_docs.lib0 import varbytes, varstring, varuint

WORDS = ("a", "bc", " ", "\n", "ü", "日本語", "x" * 30)
"""Nothing outside of the plane in which a character is one unit: where a pair was cut, yrs and yjs part."""
MARKS = (("bold", "true"), ("bold", "null"), ("link", '{"href": "x"}'), ("blink", "1"))
NAMES = ("paragraph", "heading", "blink")
KEYS = ("a", "b", "level", "ключ")
ANY = (b"\x7e", b"\x7f", b"\x78", b"\x7d\x05", b"\x77\x01v", b"\x76\x01\x01k\x7e", b"\x75\x01\x79", b"\x74\x01\xff")
TYPES = (b"\x00", b"\x01", b"\x02", b"\x03", b"\x04", b"\x06")
"""Array, Map, Text, element (a name follows), fragment, XML text."""


def content(r: Random) -> tuple[int, bytes, int]:
    """Some content: its kind, its bytes, and how many clocks it counts."""
    kind = r.choice((1, 3, 4, 4, 4, 4, 5, 6, 6, 7, 7, 7, 8, 8))
    if kind == 1:
        length = r.randint(1, 4)
        return kind, varuint(length), length
    if kind == 4:
        text = r.choice(WORDS)
        return kind, varstring(text), len(text)
    if kind == 7:
        ref = r.choice(TYPES)
        return kind, ref + (varstring(r.choice(NAMES)) if ref == b"\x03" else b""), 1
    if kind == 8:
        values = [r.choice(ANY) for _ in range(r.choice((1, 1, 1, 3)))]
        return kind, varuint(len(values)) + b"".join(values), len(values)
    if kind == 6:
        key, value = r.choice(MARKS)
        return kind, varstring(key) + varstring(value), 1
    return kind, varbytes(b"\x00\xff") if kind == 3 else varstring(json.dumps({"image": "x"})), 1


class OddAuthor:
    """Writes into a document of which it knows the clocks, the roots and, by ``types``, the shared types."""

    def __init__(self, r: Random, roots: Sequence[str]) -> None:
        self._r = r
        self._roots = roots

    def write(self, vector: Mapping[int, int], types: Sequence[Id]) -> bytes:
        """One update on top of a document."""
        r = self._r
        have = dict(vector)
        clients = r.sample([*have, *r.sample(range(1, 2**31), 2)], r.choice((1, 1, 1, 2)))
        sections = [self._section(client, have, types) for client in sorted(clients, reverse=True)]
        return update(*sections, deletes=self._deletes(have) if r.random() < 0.4 else b"\x00")

    def _section(self, client: int, have: dict[int, int], types: Sequence[Id]) -> bytes:
        r = self._r
        start = clock = have.get(client, 0)
        if r.random() < 0.1 and start:
            start = clock = r.randrange(start)  # over what is known
        structs = []
        for _ in range(r.choice((1, 1, 2, 4))):
            if r.random() < 0.05:
                length, one = 3, b"\x00\x03"  # collected
            else:
                ref, body, length = content(r)
                one = self._placed(ref, body, have, types)
            structs.append(one)
            clock += length
            have[client] = max(have.get(client, 0), clock)
        return section(client, start, *structs)

    def _placed(self, ref: int, body: bytes, have: Mapping[int, int], types: Sequence[Id]) -> bytes:
        r = self._r
        origin, right = self._near(have), self._near(have)
        parent: str | Id = r.choice(self._roots)
        if types and r.random() < 0.5:
            parent = r.choice(types)
        key = r.choice(KEYS) if origin is None and right is None and r.random() < 0.4 else None
        return struct(ref, body, origin=origin, right_origin=right, parent=parent, key=key)

    def _near(self, have: Mapping[int, int]) -> Id | None:
        written = [client for client, end in have.items() if end]
        if not written or self._r.random() < 0.5:
            return None
        client = self._r.choice(written)
        return client, self._r.randrange(have[client])

    def _deletes(self, have: Mapping[int, int]) -> bytes:
        r = self._r
        written = [client for client, end in have.items() if end]
        chosen = r.sample(written, min(len(written), r.choice((1, 1, 2))))
        ranges = []
        for client in sorted(chosen, reverse=True):
            start = r.randrange(have[client])
            ranges.append((client, [(start, r.randint(1, have[client] - start))]))
        return deletes(*ranges)
