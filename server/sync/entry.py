"""How a credential becomes a connection in a room, whatever wire it came by.

Owns the order: who is it, what may they do here, in which session, and only then the room. Must never leave a session
attached whose connection did not come to be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from starlette.datastructures import Headers

from crdt_docs.ids import DocName, TaskId
from server.domain.access import Principal
from server.domain.errors import ClewError
from server.domain.policy import Allow
from server.doors.turnstile import Turnstile
from server.rooms.connection import Connection, Transport
from server.rooms.registry import Rooms
from server.sync.backlog import Backlog
from server.sync.rota import LEAVING, NEWCOMERS, Rota

FAREWELLS: Final = (1000, 1001)
"""Close codes of a peer that is done, or whose page is left (RFC 6455 section 7.4.1)."""
SETTLING: Final = 32
"""Who are shown a document while their session is stored: each of them is held with all that its handshake brought."""


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

    def seat(self, principal: Principal) -> Principal:
        """The principal with a session, of which nothing is stored yet."""
        ...

    def unseat(self, principal: Principal) -> bool:
        """It did not come in."""
        ...

    async def arrive(self, principal: Principal, task: TaskId) -> Principal:
        """Attach the session to the task; whom to go on as. Whatever it raises, ``depart`` follows."""
        ...

    async def depart(self, principal: Principal, task: TaskId) -> None:
        """The socket is gone; ends a session that is the socket's own."""
        ...


class Looking(Protocol):
    """Keeps what people have seen."""

    async def arrives(self, who: Principal, name: DocName) -> None:
        """Somebody has just come in."""
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
    leaving: Rota = field(default_factory=lambda: Rota(LEAVING))
    settling: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(SETTLING))

    async def enter(self, name: DocName, principal: Principal, transport: Transport) -> Connection:
        """Join the document's room, and settle there. Raises a ClewError if it may not be, or can't just now."""
        connection = await self.come_in(name, principal, transport)
        try:
            await self.settle(connection)
        except BaseException:
            await self.leave(connection)
            raise
        return connection

    async def come_in(self, name: DocName, principal: Principal, transport: Transport) -> Connection:
        """Join the document's room. Raises a ClewError if it may not be, or can't just now.

        It may be shown at once what is there, for that stores nothing. What it writes is heard when it has settled.
        """
        self.turnstile.enter(principal, transport)
        try:
            await self.authority.admit(principal, name.task)  # for whom may not come in, nothing is loaded
            return await self._join(name, self.presences.seat(principal), transport)
        except BaseException:
            self.turnstile.depart(transport)
            raise

    async def _join(self, name: DocName, principal: Principal, transport: Transport) -> Connection:
        try:
            async with self.rooms.room(name) as room:
                await self.rota.turn()  # all who waited for the room to be loaded come on at once
                # asked last, and nothing is waited for before the connection is where changes of it are told
                allowed = await self.authority.admit(principal, name.task)
                connection = self.rooms.let_in(room, principal, allowed.role, transport)
        except BaseException:
            self.presences.unseat(principal)
            raise
        connection.until = allowed.until
        return connection

    async def settle(self, connection: Connection) -> None:
        """Store in which session it is here. Raises a ClewError if it may not stay; ``leave`` follows."""
        principal, name = connection.principal, connection.room.name
        arrived = await self.presences.arrive(principal, name.task)
        if arrived is not principal:  # it may have got another name meanwhile
            connection.principal = replace(connection.principal, session=arrived.session)
        await self.looking.arrives(arrived, name)

    async def leave(self, connection: Connection) -> None:
        """The peer is gone. Of many who are at once, few leave in one turn."""
        self.turnstile.depart(connection.transport)
        try:
            await self.leaving.turn()
        finally:
            connection.leave()
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
            self.rooms.require_standing(principal, connection.room.name)
        except ClewError as error:
            end(connection, error)
            return
        connection.until = allowed.until
        connection.go_on_as(principal, allowed.role)


def end(connection: Connection, error: ClewError) -> None:
    """Close for what was raised: with the rule that was not met, if it was one, else with the sentence."""
    connection.end(error.close, error.reason or error.why)
