"""Device grants (RFC 8628): what programs ask and poll, as OAuth words it, and what a person decides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import Response

from crdt_docs.ids import TaskId
from server.domain.access import ROLE_NAMES
from server.domain.clock import Clock
from server.domain.device_grant import CODE_LIFE, LONGEST, DeviceGrant, shown_code
from server.domain.errors import TooMany
from server.domain.handoff import network_of
from server.doors.authority import require_login
from server.doors.device_grants import DeviceGrantDoor, Given
from server.http.endpoint import Answer, Call, Endpoint, Input, Row
from server.http.shapes import Name, RoleName, Uuid, read_role, role_name

GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:device_code"
DAY: Final = 86400
Ttl = Annotated[int, Field(ge=60, le=LONGEST, description="Seconds that the bearer lives.")]


class GrantAsk(Input):
    """RFC 8628, 3.1. ``client_id`` is what people are shown; beside it what the program would like to be given."""

    client_id: Name
    agent: Name | None = None
    role: RoleName = "editor"
    ttl: Ttl = 30 * DAY


class GrantAsked(Answer):
    """RFC 8628, 3.2."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class GrantPoll(Input):
    """RFC 8628, 3.4."""

    grant_type: Annotated[str, StringConstraints(max_length=100)]
    device_code: Annotated[str, StringConstraints(max_length=200)]
    client_id: Annotated[str, StringConstraints(max_length=200)] = ""


class GrantGiven(Answer):
    """RFC 6749, 5.1, and what the bearer is called here."""

    access_token: str
    token_type: Literal["Bearer"] = "Bearer"
    expires_in: int
    token_id: str
    task: str | None
    role: RoleName


class GrantLook(Input):
    """The code that the program shows."""

    code: Annotated[str, StringConstraints(min_length=1, max_length=40)]


class GrantAnswer(Answer):
    """What waits with that code, and for how many seconds yet."""

    code: str
    client: str
    agent: str | None
    role: RoleName
    ttl: int
    expires_in: int


class GrantDecide(GrantLook):
    """What you give: at most that role, for so many seconds, on one task or all of yours; or nothing."""

    verdict: Literal["approve", "decline"]
    role: RoleName = "editor"
    ttl: Ttl = DAY
    task: Uuid | None = None


def routes(door: DeviceGrantDoor, clock: Clock) -> list[Row]:
    """The endpoints of device grants."""

    async def ask(call: Call, given: GrantAsk) -> Response:
        try:
            address, role = _address(call.request), read_role(given.role)
            _, secret, code = await door.ask(address, given.client_id, given.agent, role, given.ttl)
        except TooMany:
            return _oauth({"error": "slow_down"}, 429)
        here = f"{call.base}/device"
        asked = GrantAsked(
            device_code=secret,
            user_code=shown_code(code),
            verification_uri=here,
            verification_uri_complete=f"{here}#{shown_code(code)}",
            expires_in=int(CODE_LIFE),
            interval=5,
        )
        return _oauth(asked.model_dump(), 200)

    async def poll(call: Call, given: GrantPoll) -> Response:
        if given.grant_type != GRANT_TYPE:
            return _oauth({"error": "unsupported_grant_type"}, 400)
        told = await door.poll(given.device_code)
        if isinstance(told, Given):
            token = told.token
            got = GrantGiven(
                access_token=told.secret,
                expires_in=int(token.expires_at - token.created_at),
                token_id=token.id,
                task=token.task,
                role=role_name(token.role),
            )
            return _oauth(got.model_dump(), 200)
        return _oauth({"error": told or "invalid_grant"}, 400)

    async def look(call: Call, given: GrantLook) -> GrantAnswer:
        require_login(call.principal)
        grant = await door.show(call.principal, _address(call.request), given.code)
        return _answer(grant, given.code, clock.now())

    async def decide(call: Call, given: GrantDecide) -> GrantAnswer:
        require_login(call.principal)
        bounds = ROLE_NAMES[given.role], given.ttl, TaskId(given.task) if given.task is not None else None
        grant = await door.decide(call.principal, _address(call.request), given.code, given.verdict, bounds)
        return _answer(grant, given.code, clock.now())

    return [
        Endpoint(
            "POST", "/device/authorize", ask, GrantAsk, GrantAsked, "A program asks to act for a person.",
            door="anyone", form=True,
        ),
        Endpoint(
            "POST", "/device/token", poll, GrantPoll, GrantGiven, "The program asks whether it was given a bearer.",
            door="anyone", form=True,
        ),
        Endpoint(
            "POST", "/device/look", look, GrantLook, GrantAnswer, "What the program with that code asks for.",
            errors=("forbidden", "not_found", "unavailable"),
        ),
        Endpoint(
            "POST", "/device/decide", decide, GrantDecide, GrantAnswer, "Give it what you choose, or nothing.",
            errors=("forbidden", "not_found", "unavailable"),
        ),
    ]  # fmt: skip


def _answer(grant: DeviceGrant, typed: str, now: float) -> GrantAnswer:
    return GrantAnswer(
        code=typed,
        client=grant.client,
        agent=grant.agent,
        role=role_name(grant.role),
        ttl=grant.ttl,
        expires_in=max(0, int(grant.expires_at - now)),
    )


def _address(request: Request) -> str | None:
    return network_of(request.client.host if request.client else None)


def _oauth(said: Mapping[str, Any], status: int) -> Response:
    headers = {"cache-control": "no-store", "pragma": "no-cache"}
    return Response(json.dumps(said), status, headers, "application/json")
