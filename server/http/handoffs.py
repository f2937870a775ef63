"""Handing a task to a new device. Nothing happens for a GET, which a preview or a scanner might send.

The code stands in the answer to whoever offers, once, and in no address that is asked for: the QR code's is a fragment,
which browsers send to nobody.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import Response

from crdt_docs.ids import DeviceId, SessionId, TaskId
from server.domain.clock import Clock, iso
from server.domain.errors import Invalid
from server.domain.handoff import LONGEST_VISIT, VISIT, Handoff, HandoffId, network_of, spell
from server.domain.policy import Allow
from server.doors.authority import Authority, require_steady
from server.doors.handoffs import Handover, Known, Newcomer, Presented, Wanted
from server.doors.links import Entered
from server.doors.origin import Hosts
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.entrance import draw_qr
from server.http.reception import Reception
from server.http.shapes import RoleName, Uuid, read_role, role_name
from server.store.devices import Devices
from server.store.tasks import Tasks

Secret = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class TaskAddress(Answer):
    """The plain address of a task. It lets nobody in who is not in already; ``qr`` is it as the rows of a QR code."""

    url: str
    qr: list[str]


class HandoffNew(Input):
    """What to hand over, as what, for how many seconds. ``how``: by a QR code, or by one that is typed. ``session`` is
    the one that then has to answer."""

    task: Uuid
    role: Literal["viewer", "commenter", "editor"] | None = None
    ttl: Annotated[int, Field(ge=60, le=LONGEST_VISIT, description="Seconds that the device stays.")] = VISIT
    how: Literal["qr", "code"] = "qr"
    session: Uuid | None = None


class HandoffOffered(Answer):
    """An offer. This is the only time that its code is shown: as an address and the rows of its QR code, or typed."""

    id: str
    expires_at: str
    role: RoleName
    until: str
    url: str | None
    qr: list[str] | None
    code: str | None


class ClaimAnswer(Answer):
    """The device that presented the code. It shows one of the numbers; whoever is before both says which."""

    name: str
    kind: str
    same_network: bool | None
    numbers: list[int]


class HandoffAnswer(Answer):
    """How an offer stands. ``until`` is when the new device would have to leave again; ``device`` is that device.

    ``task`` is its name, empty where it does not open to who asks.
    """

    id: str
    state: Literal["offered", "claimed", "approved", "collected", "ended"]
    why: str | None
    expires_at: str
    task: str
    role: RoleName
    until: str
    claim: ClaimAnswer | None
    device: str | None


class HandoffSession(Input):
    """The session that it was offered in, if it was in one."""

    session: Uuid | None = None


class Match(HandoffSession):
    """The number that the other device shows."""

    number: Annotated[int, Field(ge=10, le=99)]


class CodePresented(Input):
    """A QR code's id and secret, or a code as it was typed."""

    id: Uuid | None = None
    secret: Secret | None = None
    code: Secret | None = None


class RedeemAnswer(Answer):
    """The code was good. Show the ``number``, and come back with the ``claim`` until it was picked on ``device``.

    A browser that is signed in already gets the ``task`` to open instead, and status 200.
    """

    id: str | None = None
    claim: str | None = None
    number: int | None = None
    device: str | None = None
    expires_at: str | None = None
    task: str | None = None


class Collection(Input):
    """Which offer was claimed, and with what to come back."""

    id: Uuid
    claim: Secret


class Paused(Answer):
    """Until when nothing is offered or asked."""

    until: str


