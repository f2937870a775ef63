"""A room from what the log has of its document. Owns that gate and document are at one state, the log's (I3)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from crdt_docs.errors import Malformed
from crdt_docs.ids import DocName
from crdt_docs.updates.parse import Parsed, parse
from crdt_docs.updates.splice import Spliced
from server.domain.errors import ClewError
from server.domain.garbage import let_go_of
from server.domain.log import Opened
from server.rooms import slices
from server.rooms.around import Around
from server.rooms.compacting import Offload
from server.rooms.gate import Gate
from server.rooms.room import Room
from server.rooms.verdict import Shape

BREATH: Final = 4 * 1024
"""Bytes of small updates that are read before others may run; a few milliseconds."""


async def build(name: DocName, opened: Opened, shape: Shape, around: Around[Room], offload: Offload) -> Room:
    """Snapshot and tail, in slices; what is long is read elsewhere. Raises ValueError for a log with a gap."""
    tail_size = opened.tail_size  # counted once: where there are many it takes a millisecond or two
    start = opened
    if tail_size > around.limits.fold(opened.snapshot_size):
        start = await _fold(name, opened, offload)
    gate, document = await _load(start, shape, offload, name)
    await _go_on(gate, document, [logged.update for logged in start.tail], around)
    room = Room(name, opened.doc, opened.generation, gate, document, opened.head, around)
    room.quarantined = opened.quarantined
    room.snapshot_size = opened.snapshot_size
    room.tail_size = tail_size
    let_go_of(opened.tail, tail_size)
    for read in (opened,) if start is opened else (opened, start):
        let_go_of(read.snapshot.parts if read.snapshot else (), read.snapshot_size)
    return room


async def _go_on(gate: Gate, document: Spliced, tail: list[bytes], around: Around[Room]) -> None:
    """Take in what came after the snapshot: nearly all of it keystrokes, some hundred in a turn."""
    read = 0
    for update in tail:
        size = len(update)
        parsed = parse(update) if size <= BREATH else await around.host.parse(update)
        if not gate.restore_keystroke(parsed):
            await slices.run(gate.restore_in_slices(parsed))
        document.add(parsed)
        read += size
        if read > BREATH:
            read = 0
            await asyncio.sleep(0)


async def _fold(name: DocName, opened: Opened, offload: Offload) -> Opened:
    """A long tail is spliced onto its snapshot before it is read: a worker does what would take many turns here."""
    await asyncio.sleep(0)
    tail = [logged.update for logged in opened.tail]
    await asyncio.sleep(0)
    try:
        made = await offload.fold(name.part, opened.snapshot, tail)
    except ClewError:
        return opened  # then it is read here, in slices
    return replace(opened, snapshot=made.snapshot(opened.head), tail=())


async def _load(opened: Opened, shape: Shape, offload: Offload, name: DocName) -> tuple[Gate, Spliced]:
    gate = Gate(shape, opened.claims)
    snapshot = opened.snapshot
    if snapshot is None:
        return gate, Spliced()
    parsed: Parsed | None = None
    try:
        document = await slices.run(Spliced.load_in_slices(snapshot.parts, snapshot.index))
    except (Malformed, ValueError, IndexError):
        # another version's index, or a damaged one: the bytes themselves are the truth
        parsed = await offload.parse(snapshot.whole().update)
        document = Spliced()
        document.add(parsed)
    loaded = await slices.run(gate.load_in_slices(snapshot.state, document.deletes))
    if not loaded or gate.state_vector != document.state_vector:
        gate = Gate(shape, opened.claims)
        await slices.run(gate.restore_in_slices(parsed or await offload.parse(snapshot.whole().update)))
    return gate, document
