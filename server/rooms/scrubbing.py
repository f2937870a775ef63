"""Taking a person's name, or all that they wrote, out of a document that stays: as ordinary CRDT deletions.

Owns what counts as theirs: what the log attributes to them, whatever the document says. The structure stays, so that
what others wrote keeps its place; then the document is compacted, for only that leaves no bytes behind. Must never
delete a type: others may have written into it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from crdt_docs.ids import DocName, UserId
from crdt_docs.updates.map_entries import last_entries
from crdt_docs.updates.parse import ANY, BINARY, EMBED, FORMAT, STRING, Id, Parsed, parse
from crdt_docs.updates.splice import encode_update
from crdt_docs.updates.vectors import DeleteSet
from server.domain.access import PrincipalKey
from server.domain.log import Actor, Snapshot
from server.rooms.authors import Authors, Written
from server.rooms.registry import Rooms
from server.rooms.room import Room
from server.rooms.verdict import Admit

SIGNATURES: Final = frozenset(("author", "by", "session"))
"""Keys under which clients show who wrote an entry."""
STRUCTURE: Final = frozenset(
    ("at", "role", "kind", "order", "state", "status", "severity", "schema", "name", "turn", "run", "covers_seq")
)
"""Keys whose values say what an entry is, not what somebody said."""
WORDS: Final = frozenset((STRING, EMBED, BINARY, FORMAT))
EVERYBODY: Final = 2**53
WHY: Final = "what somebody wrote here was erased"

Spans = Mapping[int, Sequence[tuple[int, int]]]


def spans_of(written: Sequence[Written], user: UserId) -> dict[int, list[tuple[int, int]]]:
    """The clocks, per client id, that are the person's: by their own hand or by an agent's on their behalf."""
    found: dict[int, list[tuple[int, int]]] = {}
    for one in written:
        if one.author.actor.user == user:
            found.setdefault(one.client, []).append((one.first, one.end))
    return found


def deletion(parsed: Parsed, spans: Spans, *, texts: bool) -> bytes:
    """The update that takes the signatures, or with ``texts`` all words of these spans out of a whole document."""
    keys: dict[Id, str] = {entry: key for (_, key), entry in last_entries(parsed).items()}
    deleted = DeleteSet()
    for client, clock in keys:
        if keys[client, clock] in SIGNATURES and _within(spans.get(client, ()), clock):
            deleted.add(client, clock, clock + 1)
    if texts:
        for section in parsed.sections:
            for struct in section.structs if section.client in spans else ():
                value = struct.ref == ANY and keys.get((section.client, struct.clock)) not in STRUCTURE
                if struct.ref in WORDS or value:
                    for start, end in spans[section.client]:
                        deleted.add(section.client, max(start, struct.clock), min(end, struct.clock + struct.length))
    return encode_update([], deleted.items())


async def scrub(rooms: Rooms, authors: Authors, name: DocName, user: UserId, stub: UserId, *, texts: bool) -> None:
    """Do it to a live document, and leave no bytes of it. Raises LogFailed, Unavailable.

    With ``texts`` a new generation begins: whoever has an older copy is closed 4404, and keeps nothing of it in place.
    """
    _, written, _ = await authors.page(name, -1, EVERYBODY)
    spans = spans_of(written, user)
    if not spans:
        return
    async with rooms.room(name) as room:
        parsed = await room.parse(room.document.full())
        update = await asyncio.to_thread(deletion, parsed, spans, texts=texts)
        async with room.lock:
            _submit(room, update, stub)
        await room.released()
    await rooms.compact(name)
    if texts:
        read = await rooms.read(name)
        await rooms.fork(name, Snapshot(read.seq, read.update), WHY)


def _submit(room: Room, update: bytes, stub: UserId) -> None:
    principal = PrincipalKey(f"user:{stub}")
    verdict = room.gate.admit(parse(update), principal, "update")
    if isinstance(verdict, Admit) and verdict.update:
        room.submit(verdict, Actor(principal, stub, None, None, None, None, "erasure"))


def _within(spans: Sequence[tuple[int, int]], clock: int) -> bool:
    return any(start <= clock < end for start, end in spans)
