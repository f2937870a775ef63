"""What is left of an update after what is known or does not fit was cut from it. Owns its bytes and how they read.

Must never parse what was parsed already: an update of megabytes is put together on the event loop, in slices.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from heapq import merge
from itertools import pairwise
from typing import Final

from crdt_docs.lib0 import varuint
from crdt_docs.updates.cut import cut
from crdt_docs.updates.parse import Parsed, Section, Struct, parse
from crdt_docs.updates.splice import encode_update
from crdt_docs.updates.vectors import encode_deletes

SLICE: Final = 500
"""Structs after which others may run; a few milliseconds of admission."""

Ranges = list[tuple[int, int]]


def put_together(
    update: bytes,
    structs: Mapping[int, list[Struct]],
    ends: Mapping[int, int],
    known: Mapping[int, int],
    deletes: list[tuple[int, Ranges]],
) -> Generator[None, None, Parsed]:
    """An update of these structs of ``update``, each client's cut at its known clock, and these delete ranges."""
    out = [varuint(len(structs))]
    at = len(out[0])
    sections = []
    for client, found in structs.items():
        clock = max(found[0].clock, known.get(client, 0))
        out.append(varuint(len(found)) + varuint(client) + varuint(clock))
        at += len(out[-1])
        moved: list[Struct] = []
        if found[0].clock < clock:
            head = cut(update, client, found[0], clock - found[0].clock)
            moved.append(_moved(_read(client, clock, head), at))
            out.append(head)
            at += len(head)
            found = found[1:]
        if found:
            start = found[0].start
            for done, struct in enumerate(found, 1):
                moved.append(_moved(struct, at + struct.start - start))
                if not done % SLICE:
                    yield
            out.append(update[start : found[-1].end])
            at += len(out[-1])
        sections.append(Section(client, clock, moved, ends[client]))
    out.append(encode_deletes(deletes))
    return Parsed(b"".join(out), sections, deletes)


def _read(client: int, clock: int, struct: bytes) -> Struct:
    return parse(encode_update([(client, clock, 1, struct)], [])).sections[0].structs[0]


def _moved(struct: Struct, start: int) -> Struct:
    shift = start - struct.start
    return struct._replace(start=start, content=struct.content + shift, end=struct.end + shift)


def merged(ranges: Ranges) -> Generator[None, None, Ranges]:
    """Ranges without overlap, or the same list if it has none: one that is named over and over counts once."""
    for at in range(0, len(ranges), SLICE):
        if at:
            yield
        if not _in_order(ranges[at : at + SLICE + 1]):
            break
    else:
        return ranges
    sorted_parts = [sorted(ranges[at : at + 4 * SLICE]) for at in range(0, len(ranges), 4 * SLICE)]
    joined: Ranges = []
    overlap = False
    for done, (clock, length) in enumerate(merge(*sorted_parts), 1):
        if joined and clock <= sum(joined[-1]):
            first, known = joined[-1]
            overlap = overlap or clock < first + known
            joined[-1] = (first, max(known, clock + length - first))
        else:
            joined.append((clock, length))
        if not done % SLICE:
            yield
    return joined if overlap else ranges


def _in_order(ranges: Ranges) -> bool:
    return all(one[0] + one[1] <= two[0] for one, two in pairwise(ranges))
