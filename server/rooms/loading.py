"""A room from what the log has of its document. Owns that gate and document are at one state, the log's (I3)."""

from __future__ import annotations

import asyncio
from typing import Final

from crdt_docs.ids import DocName
from crdt_docs.updates.parse import Parsed
from crdt_docs.updates.splice import Spliced
from server.domain.log import Opened
from server.rooms.gate import Gate
from server.rooms.room import Around, Room
from server.rooms.verdict import Shape

SLICE_ENTRIES: Final = 500


async def build(name: DocName, opened: Opened, shape: Shape, around: Around) -> Room:
    """Snapshot and tail, in slices; what is long is parsed elsewhere. Raises ValueError for a log with a gap."""
    gate = Gate(shape, opened.claims)
    document = Spliced()
    if opened.snapshot is not None:
        document = Spliced.load(opened.snapshot.update, opened.snapshot.index)
        if not gate.load(opened.snapshot.state) or gate.state_vector != document.state_vector:
            gate = Gate(shape, opened.claims)
            await _restore(gate, await around.host.parse(opened.snapshot.update))
    for at, logged in enumerate(opened.tail):
        parsed = await around.host.parse(logged.update)
        await _restore(gate, parsed)
        document.add(parsed)
        if not at % SLICE_ENTRIES:
            await asyncio.sleep(0)
    room = Room(name, opened.doc, opened.generation, gate, document, opened.head, around)
    room.quarantined = opened.quarantined
    room.snapshot_size = len(opened.snapshot.update) if opened.snapshot else 0
    room.tail_size = sum(len(logged.update) for logged in opened.tail)
    return room


async def _restore(gate: Gate, parsed: Parsed) -> None:
    for _ in gate.restore_in_slices(parsed):
        await asyncio.sleep(0)
