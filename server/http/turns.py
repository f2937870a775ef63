"""Turns: what agents answer. People see and stop them; an agent's host hears of them, leases one and ends it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import Field, StringConstraints
from starlette.responses import Response

from crdt_docs.ids import DocName, MessageId, TaskId, TurnId
from crdt_docs.updates.compose import Composer
from server.domain import turn as states
from server.domain.access import Principal, Role
from server.domain.clock import Clock, iso
from server.domain.errors import ClewError, NotFound
from server.domain.turn import Leased, Outcome, Renewed, Turn
from server.doors.authority import Authority
from server.doors.revocation import deed
from server.http.documents import Documents
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.events import MEDIA_TYPE, EndOfEvents, Event, EventStream, Next
from server.http.shapes import Name, TaskAnswer, task_answer
from server.store.audit import Audit
from server.store.tasks import Tasks

Handler = Callable[[Call, Any], Awaitable[Answer | Response | None]]
MOST_COVERED: Final = 1000


class Told(Protocol):
    """What a host is told."""

    @property
    def event(self) -> Literal["offer", "stop"]:
        """A turn can be leased, or must be let be."""
        ...

    @property
    def turn(self) -> TurnId:
        """Which."""
        ...

    @property
    def task(self) -> TaskId:
        """Of which task."""
        ...

    @property
    def attempt(self) -> int:
        """Which attempt a lease begins."""
        ...


class Stream(Protocol):
    """A host's stream of what it is told."""

    @property
    def over(self) -> bool:
        """Whether nothing more comes."""
        ...

    async def next(self, patience: float) -> Told | None:
        """What comes next; None after that many seconds without anything, or if it is over."""
        ...


class Desk(Protocol):
    """Who knows the turns. Raises NotFound for what is not there or not the host's, Conflict for what can't be."""

    def listen(self, principal: Principal) -> AbstractAsyncContextManager[Stream]:
        """The host's stream."""
        ...

    async def lease(self, principal: Principal, turn: TurnId) -> Leased:
        """Give the turn to the host."""
        ...

    async def renew(self, principal: Principal, turn: TurnId) -> Renewed:
        """Lengthen a lease."""
        ...

    async def end(
        self,
        principal: Principal,
        turn: TurnId,
        outcome: Outcome,
        covered: Iterable[MessageId],
        why: str | None,
        answer: MessageId | None = None,
    ) -> None:
        """Take the turn back."""
        ...

    async def find(self, turn: TurnId) -> Turn:
        """The turn, whoever asks."""
        ...

    async def of_task(self, task: TaskId) -> list[Turn]:
        """The task's turns."""
        ...

    async def stop(self, turn: TurnId) -> Turn:
        """Stop it; nothing more of it is admitted once this returns."""
        ...

    async def agents_allowed(self, task: TaskId) -> bool:
        """Whether agents have a way into the task."""
        ...

    async def stop_agents(self, task: TaskId) -> int:
        """Turn agents off in the task."""
        ...

    async def allow_agents(self, task: TaskId) -> None:
        """Turn them on again."""
        ...


class Named(Answer):
    """Somebody, by id and name."""

    id: str
    name: str


class TurnAnswer(Answer):
    """One answer of an agent. ``messages`` are what it answers, ``answer`` the message that it writes, once it began.

    ``user`` is who said them; ``attempt`` counts from 1; ``why`` says in a sentence what went wrong.
    """

    id: str
    status: states.Status
    messages: list[str]
    answer: str | None
    user: Named
    attempt: int
    why: str | None
    created_at: str
    started_at: str | None
    ended_at: str | None


class TurnList(Answer):
    """Turns, the newest first."""

    turns: list[TurnAnswer]


class Grant(Answer):
    """What the agent acts with. ``token`` is the bearer; null where the one that it has lives on."""

    token: str | None
    expires_at: str


class LeaseAnswer(Answer):
    """A turn to answer. ``answer`` is the message id to write the answer under, the same for every attempt.

    ``named`` says whether a name that a person gave the task stands. ``language`` is what ``user`` chose, if they did.
    """

    turn: str
    task: str
    attempt: int
    lease_until: str
    grant: Grant
    user: Named
    agent: Named
    messages: list[str]
    answer: str
    named: bool
    language: Literal["en", "zh"] | None


class RenewalAnswer(Answer):
    """A longer lease; with ``stop``, none: let the turn be. ``messages`` were said meanwhile: cover them too."""

    lease_until: str
    grant: Grant
    stop: bool
    messages: list[str]


MessageKey = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class TurnEnd(Input):
    """How it came out. ``covered`` are the messages that were answered, also of those said meanwhile.

    ``released`` gives the turn back for another attempt, and ``failed`` does too, up to three times in all. ``answer``
    is under which message id the answer stands, if the lease's was taken by somebody else.
    """

    outcome: Outcome
    covered: Annotated[list[MessageKey], Field(max_length=MOST_COVERED)] = []
    why: Annotated[str, StringConstraints(max_length=2000)] | None = None
    answer: MessageKey | None = None


class NameProposed(Input):
    """What an agent would call the task."""

    name: Name


