"""Messages: what a client without a socket says. It lands in the document by the same road as a keystroke."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import StringConstraints

from crdt_docs.ids import DocName, SessionId, TaskId, new_ordered_id
from crdt_docs.updates.compose import Composer
from server.domain.access import Role
from server.domain.clock import Clock
from server.domain.errors import NotFound
from server.doors.authority import Authority
from server.http.documents import Documents
from server.http.endpoint import Answer, Call, Endpoint, Input, Row
from server.http.shapes import Uuid
from server.rooms.looking import Looking
from server.store.sessions import Sessions


class MessageNew(Input):
    """What to say, and in which of one's own sessions."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=200_000)]
    session: Uuid | None = None


class MessageAnswer(Answer):
    """The message's id, and the document's seq that holds it durably."""

    id: str
    seq: int


def routes(documents: Documents, sessions: Sessions, looking: Looking, authority: Authority, clock: Clock) -> list[Row]:
    """The endpoint of messages; to read them, read the working set."""

    async def say(call: Call, new: MessageNew) -> MessageAnswer:
        who, task, now = call.principal, TaskId(call.ids["id"]), clock.now()
        await authority.require(who, task, Role.EDITOR)
        session = await session_of(sessions, call, new.session, now)
        at = int(now * 1000)
        message = new_ordered_id(at)

        def write(composer: Composer) -> None:
            entry = composer.set_map("messages", message)
            composer.set(entry, "author", who.name)
            composer.set(entry, "role", "user" if who.kind == "user" else "agent")
            composer.set_text(entry, "text", new.text)
            composer.set(entry, "at", at)
            if session is not None:
                composer.set(entry, "session", session)

        seq = await documents.compose(DocName(task), replace(who, session=session), write, fresh=True)
        await looking.spoke(who, task)
        return MessageAnswer(id=message, seq=seq)

    return [
        Endpoint(
            "POST",
            "/tasks/{id}/messages",
            say,
            MessageNew,
            MessageAnswer,
            "Say something in a task.",
            201,
            ("forbidden", "not_found", "too_large", "unavailable"),
            door="member",
        )
    ]


async def session_of(sessions: Sessions, call: Call, named: str | None, now: float) -> SessionId | None:
    """The session that a request names, noted as alive; NotFound unless it is its user's and has not ended."""
    if named is None:
        return None
    if call.principal.kind != "user":
        raise NotFound  # what an agent does belongs to a turn, and to no session of whoever asked
    session = await sessions.get(call.principal.user, SessionId(named))
    if session is None or session.ended_at is not None:
        raise NotFound
    await sessions.seen([session.id], now)
    return session.id
