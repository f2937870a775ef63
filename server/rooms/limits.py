"""The bounds within which rooms live. Owns numbers only."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Final

MOST_NEW_CLIENTS: Final = 10_000
"""Client ids that one update may bring. A page load makes one; each costs state for ever."""
MOST_CLIENTS: Final = 100_000
"""Client ids of one document: each join looks through all of them, and whoever is up to date names all of them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds."""

    inline_frame: int = 16 * 1024
    """A longer frame is parsed in a worker, in its place in the connection's order."""
    frame: int = 32 * 1024 * 1024
    long: int = 64 * 1024
    """A longer frame is not held for its readers, but read off the document as they take it."""
    idle: float = 60.0
    """A room without connections is dropped after this long."""
    parked: float = 60.0
    """A reader that has taken nothing for this long is closed 1013."""
    keepalive: float = 10.0
    """Whoever heard nothing for one to two of these is sent an empty awareness; y-websocket 3 gives up after 30."""
    renew_before: float = 60.0
    """A connection by ticket is asked to renew its lease this long before it ends."""
    controls: int = 256
    """Answers kept for a parked reader (barriers, receipts) before it is closed."""
    compact_tail: int = 256 * 1024
    """A tail is compacted when it is larger than this and than the snapshot under it."""
    rest: float = 5.0
    """A document in which nobody has written for this long is at rest,"""
    rest_tail: int = 16 * 1024
    """and is compacted when its tail is larger than this: a tail is loaded a hundred times as slowly as a snapshot."""
    compact_retry: float = 30.0
    fruitless: int = 3
    """Step2s in a row that answer a provoked resync, admit nothing, and still have gaps."""
    lacking: int = 64
    """Gaps of a Step2 that a connection remembers; any of them closing is reason enough to ask again."""
    state_vector_entries: int = 100_000
    """Client ids that a peer may have beside the document's own: whoever is up to date has all of those, too."""
    revocation_memory: float = 60.0
    """How long a revocation is held against requests that were authenticated before it."""

    def entries(self, known: Sized) -> int:
        """How many a state vector may have, where so many clients are known."""
        return len(known) + self.state_vector_entries

    def outgrown(self, tail: int, snapshot: int) -> bool:
        """Whether a tail of that size is compacted while it grows."""
        return tail > self.compact_tail and tail > snapshot

    def fold(self, snapshot: int) -> int:
        """A longer tail is spliced onto a snapshot of that size in a worker, which has to read that as well."""
        return max(self.compact_tail, snapshot // 16)
