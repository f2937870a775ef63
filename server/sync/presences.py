"""The sessions of sockets. Owns that every connection belongs to a session which is attached to its task.

A ticket names its session; a stock client's bearer names none, so its connection is a session of its own, from connect
to close. Must never end a session that it did not begin.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from crdt_docs.ids import SessionId, TaskId
from server.domain.access import Principal
from server.domain.clock import Clock
from server.domain.errors import Conflict, Unauthenticated, Unavailable
from server.store.sessions import Sessions

IMPLICIT: Final = "websocket"
"""The framework that an implicit session is filed under."""
SILENT: Final = 24 * 3600.0
"""Seconds after which a session that nobody ended counts as ended."""


class Presences:
    """Who is connected in which session."""

    def __init__(self, sessions: Sessions, clock: Clock) -> None:
        self._sessions = sessions
        self._clock = clock
        self._connected: Counter[SessionId] = Counter()
        self._implicit: set[SessionId] = set()

    async def arrive(self, principal: Principal, task: TaskId) -> Principal:
        """The principal, in a session that is attached to the task. Raises Unauthenticated if its session has ended.

        An agent has none: what it does belongs to a turn, and not to the activity of whoever asked.
        """
        if principal.kind != "user":
            return principal
        try:
            session = await self._attach(principal, task)
        except Conflict:
            raise Unauthenticated("this session has ended") from None
        except Unavailable:
            return principal  # nothing can be stored at the moment; that is no reason not to let somebody read
        self._connected[session] += 1
        return replace(principal, session=session)

    async def _attach(self, principal: Principal, task: TaskId) -> SessionId:
        now = self._clock.now()
        session = principal.session
        if session is None:
            session = (await self._sessions.start_on(principal.user, principal.device, IMPLICIT, task, now)).id
            self._implicit.add(session)
        elif await self._sessions.attach(principal.user, session, task, now) is None:
            raise Unauthenticated
        return session

    async def depart(self, principal: Principal, task: TaskId) -> None:
        """One of the session's sockets is gone."""
        session = principal.session
        if session is None or session not in self._connected:
            return
        self._connected[session] -= 1
        if self._connected[session] > 0:
            return
        del self._connected[session]
        now = self._clock.now()
        try:
            if session in self._implicit:
                self._implicit.discard(session)
                await self._sessions.end(principal.user, session, now)
            else:
                await self._sessions.seen([session], now)
        except Unavailable:
            return  # it ends by its silence, later

    async def beat(self) -> None:
        """Note that the connected sessions are alive, and end those long silent."""
        now = self._clock.now()
        if self._connected:
            await self._sessions.seen(list(self._connected), now)
        await self._sessions.end_silent(now - SILENT)
