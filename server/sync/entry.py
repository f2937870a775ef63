"""How a credential becomes a connection in a room, whatever wire it came by.

Owns the order: who is it, what may they do here, in which session, and only then the room. Must never leave a session
attached whose connection did not come to be.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from starlette.datastructures import Headers

from crdt_docs.ids import DocName, TaskId
from server.domain.access import Principal, Role
from server.domain.errors import ClewError
from server.domain.policy import Allow
from server.doors.turnstile import Turnstile
from server.rooms.connection import Connection, Transport
from server.rooms.registry import Rooms
from server.sync.backlog import Backlog
from server.sync.rota import NEWCOMERS, Rota

FAREWELLS: Final = (1000, 1001)
"""Close codes of a peer that is done, or whose page is left (RFC 6455 section 7.4.1)."""


class Doors(Protocol):
    """Who is this, by what they bring. All raise Unauthenticated."""

    async def of_socket(
        self, headers: Headers, subprotocols: Sequence[str], task: TaskId, family: int | None = None
    ) -> tuple[Principal, str | None]:
        """Who connects, by a handshake that came by that version of IP."""
        ...

    async def of_secret(self, text: str, task: TaskId, family: int | None = None) -> Principal:
        """Who connects, by a message."""
        ...

    async def renew(self, ticket: str, held: Principal) -> Principal:
        """Who goes on, by a new ticket of the same session."""
        ...


class Authority(Protocol):
    """What a principal may do on a task, and until when."""

    async def admit(self, principal: Principal, task: TaskId) -> Allow:
        """Raises NotFound for who is no member, and for what is not there; Denied where a rule of it is not met."""
        ...


class Presences(Protocol):
    """Keeps the sessions of sockets: a stock client's connection is a session of its own."""

    async def arrive(self, principal: Principal, task: TaskId) -> Principal:
        """The principal with a session attached to the task."""
        ...

    async def depart(self, principal: Principal, task: TaskId) -> None:
        """The socket is gone; ends a session that ``arrive`` opened."""
        ...


class Looking(Protocol):
    """Keeps what people have seen."""

    async def arrives(self, who: Principal, name: DocName) -> None:
        """Somebody is about to come in."""
        ...

    async def left(self, connection: Connection) -> None:
        """A connection is over."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """The way into the rooms."""

    rooms: Rooms
    doors: Doors
    authority: Authority
    presences: Presences
    looking: Looking
    turnstile: Turnstile
    backlog: Backlog = field(default_factory=Backlog)
    rota: Rota = field(default_factory=lambda: Rota(NEWCOMERS))

    async def enter(self, name: DocName, principal: Principal, transport: Transport) -> Connection:
        """Join the document's room. Raises a ClewError if it may not be, or can't just now."""
        self.turnstile.enter(principal, transport)
        try:
            role = (await self.authority.admit(principal, name.task)).role
            return await self._arrive(name, principal, role, transport)
        except BaseException:
            self.turnstile.depart(transport)
            raise

    async def _arrive(self, name: DocName, principal: Principal, role: Role, transport: Transport) -> Connection:
        principal = await self.presences.arrive(principal, name.task)
        try:
            return await self._join(name, principal, role, transport)
        except ClewError:
            await self.presences.depart(principal, name.task)
            raise

    async def _join(self, name: DocName, principal: Principal, role: Role, transport: Transport) -> Connection:
        await self.looking.arrives(principal, name)
        await self.rota.turn()  # all who waited for the room to be loaded come on at once
        connection = await self.rooms.join(name, principal, role, transport)
        try:
            allowed = await self.authority.admit(principal, name.task)  # it may have changed on the way here
        except ClewError:
            connection.leave()
            raise
        connection.role, connection.until = allowed.role, allowed.until
        return connection

    async def leave(self, connection: Connection) -> None:
        """The peer is gone."""
        connection.leave()
        self.turnstile.depart(connection.transport)
        await self.looking.left(connection)
        await self.presences.depart(connection.principal, connection.room.name.task)

    def renewal(self, connection: Connection) -> Callable[[str], Awaitable[None]]:
        """What begins the lease of a connection by ticket anew."""

        async def renew(ticket: str) -> None:
            try:
                renewed = await self.doors.renew(ticket, connection.principal)
            except ClewError as error:
                end(connection, error)
                return
            await self.go_on_as(connection, renewed)

        return renew

    async def go_on_as(self, connection: Connection, principal: Principal) -> None:
        """The same party has shown another credential, and is judged by it; who does not pass is out."""
        try:
            allowed = await self.authority.admit(principal, connection.room.name.task)
        except ClewError as error:
            end(connection, error)
            return
        connection.until = allowed.until
        connection.go_on_as(principal, allowed.role)


def end(connection: Connection, error: ClewError) -> None:
    """Close for what was raised: with the rule that was not met, if it was one, else with the sentence."""
    connection.end(error.close, error.reason or error.why)
