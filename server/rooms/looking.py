"""What each person has seen of a task, as they come and go. Owns what counts as a look.

What a person is shown live counts as seen, up to the last word that was heard from their device: a laptop whose lid was
shut is sent what an agent goes on writing, and shows it to nobody. So a connection's look is noted when it ends, and
when the person comes in on another device meanwhile; and a look is noted when a person says something without a
socket, or ends a session. Reading a resumption is no look. Agents are nobody's eyes, and neither is a bearer without a
device, by which a script lives: what it was handed is its own look, which only it is told by.

Must never hold anybody up: a look that can't be stored is lost, and more is then told as changed than is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from crdt_docs.ids import DocName, TaskId, TokenId, UserId
from crdt_docs.updates.vectors import StateVector
from server.domain.access import Principal
from server.domain.clock import Clock
from server.domain.errors import ClewError
from server.domain.log import UpdateLog
from server.domain.look import Look
from server.rooms import lanes
from server.rooms.connection import Connection
from server.rooms.registry import Rooms
from server.rooms.room import Room
from server.store.looks import Looks


class Viewer(NamedTuple):
    """Who looks: a person through any of their devices, or what lives by a bearer of theirs that is no device's."""

    user: UserId
    bearer: TokenId | None


class Looking:
    """The looks of all people on all tasks."""

    def __init__(self, rooms: Rooms, log: UpdateLog, read: lanes.Lane, looks: Looks, clock: Clock) -> None:
        self._rooms = rooms
        self._log = log
        self._read = read
        self._looks = looks
        self._clock = clock

    async def since(self, who: Principal, task: TaskId) -> Look | None:
        """How far this person has seen the task, other devices of theirs that are live included; None if never."""
        viewer = viewer_of(who)
        if viewer is None:
            return None
        look = await self._looks.get(viewer.user, task, viewer.bearer)
        async with self._rooms.room(DocName(task)) as room:
            others = (c for c in _views(room, viewer) if c.principal.device != who.device)
            seen = max((connection.shown for connection in others), default=0)
            live = await self._look(room, seen) if seen > (look.seq if look else 0) else None
        return live or look

    async def arrives(self, who: Principal, name: DocName) -> None:
        """Somebody is about to come in: what they see on another device now, they have seen."""
        viewer = viewer_of(who)
        if viewer is not None and name.part == "main":
            async with self._rooms.room(name) as room:
                await self._note(room, viewer, _shown(room, viewer))

    async def left(self, connection: Connection) -> None:
        """A connection is over."""
        viewer, name = viewer_of(connection.principal), connection.room.name
        if connection.live and viewer is not None and name.part == "main":
            try:
                async with self._rooms.room(name) as room:
                    await self._note(room, viewer, connection.shown)
            except ClewError:
                return

    async def spoke(self, who: Principal, task: TaskId) -> None:
        """A person said something without a socket, or ended their session: they have seen what there is."""
        viewer = viewer_of(who)
        if viewer is not None:
            async with self._rooms.room(DocName(task)) as room:
                await self._note(room, viewer, room.head)

    async def _note(self, room: Room, viewer: Viewer, seq: int) -> None:
        try:
            look = await self._look(room, seq) if seq else None
            if look is not None:
                await self._looks.put(viewer.user, room.name.task, look, viewer.bearer)
        except ClewError:
            return

    async def _look(self, room: Room, seq: int) -> Look | None:
        """The document as of that seq; None if the log does not reach back so far."""
        head, vector, now = room.head, room.document.state_vector, self._clock.now()
        if seq < head:
            tail = await lanes.run(self._read, lambda: self._log.tail(room.doc, seq))
            if not tail:
                return None
            since = [await room.parse(logged.update) for logged in tail if logged.seq <= head]
            rewind(vector, ((section.client, section.clock) for parsed in since for section in parsed.sections))
        return Look(min(seq, head), vector, now)


def viewer_of(who: Principal) -> Viewer | None:
    """Whose look it is; None if nobody looks: an agent, its host, or what has neither a device nor a bearer."""
    if who.kind != "user" or who.agent is not None or not (who.device or who.token):
        return None
    return Viewer(who.user, None if who.device is not None else who.token)


def rewind(vector: StateVector, added: Iterable[tuple[int, int]]) -> None:
    """Take a state vector back behind structs that were added since, given as (client, first clock)."""
    for client, clock in added:
        if clock < vector.get(client, 0):
            vector[client] = clock
    for client in [client for client, clock in vector.items() if not clock]:
        del vector[client]


def _shown(room: Room, viewer: Viewer) -> int:
    """The last seq that the viewer is shown on any device, 0 for none; found soon, however many are in the room."""
    seen = 0
    for connection in room.connections:
        if connection.shown > seen and connection.live and viewer_of(connection.principal) == viewer:
            seen = connection.shown
            if seen >= room.head:
                break
    return seen


def _views(room: Room, viewer: Viewer) -> list[Connection]:
    return [c for c in room.connections if c.live and viewer_of(c.principal) == viewer]
