"""What the nouns need of a task's document: to read it and to write into it.

Owns this as a small protocol, so that no noun knows a room. Must never touch a document's bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from crdt_docs.ids import DocName, UserId
from crdt_docs.rope import Rope
from crdt_docs.updates.compose import Composer
from server.domain.access import Principal


class ReadDocument(Protocol):
    """A document at a moment: one v1 ``update`` that rebuilds it, and the last ``seq`` of the log that it covers."""

    @property
    def seq(self) -> int:
        """Gapless per document."""
        ...

    @property
    def generation(self) -> int:
        """Which line of the document: restore and repair begin another."""
        ...

    @property
    def update(self) -> bytes:
        """The whole document, copied."""
        ...

    @property
    def rope(self) -> Rope:
        """The same to be read off, which copies nothing."""
        ...

    @property
    def quarantined(self) -> str | None:
        """Why it may not be projected, if it may not."""
        ...


class Documents(Protocol):
    """Live documents, by name."""

    async def read(self, name: DocName) -> ReadDocument:
        """The document now."""
        ...

    async def generation(self, name: DocName) -> int:
        """By which clients name their local copies."""
        ...

    async def compose(
        self,
        name: DocName,
        principal: Principal,
        build: Callable[[Composer], None],
        via: str = "http",
        *,
        fresh: bool = False,
    ) -> int:
        """Write on the principal's behalf; the seq, once it is durable. ``build`` may be called twice."""
        ...

    async def deliver(self, name: DocName, principal: Principal, update: bytes, generation: int) -> int:
        """Take a v1 update of the principal's, whole or not at all; the seq, once it is durable."""
        ...

    def rename(self, user: UserId, name: str) -> None:
        """From here on a person is shown in them by that name."""
        ...

    async def quarantine(self, name: DocName, reason: str | None) -> None:
        """Mark that projections of a document fail. Its syncing goes on."""
        ...
