"""How much an update adds to what the next compaction gains. Owns the measure only."""

from __future__ import annotations

from typing import Final

from crdt_docs.updates.parse import Parsed

COUNTED: Final = 1_000
"""Ranges of one client that are looked at: an update that deletes in more places is long by itself."""


def weight(parsed: Parsed) -> int:
    """Its bytes, and what it deletes: letters that lie in the snapshot to no end, though a few bytes took them out."""
    size = len(parsed.update)
    for _, ranges in parsed.deletes:
        for _, length in ranges[:COUNTED]:
            size += length
    return size
