"""What stands around a room: the registry that it lives in, and what all rooms share. Owns the shapes only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from crdt_docs.updates.parse import Parsed
from server.domain.clock import Clock
from server.rooms.crowd import Crowds
from server.rooms.hearing import KeySet
from server.rooms.limits import Limits
from server.rooms.writer import Writer

Guest = TypeVar("Guest")
Guest_contra = TypeVar("Guest_contra", contravariant=True)


class Host(Protocol[Guest_contra]):
    """What a room asks of the registry that it lives in."""

    async def parse(self, update: bytes) -> Parsed:
        """Parse a large update away from the event loop."""
        ...

    def wants_compaction(self, room: Guest_contra) -> None:
        """The tail has outgrown its snapshot."""
        ...

    def wants_rebase(self, room: Guest_contra) -> None:
        """Somebody else appended to the document."""
        ...

    def drop(self, room: Guest_contra) -> None:
        """The room can't go on; the next join loads it anew from the log."""
        ...

    def heard(self, room: Guest_contra, edited: bool, keys: Sequence[KeySet]) -> None:
        """Something was committed, and set these keys; ``edited`` unless it only erased somebody."""
        ...


class Around(NamedTuple, Generic[Guest]):
    """What every room of a registry shares."""

    writer: Writer
    host: Host[Guest]
    clock: Clock
    limits: Limits
    crowds: Crowds
