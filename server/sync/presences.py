"""The sessions of sockets. Owns that every connection belongs to a session which is attached to its task.

A ticket names its session; a stock client's bearer names none, so its connection is a session of its own, from connect
to close. Must never end a session that it did not begin.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from crdt_docs.ids import SessionId, TaskId, new_id
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

    def seat(self, principal: Principal) -> Principal:
        """The principal in a session, of which nothing is stored yet: ``arrive`` or ``unseat`` follows.

        An agent has none: what it does belongs to a turn, and not to the activity of whoever asked.
        """
        if principal.kind != "user":
            return principal
        if principal.session is None:
            principal = replace(principal, session=SessionId(new_id()))
            self._implicit.add(principal.session)  # type: ignore[arg-type]
        self._connected[principal.session] += 1  # type: ignore[index]
        return principal

    def unseat(self, principal: Principal) -> bool:
        """One of the session's sockets is gone, or did not come to be; whether it was the last."""
        session = principal.session
        if session is None or session not in self._connected:
            return False
        self._connected[session] -= 1
        if self._connected[session] > 0:
            return False
        del self._connected[session]
        self._implicit.discard(session)
        return True

    async def arrive(self, principal: Principal, task: TaskId) -> Principal:
        """Attach its session to the task; the principal to go on as. Raises Unauthenticated if the session has ended.

        Whatever it raises, ``depart`` follows.
        """
        session = principal.session
        if principal.kind != "user" or session is None:
            return principal
        if session not in self._connected:
            return principal  # it is gone again, and nothing of it is stored
        now = self._clock.now()
        try:
            if session in self._implicit:
                await self._sessions.start_on(principal.user, principal.device, IMPLICIT, task, now, session)
                if session not in self._connected:  # it is gone, and may have been ended before it was there
                    await self._sessions.end(principal.user, session, now)
            elif await self._sessions.attach(principal.user, session, task, now) is None:
                raise Unauthenticated
        except Conflict:
            raise Unauthenticated("this session has ended") from None
        except Unavailable:  # nothing can be stored at the moment; that is no reason not to let somebody read
            if session in self._implicit:
                self.unseat(principal)
                return replace(principal, session=None)
        return principal

    async def depart(self, principal: Principal, task: TaskId) -> None:
        """One of the session's sockets is gone."""
        session, now = principal.session, self._clock.now()
        implicit = session in self._implicit
        if session is None or not self.unseat(principal):
            return
        try:
            if implicit:
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
