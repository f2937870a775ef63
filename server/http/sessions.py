"""Sessions: start, attach, end. A new one is answered with the tasks it may be about; nothing is chosen for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Final

import anyio.to_thread
from pydantic import Field, StringConstraints

from crdt_docs.ids import DeviceId, DocName, SessionId, TaskId, is_id
from server.domain.access import Principal, Role
from server.domain.candidates import Candidate, Prior, rank
from server.domain.clock import Clock, iso
from server.domain.continuity import Unfinished
from server.domain.errors import Forbidden, Invalid, NotFound
from server.domain.language import Language
from server.domain.likeness import profile
from server.domain.policy import Allow
from server.domain.reasons import Work
from server.domain.session import Session
from server.doors.authority import Authority, require_account
from server.doors.revocation import Revocation
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.reader import Reader
from server.http.shapes import Name, Page, Uuid
from server.http.words import Wanted
from server.rooms.looking import Looking
from server.store.accounts import Accounts
from server.store.devices import Devices
from server.store.places import Places
from server.store.sessions import Sessions

TASKS: Final = 200
"""How many of the unfinished tasks may be candidates: those that were last worked on."""
READING: Final = 1.5
"""Seconds that a new session waits at most for what stands in them and was not read before."""
MOST_PLACE: Final = 1024
"""Characters of a place."""
FirstMessage = Annotated[str, StringConstraints(max_length=100_000)]


class SessionNew(Input):
    """Who speaks, from where, and the first thing they said, if anything yet.

    ``device`` is the id of one of the user's devices, or a name: then the device of that name, registered if need be.
    """

    device: Name | None = None
    framework: Name | None = None
    first_message: FirstMessage | None = None
    lang: Language | None = Field(None, description="What reasons are told in; else as Accept-Language prefers.")


class CandidateTask(Answer):
    """The task that a candidate is about."""

    id: str
    name: str


class CandidateAnswer(Answer):
    """A task that the session may be about. ``score`` is in 0..1 and only orders; ``why`` is for the user to read.

    Of what the user said, ``why`` quotes what the task says as well; it never quotes the task. ``worked``: the user was
    on it before; false of one that they were put on and have not begun.
    """

    task: CandidateTask
    score: float
    why: str
    worked: bool


class SessionBegun(Answer):
    """The new session and at most three candidates, the best first.

    ``suggestion`` is the first one's task if the session truly seems to be about it, null if about something new. The
    session is attached to none: ask.
    """

    id: str
    candidates: list[CandidateAnswer]
    suggestion: str | None


class PlaceNoted(Input):
    """Where the user is now in one of their tasks. ``where`` is the page's own, at most 1 kB of JSON without words."""

    task: Uuid
    where: dict[str, Any]


class SessionChange(Input):
    """``task_id`` is the task to attach to, which ends the attachment to another; null to detach. Or only a place."""

    task_id: Uuid | None = None
    place: PlaceNoted | None = None


class SessionAnswer(Answer):
    """A session of whoever asks."""

    id: str
    device: str | None
    framework: str | None
    task_id: str | None
    started_at: str
    seen_at: str
    ended_at: str | None


class SessionFilter(Page):
    """Which sessions to list."""

    live: bool = Field(False, description="Only those that have not ended.")


class SessionList(Answer):
    """Sessions, the latest first."""

    sessions: list[SessionAnswer]


