"""Making a new snapshot, and reading large frames: bytes alone, no engine. Runs only in workers, for it takes its time.

Owns the check that a snapshot says what the log says (I3). Must never return one that it has not read back.
"""

from __future__ import annotations

import struct
from array import array
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


def compact_joined(snapshot: bytes, index: bytes, lengths: bytes, tail: bytes, finish: str | None) -> bytes:
    """``compact`` of a tail whose updates, of these lengths, follow on one another."""
    return compact(snapshot, index, _split(tail, lengths), finish)


def fold_joined(snapshot: bytes, index: bytes, lengths: bytes, tail: bytes, finish: str | None) -> bytes:
    """The same, but nothing is trimmed, and so it takes a third of the time: somebody waits for the document."""
    spliced = _splice(snapshot, index, _split(tail, lengths))
    return _finished(spliced, finish)


def lengths_of(tail: Sequence[bytes]) -> bytes:
    """How long its updates are, as one argument: so many numbers would take as long to hand over as all else."""
    return array("Q", map(len, tail)).tobytes()


def _split(joined: bytes, packed: bytes) -> list[bytes]:
    lengths = array("Q", packed)
    return [joined[end - length : end] for length, end in zip(lengths, accumulate(lengths), strict=True)]


def _splice(snapshot: bytes, index: bytes, tail: Sequence[bytes]) -> Spliced:
    spliced = Spliced.load(snapshot, index) if snapshot else Spliced()
    for update in tail:
        spliced.add(parse(update))
    return spliced


def _finished(document: Spliced, finish: str | None) -> bytes:
    update = document.full()
    state = _finisher(finish)(parse(update)) if finish else b""
    index = document.dump_index()
    return b"".join((LENGTHS.pack(len(state), len(index)), state, index, update))


def compact(snapshot: bytes, index: bytes, tail: Sequence[bytes], finish: str | None) -> bytes:
    """Snapshot (empty for none) and tail as one trimmed update with its splice index.

    ``finish`` names ``module:function``, which makes the gate's state out of the parsed result. Returns ``LENGTHS``,
    state, index, update.
    """
    spliced = _splice(snapshot, index, tail)
    trimmed = Spliced()
    trimmed.add(parse(trim(spliced.full())))
    if trimmed.state_vector != spliced.state_vector:
        raise Unequal("trimming changed the state vector")
    for client, ranges in spliced.deletes.items():
        if not all(trimmed.deletes.covers(client, clock, clock + length) for clock, length in ranges):
            raise Unequal("trimming lost a deletion")
    return _finished(trimmed, finish)


def _finisher(path: str) -> Callable[[Parsed], bytes]:
    module, _, function = path.partition(":")
    finisher: Callable[[Parsed], bytes] = getattr(import_module(module), function)
    return finisher
