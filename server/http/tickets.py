"""Tickets: one connection to one task, once, within seconds; fetched by the page for every attempt."""

from __future__ import annotations

from crdt_docs.ids import DocName, TaskId
from server.domain.clock import Clock, iso
from server.domain.device import Level
from server.domain.errors import Forbidden
from server.doors.authority import Authority
from server.doors.origin import family_of
from server.http.documents import Documents
from server.http.endpoint import Answer, Call, Endpoint, Input, Row
from server.http.messages import session_of
from server.http.shapes import Uuid
from server.store.sessions import Sessions
from server.store.tickets import Tickets


class TicketNew(Input):
    """The session that the connection shall belong to; without one, it is a session of its own."""

    session: Uuid | None = None


class TicketAnswer(Answer):
    """To be offered as the subprotocol ``ticket.<ticket>`` beside ``clew.v1``."""

    ticket: str
    expires_at: str
    generation: int
    """Of the task's document. A page whose local copy is of an older one must not sync it: the document was restored,
    repaired or erased meanwhile."""


def routes(tickets: Tickets, sessions: Sessions, documents: Documents, authority: Authority, clock: Clock) -> list[Row]:
    """The endpoint of tickets."""

    async def issue(call: Call, new: TicketNew) -> TicketAnswer:
        who, task, now = call.principal, TaskId(call.ids["id"]), clock.now()
        await authority.role(who, task)
        if who.stepped_down and who.level < Level.SOFTWARE:
            raise Forbidden("A socket takes a browser that can prove that it is your device.", "stepped_down")
        session = await session_of(sessions, call, new.session, now)
        ticket, secret = await tickets.issue(
            who.user,
            task,
            now,
            device=who.device,
            session=session,
            token=who.token,
            login=who.login,
            level=who.level,
            family=family_of(call.request),
            reads_until=who.expires_at if who.stepped_down else None,
        )
        generation = await documents.generation(DocName(task))
        return TicketAnswer(ticket=secret, expires_at=iso(ticket.expires_at), generation=generation)

    return [
        Endpoint(
            "POST",
            "/tasks/{id}/tickets",
            issue,
            TicketNew,
            TicketAnswer,
            "A ticket for one connection to the task.",
            201,
            ("not_found",),
            reads=True,
        )
    ]
