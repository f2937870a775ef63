"""Updates that are nearly what a client writes: honest ones, mutants of them, and closed ones that link oddly.

Owns how bytes are bent; every draw is the caller's. Must never judge what becomes of them.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from kit import pycrdt_edits

from crdt_docs.errors import Malformed
from crdt_docs.lib0 import varstring, varuint
from crdt_docs.updates.compose import Composer
from crdt_docs.updates.parse import Parsed, Struct, parse
from crdt_docs.updates.splice import encode_update, merge
from crdt_docs.updates.trim import trim

CRASHERS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "fixtures" / "native_crashers.json").read_text())
BASE = bytes.fromhex(CRASHERS["base_document_hex"])


def document() -> bytes:
    """A document with every kind of content."""
    composer = Composer(9, 0, lambda parent, key: None)
    entry = composer.set_map("documents", "d")
    composer.set_text(entry, "title", "Tïtle 😀")
    body = composer.set_fragment(entry, "body")
    composer.append_element(body, "heading", {"level": 2}, "words 😀")
    composer.set("meta", "all", [None, True, 1, -70, 0.5, 1e300, "s", b"b", {"k": [{}]}])
    composer.set("meta", "all", b"binary")
    others = encode_update(
        [
            (5, 0, 2, b"\x08\x01\x01a\x02\x7e\x7d\x01" + b"\x85\x05\x01" + varstring('{"image": "x"}')),
            (6, 0, 1, b"\x09\x01\x01b" + varstring("guid") + b"\x76\x01\x04meta\x7e"),
        ],
        [(5, [(1, 1)])],
    )
    return merge([composer.finish(), others])


def honest() -> list[bytes]:
    """Documents and single updates as both engines and this server write them."""
    logs = [pycrdt_edits.generate(seed, clients=1 + seed % 3, steps=30) for seed in range(12)]
    wholes = [merge(log) for log in logs]
    return [document(), BASE, *wholes, *(trim(one) for one in wholes), *(update for log in logs for update in log)]


EDGES = [
    0,
    1,
    2,
    3,
    63,
    64,
    127,
    128,
    255,
    2**14,
    2**31 - 1,
    2**31,
    2**32 - 2,
    2**32 - 1,
    2**32,
    2**53 - 1,
    2**53,
    2**63,
]


def varint_spots(parsed: Parsed) -> list[int]:
    """Where varints start that say most: ids, lengths and counts inside structs."""
    spots = []
    for section in parsed.sections:
        for struct in section.structs:
            spots += [struct.start + 1, struct.content]
    return spots


def mutate(r: Random, update: bytes, donor: bytes) -> bytes:
    """One change of the kind that an attacker who knows the format would make."""
    parsed = parse(update)
    everything = [struct for section in parsed.sections for struct in section.structs]
    kind = r.randrange(9)
    if not everything or kind == 0:
        return flip(r, update)
    struct = r.choice(everything)
    if kind == 1:  # another info byte: other content, other links
        return update[: struct.start] + bytes((r.randrange(256),)) + update[struct.start + 1 :]
    if kind == 2:  # an extreme number in place of one that was there
        at = r.choice(varint_spots(parsed))
        end = at
        while end < len(update) - 1 and update[end] > 127:
            end += 1
        return update[:at] + varuint(r.choice(EDGES)) + update[end + 1 :]
    if kind == 3:  # a struct twice, or gone, with the count as it was
        one = update[struct.start : struct.end]
        return update[: struct.start] + one * r.choice((0, 2)) + update[struct.end :]
    if kind == 4:  # structs in another order, or moved to another client and clock
        return reassemble(r, parsed, everything)
    if kind == 5:  # content of another update
        theirs = [s for section in parse(donor).sections for s in section.structs] or everything
        other = r.choice(theirs)
        return update[: struct.content] + donor[other.content : other.end] + update[struct.end :]
    if kind == 6:
        return update[: r.randrange(len(update))] + donor[r.randrange(len(donor)) :]
    if kind == 7:  # strange deletions
        ranges = [(r.choice(EDGES), r.choice(EDGES)) for _ in range(r.randint(1, 4))]
        body = update[: parsed.sections[-1].structs[-1].end]
        return (
            body
            + varuint(1)
            + varuint(r.choice(EDGES))
            + varuint(len(ranges))
            + b"".join(varuint(start) + varuint(length) for start, length in ranges)
        )
    return flip(r, flip(r, flip(r, update)))


def mutant(r: Random, update: bytes, donors: list[bytes]) -> bytes:
    """One or two changes, of a few draws rather one that can still be read."""
    changed = update
    for _ in range(6):
        with suppress(Malformed, IndexError):
            changed = mutate(r, update, r.choice(donors))
            if parse(changed) and r.random() < 0.7:
                break
            changed = mutate(r, changed, r.choice(donors))
            parse(changed)
            break
    return changed


def flip(r: Random, update: bytes) -> bytes:
    at = r.randrange(len(update))
    byte = r.choice((0, 127, 128, 255, update[at] ^ 1 << r.randrange(8)))
    return update[:at] + bytes((byte,)) * r.choice((0, 1, 1, 1, 2)) + update[at + 1 :]


def reassemble(r: Random, parsed: Parsed, everything: list[Struct]) -> bytes:
    pieces = [parsed.update[s.start : s.end] for s in r.sample(everything, r.randint(1, len(everything)))]
    client, clock = r.choice([section.client for section in parsed.sections] + EDGES), r.choice([0, 0, 0, *EDGES])
    return b"\x01" + varuint(len(pieces)) + varuint(client) + varuint(clock) + b"".join(pieces) + b"\x00"