def routes(
    sessions: Sessions,
    devices: Devices,
    places: Places,
    accounts: Accounts,
    reader: Reader,
    looking: Looking,
    authority: Authority,
    revocation: Revocation,
    clock: Clock,
) -> list[Row]:
    """The endpoints of sessions."""

    async def start(call: Call, new: SessionNew) -> SessionBegun:
        who, now = call.principal, clock.now()
        device = await _device(devices, who, new.device, now)
        session = await sessions.start(who.user, device, new.framework, now, who.token)
        unfinished = await sessions.unfinished(who.user, TASKS)
        await authority.learn(who.user, [one.task.id for one in unfinished])
        mine = [one for one in unfinished if isinstance(await authority.judge(who, one.task.id), Allow)]
        message = new.first_message or ""
        priors = await _priors(reader, mine, device, read=bool(message.strip()))
        account = await accounts.get(who.user)
        language = account.speaks(new.lang, call.request.headers.get("accept-language"))
        ranking = await anyio.to_thread.run_sync(rank, priors, now, message, language)
        candidates = [_candidate(candidate) for candidate in ranking.candidates]
        return SessionBegun(id=session.id, candidates=candidates, suggestion=ranking.suggestion)

    async def list_(call: Call, asked: SessionFilter) -> SessionList:
        require_account(call.principal)
        found = await sessions.of_user(call.principal.user, ended=not asked.live, limit=asked.limit)
        return SessionList(sessions=[_answer(session) for session in found])

    async def show(call: Call, _: Nothing) -> SessionAnswer:
        return _answer(await _mine(sessions, call))

    async def change(call: Call, change: SessionChange) -> SessionAnswer:
        if not change.model_fields_set:
            raise Invalid("Say which task, or where in it.")
        session: Session | None = await _to_change(sessions, call)
        if change.place is not None:
            await note(call.principal, change.place)
        if session is not None and "task_id" in change.model_fields_set:
            session = await attach(call.principal, session, change.task_id)
        if session is None:
            raise NotFound
        return _answer(session)

    async def note(who: Principal, place: PlaceNoted) -> None:
        where = json.dumps(place.where, separators=(",", ":"))
        if len(where) > MOST_PLACE:
            raise Invalid(f"A place has at most {MOST_PLACE} characters.")
        await authority.role(who, TaskId(place.task))
        await places.put(who.user, TaskId(place.task), who.device, where, clock.now())

    async def attach(who: Principal, session: Session, wanted: str | None) -> Session | None:
        task = TaskId(wanted) if wanted is not None else None
        if task is not None:
            await authority.role(who, task)
        return await sessions.attach(who.user, session.id, task, clock.now())

    async def end(call: Call, _: Nothing) -> None:
        session = await _to_change(sessions, call)
        await revocation.session(call.principal, session.id)
        if session.task is not None and session.device == call.principal.device:
            await looking.spoke(call.principal, session.task)

    return [
        Endpoint(
            "POST", "/sessions", start, SessionNew, SessionBegun, "Start a session.", 201, ("not_found",), reads=True
        ),
        Endpoint("GET", "/sessions", list_, SessionFilter, SessionList, "Your sessions.", errors=("forbidden",)),
        Endpoint("GET", "/sessions/{id}", show, Nothing, SessionAnswer, "One session.", errors=("not_found",)),
        Endpoint(
            "PATCH",
            "/sessions/{id}",
            change,
            SessionChange,
            SessionAnswer,
            "Attach a session to a task, switch it, or detach it; or note where one is in a task.",
            errors=("forbidden", "not_found", "conflict"),
            reads=True,
        ),
        Endpoint(
            "POST",
            "/sessions/{id}/end",
            end,
            Nothing,
            None,
            "End a session and its connections.",
            errors=("not_found",),
            reads=True,
        ),
    ]


async def _device(devices: Devices, who: Principal, given: str | None, now: float) -> DeviceId | None:
    """The session's device: the one that signed in, unless another of the user's is named, which no visitor does."""
    if given is None or who.visiting:
        return who.device
    if is_id(given):
        device = await devices.get(who.user, DeviceId(given))
        if device is None or device.revoked_at is not None:
            raise NotFound
        return device.id
    for device in await devices.of_user(who.user):
        if device.name == given:
            return device.id
    return (await devices.add(who.user, given, "script", now)).id


async def _mine(sessions: Sessions, call: Call) -> Session:
    """The session in the path, if it is the user's, and not about a task that the bearer is not for."""
    session = await sessions.get(call.principal.user, SessionId(call.ids["id"]))
    bound = call.principal.task
    if session is None or (bound is not None and session.task not in (None, bound)):
        raise NotFound
    return session


async def _to_change(sessions: Sessions, call: Call) -> Session:
    """The same, for who may change it: a bearer that is less than its user only what it began itself."""
    session, who = await _mine(sessions, call), call.principal
    if who.token is not None and who.cap < Role.OWNER and session.token != who.token:
        raise Forbidden("This bearer did not begin that session.")
    return session


async def _priors(
    reader: Reader, unfinished: Sequence[Unfinished], device: DeviceId | None, *, read: bool
) -> list[Prior]:
    """The tasks as far as they are known: by their words where those can be had in a moment, else by their names."""
    wanted = [Wanted(DocName(one.task.id), one.task.name, one.task.updated_at) for one in unfinished if read]
    words = await reader.words.profiles(wanted, READING)
    return [
        Prior(one.task, _work(one, device), words.get(DocName(one.task.id)) or profile(one.task.name))
        for one in unfinished
    ]


def _work(one: Unfinished, device: DeviceId | None) -> Work | None:
    if one.active_at is None:
        return None
    return Work(one.active_at, device is not None and one.device == device, one.device_name)


def _candidate(candidate: Candidate) -> CandidateAnswer:
    task = CandidateTask(id=candidate.task.id, name=candidate.task.name)
    return CandidateAnswer(task=task, score=candidate.score, why=candidate.why, worked=candidate.worked)


def _answer(session: Session) -> SessionAnswer:
    return SessionAnswer(
        id=session.id,
        device=session.device,
        framework=session.framework,
        task_id=session.task,
        started_at=iso(session.started_at),
        seen_at=iso(session.seen_at),
        ended_at=iso(session.ended_at) if session.ended_at is not None else None,
    )