def routes(
    desk: Desk, tasks: Tasks, documents: Documents, audit: Audit, authority: Authority, clock: Clock
) -> list[Row]:
    """The endpoints of turns."""

    async def offers(call: Call, _: Nothing) -> Response:
        if call.request.method == "HEAD":
            return Response(media_type=MEDIA_TYPE)
        return EventStream(_told(desk, call.principal))

    async def lease(call: Call, _: Nothing) -> LeaseAnswer:
        return _leased(await desk.lease(call.principal, TurnId(call.ids["id"])))

    async def renew(call: Call, _: Nothing) -> RenewalAnswer:
        renewed = await desk.renew(call.principal, TurnId(call.ids["id"]))
        given, until = renewed.given, renewed.turn.lease_until or clock.now()
        return RenewalAnswer(
            lease_until=iso(until),
            grant=Grant(token=given.token if given else None, expires_at=iso(given.expires_at if given else until)),
            stop=given is None,
            messages=list(renewed.messages),
        )

    async def end(call: Call, how: TurnEnd) -> None:
        covered = [MessageId(message) for message in how.covered]
        answer = MessageId(how.answer) if how.answer is not None else None
        await desk.end(call.principal, TurnId(call.ids["id"]), how.outcome, covered, how.why, answer)

    async def list_(call: Call, _: Nothing) -> TurnList:
        task = TaskId(call.ids["id"])
        await authority.role(call.principal, task)
        return TurnList(turns=[_turn(turn) for turn in await desk.of_task(task)])

    async def stop(call: Call, _: Nothing) -> TurnAnswer:
        found = await desk.find(TurnId(call.ids["id"]))
        await authority.require(call.principal, found.task, Role.EDITOR)
        stopped = await desk.stop(found.id)
        if stopped.status != found.status:
            await audit.append(
                "turn.stopped", clock.now(), by=deed(call.principal), task=found.task, subjects=[found.id]
            )
        return _turn(stopped)

    async def propose(call: Call, proposed: NameProposed) -> TaskAnswer:
        task = TaskId(call.ids["id"])
        role = await authority.require(call.principal, task, Role.EDITOR)
        before = await tasks.get(call.principal.user, task)
        named = await tasks.propose_name(task, proposed.name, clock.now())
        if before is None or named is None:
            raise NotFound

        def show(composer: Composer) -> None:
            composer.set("meta", "name", proposed.name)

        try:
            await documents.compose(DocName(task), call.principal, show)
        except ClewError:
            await tasks.restore(named, before[0])
            raise
        return task_answer(named, role)

    return [
        *_of_hosts(offers, lease, renew, end),
        Endpoint(
            "GET",
            "/tasks/{id}/turns",
            list_,
            Nothing,
            TurnList,
            "What agents answer in the task, and what they are about to.",
            errors=("not_found",),
            door="member",
        ),
        Endpoint(
            "POST",
            "/turns/{id}/stop",
            stop,
            Nothing,
            TurnAnswer,
            "Stop a turn: nothing more of it is written.",
            errors=("forbidden", "not_found"),
        ),
        Endpoint(
            "PUT",
            "/tasks/{id}/proposed-name",
            propose,
            NameProposed,
            TaskAnswer,
            "Name a task that no person has named.",
            errors=("not_found", "conflict", "too_large", "unavailable"),
            door="grant",
        ),
    ]


def _of_hosts(offers: Handler, lease: Handler, renew: Handler, end: Handler) -> list[Row]:
    return [
        Endpoint(
            "GET",
            "/turns/offers",
            offers,
            Nothing,
            None,
            "A stream of the turns that can be leased (`offer`) and of those to let be (`stop`).",
            errors=("conflict",),
            media=(MEDIA_TYPE,),
            door="host",
        ),
        Endpoint(
            "POST",
            "/turns/{id}/lease",
            lease,
            Nothing,
            LeaseAnswer,
            "Take a turn, with what the agent needs to answer it.",
            errors=("not_found", "conflict"),
            door="host",
        ),
        Endpoint(
            "POST",
            "/turns/{id}/renew",
            renew,
            Nothing,
            RenewalAnswer,
            "Keep a turn for another half a minute.",
            errors=("not_found", "conflict"),
            door="host",
        ),
        Endpoint(
            "POST",
            "/turns/{id}/end",
            end,
            TurnEnd,
            None,
            "Say how a turn came out.",
            errors=("not_found", "conflict"),
            door="host",
        ),
    ]


@asynccontextmanager
async def _told(desk: Desk, principal: Principal) -> AsyncIterator[Next]:
    """What the host is told, as events."""
    async with desk.listen(principal) as stream:

        async def upcoming(patience: float) -> Event | None:
            told = await stream.next(patience)
            if told is None:
                if stream.over:
                    raise EndOfEvents
                return None
            data: dict[str, object] = {"turn": told.turn}
            if told.event == "offer":
                data.update(task=told.task, attempt=told.attempt)
            return Event(told.event, data)

        yield upcoming


def _leased(leased: Leased) -> LeaseAnswer:
    turn, given = leased.turn, leased.given
    return LeaseAnswer(
        turn=turn.id,
        task=turn.task,
        attempt=turn.attempt,
        lease_until=iso(turn.lease_until or 0.0),
        grant=Grant(token=given.token, expires_at=iso(given.expires_at)),
        user=Named(id=turn.user, name=turn.user_name),
        agent=Named(id=turn.agent or "", name=leased.agent_name),
        messages=list(turn.messages),
        answer=turn.answer,
        named=leased.named,
        language=leased.language,
    )


def _turn(turn: Turn) -> TurnAnswer:
    return TurnAnswer(
        id=turn.id,
        status=turn.status,
        messages=list(turn.messages),
        answer=turn.answer if turn.started_at is not None else None,  # else somebody could write there first
        user=Named(id=turn.user, name=turn.user_name),
        attempt=turn.attempt,
        why=turn.why,
        created_at=iso(turn.created_at),
        started_at=iso(turn.started_at) if turn.started_at is not None else None,
        ended_at=iso(turn.ended_at) if turn.ended_at is not None else None,
    )
