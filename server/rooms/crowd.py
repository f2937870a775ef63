"""Who is in a room, as its peers are shown it. Owns what the awareness table's answers become on the wire.

Must never relay what a peer says of somebody else, nor anything that is not valid JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from crdt_docs.errors import TooLarge
from crdt_docs.ids import DocName
from crdt_docs.messages import Awareness, Refused
from crdt_docs.messages.vocabulary import State, in_portions
from crdt_docs.messages.ywebsocket import encode
from crdt_docs.presence import AwarenessTable, Person, floor
from server.domain.access import Principal, PrincipalKey
from server.domain.errors import CLOSE
from server.domain.log import Claim
from server.rooms.fanning import Fanned

if TYPE_CHECKING:
    from server.rooms.connection import Connection


def person(principal: Principal) -> Person:
    """How a principal is shown to others."""
    return Person(principal.user, principal.name, "user" if principal.kind == "user" else "agent", principal.device)


class Crowd:
    """The presence of one room's connections, under clocks ``above`` those that they may know already."""

    __slots__ = ("_table",)

    def __init__(self, above: int = 0) -> None:
        self._table: AwarenessTable[Connection] = AwarenessTable(above)

    @property
    def highest(self) -> int:
        """No clock that anybody was told is above."""
        return self._table.highest

    def hear(
        self,
        connection: Connection,
        states: tuple[State, ...],
        claims: Mapping[int, Claim],
        peers: Iterable[Connection],
        now: float,
    ) -> None:
        """Take what a peer says about itself and tell everyone; it hears its own words back, as a sign of life.

        A client id that somebody else has written under is theirs, be they here or not.
        """
        who = connection.principal
        own = [said for said in states if not _is_anothers(claims.get(said.client), who.key)]
        try:
            heard = self._table.hear(connection, own, person(who), who.key, now)
        except TooLarge as error:
            connection.send(encode(Refused(CLOSE["too_large"], str(error))))
            return
        self._say((connection,), heard.to_sender)
        self._say([peer for peer in peers if peer is not connection], heard.to_others)

    def principal_of(self, client: int) -> PrincipalKey | None:
        """Whose client id that is, as far as presence tells."""
        return cast(PrincipalKey | None, self._table.principal_of(client))

    def leave(self, connection: Connection, peers: Iterable[Connection]) -> None:
        """A peer is gone."""
        self._say(peers, self._table.leave(connection))

    def tell(self, connection: Connection) -> None:
        """Tell one peer of everyone; its own state it knows best."""
        self._say((connection,), self._table.welcome(connection, connection.principal.key))

    def _say(self, peers: Iterable[Connection], states: Iterable[State]) -> None:
        frames = [encode(Awareness(portion)) for portion in in_portions(states)]
        if not frames:
            return
        fanned = Fanned(frames)
        for peer in tuple(peers):
            if peer.alive and peer.live and peer.parked is None:  # whoever is parked is told everything when it drains
                peer.quiet = False
                peer.take(fanned)


def _is_anothers(claim: Claim | None, principal: PrincipalKey) -> bool:
    return claim is not None and not claim.provisional and claim.principal != principal


class Crowds:
    """The crowds of a server's rooms. Remembers of those that ended how far their clocks ran ahead of the time.

    They do where many join at once, or somebody moves for long; peers come back with those clocks to the room that is
    loaded next, and would see nobody there until time has caught up.
    """

    def __init__(self) -> None:
        self._ahead: dict[DocName, int] = {}

    def begin(self, name: DocName) -> Crowd:
        """The crowd of a room that was loaded."""
        return Crowd(self._ahead.get(name, 0))

    def end(self, name: DocName, crowd: Crowd, now: float) -> None:
        """Its room is gone (Unix seconds)."""
        time = floor(now)
        self._ahead = {kept: clock for kept, clock in self._ahead.items() if clock > time}
        if crowd.highest > time:
            self._ahead[name] = crowd.highest
