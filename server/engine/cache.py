"""Projections that were just made. Owns their bound in bytes; must never answer for another seq than asked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple


class At(NamedTuple):
    """Which document, at which seq."""

    document: Hashable
    seq: int


class ProjectionCache:
    """The newest projection of each document, the least recently used thrown out first."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._held: OrderedDict[Hashable, tuple[int, bytes]] = OrderedDict()

    def get(self, at: At) -> bytes | None:
        """The projection at exactly that seq, if it is held."""
        held = self._held.get(at.document)
        if held is None or held[0] != at.seq:
            return None
        self._held.move_to_end(at.document)
        return held[1]

    def put(self, at: At, projection: bytes) -> None:
        """Hold it, unless a newer one is held or it alone is over the bound."""
        held = self._held.get(at.document)
        if (held is not None and held[0] > at.seq) or len(projection) > self.limit:
            return
        self.forget(at.document)
        self._held[at.document] = (at.seq, projection)
        self.size += len(projection)
        while self.size > self.limit:
            _, (_, oldest) = self._held.popitem(last=False)
            self.size -= len(oldest)

    def forget(self, document: Hashable) -> None:
        """Drop a document's projection, as when the document is erased."""
        held = self._held.pop(document, None)
        if held is not None:
            self.size -= len(held[1])
