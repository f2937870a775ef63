"""Storing a snapshot, in steps so small that nobody's commit waits for it. Owns the order of the steps.

The pieces go in first, where nobody looks for them; one short transaction then makes them the document's snapshot (I3);
what they replace is dropped last. Whenever it stops in between, the log is whole, and the next one drops first what it
left.
"""

from __future__ import annotations

from server.domain.log import DocKey, Snapshot, UpdateLog
from server.rooms import lanes


async def store(log: UpdateLog, lane: lanes.Lane, doc: DocKey, snapshot: Snapshot) -> bool:
    """Make it the document's snapshot. False if it has a newer one. Raises LogFailed."""
    await _drop_covered(log, lane, doc)
    for step in log.stage(doc, snapshot):
        await lanes.run(lane, step)
    if not await lanes.run(lane, lambda: log.replace(doc, snapshot)):
        return False
    await _drop_covered(log, lane, doc)
    return True


async def _drop_covered(log: UpdateLog, lane: lanes.Lane, doc: DocKey) -> None:
    while await lanes.run(lane, lambda: log.drop_covered(doc)):
        pass
