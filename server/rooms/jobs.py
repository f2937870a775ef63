"""What rooms have done elsewhere: parsing long frames, and compaction. Pure Python on bytes, no CRDT engine.

Owns both ends: the functions that run in a worker process, and ``WorkerOffload``, which calls them. Must never let a
worker's answer replace anything unverified: a compaction is parsed again, and must reach the same state vector.
"""

from __future__ import annotations

import asyncio
import marshal
from collections.abc import Mapping
from typing import Final, Protocol

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.ids import Part
from crdt_docs.updates.parse import Parsed, Section, Struct, parse
from crdt_docs.updates.splice import Spliced
from crdt_docs.updates.trim import trim
from server.domain.errors import Conflict
from server.rooms.gate import Gate
from server.rooms.registry import Compacted
from server.rooms.verdict import Shape

PARSE: Final = "server.rooms.jobs:parse_job"
COMPACT: Final = "server.rooms.jobs:compact_job"
PORTION: Final = 2000
"""Structs read back at once; about 2 ms."""


class Workers(Protocol):
    """Processes that run a named function on bytes."""

    async def run(self, job: str, payload: bytes) -> bytes:
        """Run ``module:function``; raises Unavailable if the worker died, hung or outgrew its memory."""
        ...


def parse_job(payload: bytes) -> bytes:
    """In a worker: parse an update into portions that can be read back one at a time."""
    try:
        parsed = parse(payload)
    except TooLarge as error:
        return marshal.dumps((str(error), True))
    except Malformed as error:
        return marshal.dumps((str(error), False))
    sections = []
    for client, clock, structs, end in parsed.sections:
        plain = [tuple(struct) for struct in structs]
        portions = [marshal.dumps(plain[at : at + PORTION]) for at in range(0, len(plain), PORTION)]
        sections.append((client, clock, end, portions))
    return marshal.dumps((None, sections, parsed.deletes))


def compact_job(payload: bytes) -> bytes:
    """In a worker: trim a document, verify it, and rebuild splice index and gate state from the result."""
    roots, update = marshal.loads(payload)
    before = Spliced.load(update).state_vector
    document = Spliced.load(trim(update))
    trimmed = document.full()
    gate = Gate(Shape(roots))
    gate.restore(parse(trimmed))
    if gate.state_vector != before:
        return marshal.dumps((None,))
    return marshal.dumps((trimmed, document.dump_index(), gate.dump()))


class WorkerOffload:
    """The rooms' ``Offload`` over worker processes."""

    def __init__(self, workers: Workers, shapes: Mapping[Part, Shape]) -> None:
        self._workers = workers
        self._shapes = shapes

    async def parse(self, update: bytes) -> Parsed:
        """Parse in a worker; raises Malformed, TooLarge or Unavailable."""
        found = marshal.loads(await self._workers.run(PARSE, update))
        if found[0] is not None:
            raise (TooLarge if found[1] else Malformed)(found[0])
        sections = []
        for client, clock, end, portions in found[1]:
            structs: list[Struct] = []
            for portion in portions:
                structs.extend(map(Struct._make, marshal.loads(portion)))
                if len(portions) > 1:
                    await asyncio.sleep(0)
            sections.append(Section(client, clock, structs, end))
        return Parsed(update, sections, found[2])

    async def compact(self, part: Part, update: bytes) -> Compacted:
        """Compact in a worker; raises Conflict if the result does not hold what the document held."""
        payload = marshal.dumps((dict(self._shapes[part].roots), update))
        found = marshal.loads(await self._workers.run(COMPACT, payload))
        if found[0] is None:
            raise Conflict("compaction lost something")
        return Compacted(*found)
