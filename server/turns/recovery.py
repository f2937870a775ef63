"""What was said just before a crash and did not become a turn. Owns the search for it in the log, at start.

A message is committed first and filed a moment later, so a server that dies in between leaves it in the log alone. How
far each document was searched is noted every few seconds; from there on its tail is read. What a compaction took into
a snapshot within that very moment is not found: a snapshot does not say who wrote what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from crdt_docs.ids import TaskId
from crdt_docs.updates.parse import parse
from server.domain.clock import Clock
from server.domain.log import UpdateLog
from server.domain.turn import Said
from server.rooms import lanes
from server.rooms.hearing import keys_set
from server.store.turns import Turns
from server.turns.desk import messages_of


class Unfiled(NamedTuple):
    """A task's messages in the part of its document that was not searched, which ends at ``seq``."""

    task: TaskId
    seq: int
    said: tuple[Said, ...]


async def recover(turns: Turns, log: UpdateLog, read: lanes.Lane, clock: Clock) -> int:
    """File what was said and not filed; how many messages those were."""
    searched = await turns.searched()
    found = await lanes.run(read, lambda: list(_search(log, searched)))
    for task, seq, said in found:
        await turns.file(task, said, seq, clock.now())
    return sum(len(one.said) for one in found)


def _search(log: UpdateLog, searched: Mapping[TaskId, int]) -> Iterator[Unfiled]:
    for name, doc, _ in log.names():
        if name.part != "main" or name.task not in searched:
            continue
        tail = log.tail(doc, searched[name.task])
        said = [one for logged in tail for one in messages_of(keys_set(parse(logged.update), logged.actor))]
        if said:
            yield Unfiled(name.task, tail[-1].seq, tuple(said))
