"""Making a new snapshot, and reading large frames: bytes alone, no engine. Runs only in workers, for it takes its time.

Owns the check that a snapshot says what the log says (I3). Must never return one that it has not read back.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import accumulate
from typing import Final

from crdt_docs.lib0 import Bytes
from crdt_docs.updates.parse import Parsed, parse
from crdt_docs.updates.splice import Spliced
from crdt_docs.updates.trim import trim
from server.engine.records import Records

CHUNK: Final = 1000
"""Structs or delete ranges in one record of a parsed frame, so that the server can take breath between two of them."""


class Unequal(Exception):
    """Trimming changed what the document says: a bug, and the old snapshot stays."""


def parse_frame(update: bytes) -> Bytes:
    """A frame, parsed, in short records, as ``Engine.parse`` puts it together again. Raises Malformed and TooLarge.

    ``(client, clock, end)`` and lists of its structs, for each section; None; a client and lists of its ranges, for
    each client of which something is deleted.
    """
    parsed = parse(update)
    out = Records()
    for client, clock, structs, end in parsed.sections:
        out.put((client, clock, end))
        for at in range(0, len(structs), CHUNK):
            out.put([tuple(struct) for struct in structs[at : at + CHUNK]])
    out.put(None)
    for client, ranges in parsed.deletes:
        out.put(client)
        for at in range(0, len(ranges), CHUNK):
            out.put(ranges[at : at + CHUNK])
    return out.out


LENGTHS: Final = struct.Struct("<QQ")
"""Of the state and of the index, before both and the update in what ``compact`` returns: pieces of it can be used."""


def compact_joined(snapshot: bytes, index: bytes, lengths: Sequence[int], tail: bytes, finish: str | None) -> bytes:
    """``compact`` of a tail whose updates, of these lengths, follow on one another."""
    ends = list(accumulate(lengths))
    return compact(snapshot, index, [tail[end - n : end] for n, end in zip(lengths, ends, strict=True)], finish)


def compact(snapshot: bytes, index: bytes, tail: Sequence[bytes], finish: str | None) -> bytes:
    """Snapshot (empty for none) and tail as one trimmed update with its splice index.

    ``finish`` names ``module:function``, which makes the gate's state out of the parsed result. Returns ``LENGTHS``,
    state, index, update.
    """
    spliced = Spliced.load(snapshot, index) if snapshot else Spliced()
    for update in tail:
        spliced.add(parse(update))
    trimmed = Spliced()
    trimmed.add(parse(trim(spliced.full())))
    if trimmed.state_vector != spliced.state_vector:
        raise Unequal("trimming changed the state vector")
    for client, ranges in spliced.deletes.items():
        if not all(trimmed.deletes.covers(client, clock, clock + length) for clock, length in ranges):
            raise Unequal("trimming lost a deletion")
    update = trimmed.full()
    state = _finisher(finish)(parse(update)) if finish else b""
    made = trimmed.dump_index()
    return b"".join((LENGTHS.pack(len(state), len(made)), state, made, update))


def _finisher(path: str) -> Callable[[Parsed], bytes]:
    module, _, function = path.partition(":")
    finisher: Callable[[Parsed], bytes] = getattr(import_module(module), function)
    return finisher
