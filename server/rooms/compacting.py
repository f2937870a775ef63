"""Making a room's next snapshot. Owns the order: compact elsewhere, compare, store, and only then swap it in.

Must never hold up typing: what is released meanwhile is kept aside and spliced on top.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from crdt_docs.ids import Part
from crdt_docs.rope import Rope
from crdt_docs.updates.parse import Parsed
from crdt_docs.updates.splice import Spliced
from server.domain.errors import Conflict
from server.domain.log import Snapshot, UpdateLog
from server.rooms import lanes
from server.rooms.room import Room


class Offload(Protocol):
    """Pure-Python work on bytes, done in another process."""

    async def parse(self, update: bytes) -> Parsed:
        """``crdt_docs.updates.parse.parse``; raises what it raises, or Unavailable."""
        ...

    async def compact(self, part: Part, update: Rope) -> Compacted:
        """Trim a whole document and verify the result; raises Unavailable or Conflict."""
        ...


@dataclass(frozen=True, slots=True)
class Compacted:
    """A trimmed document, its splice index, and the gate's state as rebuilt from it."""

    update: bytes
    index: bytes
    state: bytes


async def compact(room: Room, offload: Offload, log: UpdateLog, lane: lanes.Lane) -> None:
    """Replace a room's snapshot and tail by a trimmed snapshot. Raises Conflict if that would lose something (I3)."""
    if room.dead:
        return
    room.since_compaction = []
    try:
        seq, vector = room.head, room.document.state_vector
        made = await offload.compact(room.name.part, room.document.rope({}))
        document = Spliced.load(made.update, made.index)
        if document.state_vector != vector:
            raise Conflict("compaction lost something")
        snapshot = Snapshot(seq, made.update, made.state, made.index)
        if room.dead or not await lanes.run(lane, lambda: log.replace(room.doc, snapshot)):
            return
        since = room.since_compaction
        for parsed in since:
            document.add(parsed)
        room.document = document
        room.snapshot_size = len(made.update)
        room.tail_size = sum(len(parsed.update) for parsed in since)
    finally:
        room.since_compaction = None
