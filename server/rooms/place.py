"""What a connection asks of the room that it is in. Owns the shape only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from crdt_docs.ids import DocName
from crdt_docs.messages.vocabulary import State
from crdt_docs.updates.parse import Parsed
from crdt_docs.updates.splice import Spliced
from crdt_docs.updates.vectors import DeleteSet
from server.domain.access import PrincipalKey
from server.domain.clock import Clock
from server.domain.log import Actor
from server.rooms.gate import Gate
from server.rooms.limits import Limits
from server.rooms.verdict import Admit, Kind, Verdict

Peer = TypeVar("Peer")


class Place(Protocol[Peer]):
    """The room, as its peers need it."""

    name: DocName
    head: int
    limits: Limits
    lock: asyncio.Lock
    gate: Gate
    document: Spliced
    lacking: frozenset[Peer]
    clock: Clock

    async def parse(self, update: bytes) -> Parsed:
        """Parse a large update away from the event loop."""
        ...

    async def resolve(self, parsed: Parsed, principal: PrincipalKey, kind: Kind) -> Verdict:
        """Admit in slices; the caller holds ``lock``."""
        ...

    async def bring_ahead(self, parsed: Parsed) -> None:
        """Have what was submitted lie ready for its release; for what is long. The caller holds ``lock``."""
        ...

    def submit(self, admit: Admit, actor: Actor) -> None:
        """Take an admitted update on its way to the log. Raises LogFailed while the server is read-only."""
        ...

    def when_released(self, then: Callable[[], None]) -> None:
        """Call ``then`` once all that was admitted before is released."""
        ...

    def go_live(self, connection: Peer) -> None:
        """From here on it hears every release."""
        ...

    def park(self, connection: Peer) -> None:
        """Hand it nothing more for now."""
        ...

    def unpark(self, connection: Peer) -> DeleteSet | None:
        """It reads again; what was deleted since it was parked, None if that is not known any more."""
        ...

    def leave(self, connection: Peer) -> None:
        """It is gone."""
        ...

    def hear_awareness(self, connection: Peer, states: tuple[State, ...]) -> None:
        """What it says about itself."""
        ...

    def tell_awareness(self, connection: Peer) -> None:
        """Tell it who is here."""
        ...