def routes(
    handover: Handover, authority: Authority, reception: Reception, tasks: Tasks, devices: Devices, clock: Clock
) -> list[Row]:
    """The endpoints of handing over."""

    async def address(call: Call, _: Nothing) -> TaskAddress:
        task = TaskId(call.ids["id"])
        await authority.role(call.principal, task)
        url = f"{call.base}/t/{task}"
        return TaskAddress(url=url, qr=draw_qr(url))

    async def offer(call: Call, new: HandoffNew) -> HandoffOffered:
        role = read_role(new.role) if new.role is not None else None
        wanted = Wanted(TaskId(new.task), role, new.ttl, new.how, _session(new.session))
        handoff, code = await handover.offer(call.principal, wanted, address_of(call.request))
        url = f"{call.base}/h#{handoff.id}.{code}" if new.how == "qr" else None
        return HandoffOffered(
            id=handoff.id,
            expires_at=iso(handoff.expires_at),
            role=role_name(handoff.role),
            until=iso(clock.now() + handoff.ttl),
            url=url,
            qr=draw_qr(url) if url is not None else None,
            code=spell(code) if url is None else None,
        )

    async def look(call: Call, asked: HandoffSession) -> HandoffAnswer:
        return await answer(call, await handover.look(call.principal, _id(call), _session(asked.session)))

    async def approve(call: Call, match: Match) -> HandoffAnswer:
        given = await handover.approve(call.principal, _id(call), match.number, _session(match.session))
        return await answer(call, given)

    async def decline(call: Call, _: Nothing) -> None:
        await handover.decline(call.principal, _id(call))

    async def pause(call: Call, _: Nothing) -> Paused:
        return Paused(until=iso(await handover.pause(call.principal)))

    async def resume(call: Call, _: Nothing) -> None:
        await handover.resume(call.principal)

    async def keep(call: Call, _: Nothing) -> None:
        await handover.keep(call.principal, DeviceId(call.ids["id"]))

    async def redeem(call: Call, given: CodePresented) -> Response:
        newcomer = await receive(call.request)
        got = await handover.redeem(_presented(given), newcomer)
        if isinstance(got, Known):
            return _json(RedeemAnswer(task=got.task), 200)
        handoff, claim = got.handoff, got.handoff.claim
        there = await devices.get(handoff.user, handoff.device)
        shown = RedeemAnswer(
            id=handoff.id,
            claim=got.secret,
            number=claim.number if claim is not None else None,
            device=there.name if there is not None else None,
            expires_at=iso(handoff.expires_at),
        )
        return _json(shown, 202)

    async def collect(call: Call, given: Collection) -> Response:
        newcomer = await receive(call.request)
        got = await handover.collect(HandoffId(given.id), given.claim, newcomer)
        if isinstance(got, Entered):
            return await reception.admit(call.request, newcomer.arrival, got)
        return _json(RedeemAnswer(id=got.id, expires_at=iso(got.expires_at)), 202)

    async def receive(request: Request) -> Newcomer:
        arrival, address = await reception.receive(request), address_of(request)
        require_steady(arrival)
        return Newcomer(arrival, address, network_of(_peer(request)) or "")

    async def answer(call: Call, handoff: Handoff) -> HandoffAnswer:
        claim = handoff.claim
        opens = isinstance(await authority.judge(call.principal, handoff.task), Allow)
        found = await tasks.get(handoff.user, handoff.task) if opens else None
        return HandoffAnswer(
            id=handoff.id,
            state=handoff.state,
            why=handoff.why,
            expires_at=iso(handoff.expires_at),
            task=found[0].name if found is not None else "",
            role=role_name(handoff.role),
            until=iso(clock.now() + handoff.ttl),
            claim=ClaimAnswer(name=claim.name, kind=claim.kind, same_network=claim.near, numbers=list(claim.numbers))
            if claim is not None
            else None,
            device=handoff.made,
        )

    return [
        Endpoint(
            "GET",
            "/tasks/{id}/address",
            address,
            Nothing,
            TaskAddress,
            "The task's plain address, for a device that is signed in.",
            errors=("forbidden", "not_found"),
        ),
        Endpoint(
            "POST",
            "/handoffs",
            offer,
            HandoffNew,
            HandoffOffered,
            "Offer a task to a device that is not signed in.",
            201,
            ("forbidden", "not_found", "unavailable"),
        ),
        Endpoint(
            "GET",
            "/handoffs/{id}",
            look,
            HandoffSession,
            HandoffAnswer,
            "How your offer stands.",
            errors=("forbidden", "not_found"),
        ),
        Endpoint(
            "POST",
            "/handoffs/{id}/approve",
            approve,
            Match,
            HandoffAnswer,
            "Let the device in that shows this number; there is one try.",
            errors=("forbidden", "not_found", "conflict"),
        ),
        Endpoint(
            "POST",
            "/handoffs/{id}/decline",
            decline,
            Nothing,
            None,
            "Let nobody in.",
            errors=("forbidden", "not_found"),
        ),
        Endpoint("POST", "/handoffs/pause", pause, Nothing, Paused, "Offer and ask nothing for an hour.", 201),
        Endpoint("DELETE", "/handoffs/pause", resume, Nothing, None, "Offer again before the hour is over."),
        Endpoint(
            "POST",
            "/handoffs/redeem",
            redeem,
            CodePresented,
            RedeemAnswer,
            "Present a code on a new device.",
            202,
            ("forbidden", "not_found", "conflict", "unavailable"),
            door="anyone",
        ),
        Endpoint(
            "POST",
            "/handoffs/collect",
            collect,
            Collection,
            RedeemAnswer,
            "Fetch the login once it is approved: 201 with its cookie, 202 until then.",
            202,
            ("forbidden", "not_found"),
            door="anyone",
        ),
        Endpoint(
            "POST",
            "/devices/{id}/keep",
            keep,
            Nothing,
            None,
            "Let a device that came by a handoff stay, with all your tasks.",
            errors=("forbidden", "not_found"),
        ),
    ]


def address_of(request: Request) -> str | None:
    """Where somebody is; None where it is a proxy on this machine that nobody has named, whose address says nothing."""
    peer = _peer(request)
    is_proxied = _is_loopback(peer) and not Hosts().know(request.headers.get("host", ""))
    return None if is_proxied else peer


def _peer(request: Request) -> str:
    return request.client.host if request.client is not None else ""


def _is_loopback(address: str) -> bool:
    return address == "::1" or address.startswith("127.")


def _presented(given: CodePresented) -> Presented:
    if given.id is not None and given.secret is not None and given.code is None:
        return Presented(HandoffId(given.id), given.secret)
    if given.code is not None and given.id is None and given.secret is None:
        return Presented(None, given.code)
    raise Invalid("Give an id and a secret, or a code.")


def _id(call: Call) -> HandoffId:
    return HandoffId(call.ids["id"])


def _session(given: str | None) -> SessionId | None:
    return SessionId(given) if given is not None else None


def _json(answer: RedeemAnswer, status: int) -> Response:
    return Response(answer.model_dump_json(exclude_none=True), status, media_type="application/json")
