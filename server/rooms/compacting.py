"""Making a room's next snapshot. Owns the order: compact elsewhere, compare, store, and only then swap it in.

Must never hold up typing: what is released meanwhile is kept aside and spliced on top.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from crdt_docs.errors import Malformed
from crdt_docs.ids import Part
from crdt_docs.rope import Rope
from crdt_docs.updates.parse import Parsed
from crdt_docs.updates.splice import Spliced
from server.domain.errors import Conflict
from server.domain.garbage import let_go_of
from server.domain.log import Snapshot, UpdateLog
from server.rooms import lanes, slices
from server.rooms.room import Room
from server.rooms.storing import store
from server.rooms.tail import weight

SLICE: Final = 100
"""Updates that are spliced on top before others may run."""


class Offload(Protocol):
    """Pure-Python work on bytes, done in another process."""

    async def parse(self, update: bytes) -> Parsed:
        """``crdt_docs.updates.parse.parse``; raises what it raises, or Unavailable."""
        ...

    async def compact(self, part: Part, update: Rope) -> Compacted:
        """Trim a whole document and verify the result; raises Unavailable or Conflict."""
        ...

    async def fold(self, part: Part, snapshot: Snapshot | None, tail: Sequence[bytes]) -> Compacted:
        """Splice a tail onto a snapshot, trimming nothing; raises Unavailable or Conflict."""
        ...


@dataclass(frozen=True, slots=True)
class Compacted:
    """A trimmed document in pieces, its splice index, and the gate's state as rebuilt from it."""

    pieces: Sequence[bytes]
    index: bytes
    state: bytes

    def snapshot(self, seq: int) -> Snapshot:
        """What is to be stored of it, as of that seq."""
        if len(self.pieces) == 1:
            return Snapshot(seq, self.pieces[0], self.state, self.index)
        return Snapshot(seq, b"", self.state, self.index, tuple(self.pieces))


async def compact(room: Room, offload: Offload, log: UpdateLog, lane: lanes.Lane) -> bool:
    """Replace a room's snapshot and tail by a trimmed snapshot. False if the room is over, or the log has a newer one.

    Raises Conflict if that would lose something (I3).
    """
    if room.dead:
        return False
    room.since_compaction = []
    try:
        seq, vector = room.head, room.document.state_vector
        made = await offload.compact(room.name.part, room.document.rope({}))
        try:
            document = await slices.run(Spliced.load_in_slices(made.pieces, made.index))
        except (Malformed, ValueError, IndexError) as error:
            raise Conflict("compaction made something unreadable") from error
        if document.state_vector != vector:
            raise Conflict("compaction lost something")
        if room.dead or not await store(log, lane, room.doc, made.snapshot(seq)):
            return False
        await slices.run(_catch_up(document, room.since_compaction))
        before, room.document = room.document, document
        room.snapshot_size = sum(map(len, made.pieces))
        room.tail_size = sum(map(weight, room.since_compaction))
        await slices.run(before.dissolve())
        let_go_of(made.pieces, room.snapshot_size)
        return True
    finally:
        room.since_compaction = None


def _catch_up(document: Spliced, since: list[Parsed]) -> Generator[None, None, None]:
    """Splice on top what was released meanwhile, and what is while this goes on."""
    done = 0
    while done < len(since):
        document.add(since[done])
        done += 1
        if not done % SLICE:
            yield
