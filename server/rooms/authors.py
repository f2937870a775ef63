"""Whose the clocks of a document are, as the log noted it. Owns that a claim overrules what a Step2 carried (I4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from crdt_docs.ids import AgentId, DocName, UserId
from server.domain.access import PrincipalKey
from server.domain.log import Actor, Author, Claim, Cut, Span, UpdateLog
from server.rooms import lanes
from server.rooms.registry import Rooms


class Position(NamedTuple):
    """Where a document is: ``moment`` is its generation and seq."""

    moment: tuple[int, int]
    quarantined: str | None

    @property
    def seq(self) -> int:
        """The last update of the log that it has."""
        return self.moment[1]


class Written(NamedTuple):
    """What stands under one client id: clocks from ``first`` to before ``end``, by one author."""

    client: int
    first: int
    end: int
    author: Author


@dataclass(frozen=True, slots=True)
class Authors:
    """The authors of live documents."""

    rooms: Rooms
    log: UpdateLog
    read: lanes.Lane

    async def position(self, name: DocName) -> Position:
        """The document's position now."""
        async with self.rooms.room(name) as room:
            return Position((room.generation, room.head), room.quarantined)

    async def of(self, name: DocName, spans: Sequence[Span]) -> list[list[Author]]:
        """For each span its authors in order; none where nothing is known."""
        async with self.rooms.room(name) as room:
            found = await lanes.run(self.read, lambda: self.log.authors(room.doc, spans))
            claims = room.gate.claims
            return [
                [_true(author, claims.get(span[0])) for author in authors]
                for span, authors in zip(spans, found, strict=True)
            ]

    async def page(self, name: DocName, after: int, most: int) -> tuple[Position, list[Written], int | None]:
        """Who wrote what under the first client ids over ``after``: at most so many, and after which the rest comes."""
        async with self.rooms.room(name) as room:
            position = Position((room.generation, room.head), room.quarantined)
            ends = room.document.state_vector
            clients = sorted(client for client in ends if client > after)
            some = clients[:most]
            found = await self.of(name, [(client, 0, ends[client]) for client in some])
        written = [
            Written(client, max(0, author.clock), end, author)
            for client, authors in zip(some, found, strict=True)
            for author, end in zip(authors, [*(later.clock for later in authors[1:]), ends[client]], strict=True)
        ]
        return position, written, some[-1] if len(clients) > most else None

    async def cuts(self, name: DocName, after: int) -> list[Cut]:
        """What was deleted from after that seq."""
        async with self.rooms.room(name) as room:
            return await lanes.run(self.read, lambda: self.log.cuts(room.doc, after))


def _true(author: Author, claim: Claim | None) -> Author:
    """A tab carries what its neighbours have not sent: whose client id it is counts, not who brought it."""
    if claim is None or claim.provisional or claim.principal == author.actor.principal:
        return author
    return author._replace(actor=_owner(claim.principal))


def _owner(principal: PrincipalKey) -> Actor:
    kind, _, key = principal.partition(":")
    agent = AgentId(key) if kind == "agent" else None
    return Actor(principal, UserId("" if agent else key), agent, None, None, None, "sync")
