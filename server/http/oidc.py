"""Sign-in by way of an organisation, and which other ways in there are. Owns the browser's own cookie of a flow.

The browser comes back by a navigation from another site: what a person is told then is a word in the fragment of our
page's address, never a text of the provider's.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from pydantic import StringConstraints
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from server.domain.errors import ClewError, Conflict, Forbidden, Unauthenticated, Unavailable
from server.doors.authority import require_login
from server.doors.cookie import Cookies
from server.doors.oidc import OidcDoor, Sent
from server.doors.passkeys import PasskeyDoor
from server.doors.provider import Untrue
from server.http.endpoint import PREFIX, Answer, Call, Endpoint, Input, Nothing, Row
from server.http.reception import Reception
from server.store.identities import FLOW_LIFE

CALLBACK: Final = "/oidc/callback"
WORDS: Final = "in"
"""The fragment that tells the page how it went: ``#in=closed``."""


class WaysIn(Answer):
    """How one may sign in here, beside a link. ``organisation`` is its name; ``proxy`` says whether one names you."""

    passkeys: bool
    organisation: str | None
    proxy: bool


class OidcBegin(Input):
    """The secret of an invitation, if that is how somebody comes."""

    invitation: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None


class OidcSent(Answer):
    """Where to go on."""

    url: str


class LogoutToken(Input):
    """OpenID Connect Back-Channel Logout 1.0."""

    logout_token: Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


def routes(door: OidcDoor | None, passkeys: PasskeyDoor, proxied: bool, reception: Reception) -> list[Row]:
    """The endpoints; without a provider they are not there."""

    async def ways(call: Call, _: Nothing) -> WaysIn:
        return WaysIn(passkeys=True, organisation=door.provider.organisation.shown if door else None, proxy=proxied)

    shown = Endpoint("GET", "/signin/ways", ways, Nothing, WaysIn, "How one may sign in here.", door="anyone")
    return [shown] if door is None else [shown, *_flow(door, passkeys, reception)]


def _flow(door: OidcDoor, passkeys: PasskeyDoor, reception: Reception) -> list[Row]:
    async def begin(call: Call, given: OidcBegin) -> Response:
        key = await reception.proofs.key_of(call.request)
        return go(call.request, await door.begin(callback_url(call.request), invitation=given.invitation, key=key))

    async def add(call: Call, _: Nothing) -> Response:
        require_login(call.principal)
        login = await reception.authentication.login(call.request.headers)
        if login is None:
            raise Unauthenticated
        await passkeys.require_proof(login)
        return go(call.request, await door.begin(callback_url(call.request), login=login))

    def go(request: Request, sent: Sent) -> Response:
        response = Response(OidcSent(url=sent.url).model_dump_json(), 201, media_type="application/json")
        response.headers["set-cookie"] = _cookie(reception.cookies, request.headers, sent.browser, int(FLOW_LIFE))
        return response

    async def end(call: Call, _: Nothing) -> Response:
        request = call.request
        query: dict[str, str] = dict(request.query_params)
        browser = _read(reception.cookies, request.headers)
        arrival = await reception.receive(request)
        try:
            back = await door.end(query, callback_url(request), browser, arrival)
        except ClewError as error:
            response: Response = RedirectResponse(f"/#{WORDS}={_word(error)}", 303)
        else:
            if back.entered is None:
                response = RedirectResponse(f"/#{WORDS}=added", 303)
            else:
                response = await reception.send_on(request, arrival, back.entered, "/")
        response.headers.append("set-cookie", _cookie(reception.cookies, request.headers, "", 0))
        return response

    async def log_out(call: Call, given: LogoutToken) -> Response:
        headers = {"cache-control": "no-store"}
        try:
            await door.log_out(given.logout_token)
        except Untrue:
            return Response('{"error": "invalid_request"}', 400, headers, "application/json")
        return Response(status_code=200, headers=headers)

    return [
        Endpoint(
            "POST", "/oidc", begin, OidcBegin, OidcSent, "Begin to sign in by way of the organisation.", 201,
            ("unauthenticated", "unavailable"), door="anyone",
        ),
        Endpoint(
            "POST", "/oidc/add", add, Nothing, OidcSent, "Begin to add the organisation as a way in of yours.", 201,
            ("forbidden", "unavailable"),
        ),
        Endpoint(
            "GET", CALLBACK, end, Nothing, None, "Where the organisation's provider sends the browser back to.",
            door="anyone", media=("text/html",),
        ),
        Endpoint(
            "POST", "/oidc/logout", log_out, LogoutToken, None, "Back-channel logout, for the provider.",
            door="anyone", form=True,
        ),
    ]  # fmt: skip


def callback_url(request: Request) -> str:
    """The one address that the provider may send this browser back to: exactly the name that it was opened by."""
    scheme = "https" if request.scope.get("scheme") == "https" else "http"
    return f"{scheme}://{request.headers['host'].lower()}{PREFIX}{CALLBACK}"


def _word(error: ClewError) -> str:
    if isinstance(error, Forbidden):
        return "closed"
    if isinstance(error, Conflict):
        return "key" if error.reason == "another_key" else "taken"
    return "away" if isinstance(error, Unavailable) else "failed"


def _name(cookies: Cookies, headers: Headers) -> str:
    return f"{cookies.name(headers)}-oidc"


def _cookie(cookies: Cookies, headers: Headers, value: str, life: int) -> str:
    """Lax, so that it comes along when the provider sends the browser back; it opens nothing by itself."""
    name = _name(cookies, headers)
    secure = "; Secure" if name.startswith("__Host-") else ""
    return f"{name}={value}; Max-Age={life}; Path=/; HttpOnly; SameSite=Lax{secure}"


def _read(cookies: Cookies, headers: Headers) -> str | None:
    pattern = re.compile(rf"(?:^|;\s*){re.escape(_name(cookies, headers))}=([A-Za-z0-9_-]+)(?=;|$)")
    found: list[Any] = [value for line in headers.getlist("cookie") for value in pattern.findall(line)]
    return str(found[0]) if len(found) == 1 else None
