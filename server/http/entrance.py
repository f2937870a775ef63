"""In and out: redeem a one-time link, make one for a second device, sign out, and say who one is.

Must never take a secret from a URL, nor do anything for a GET that a preview or a scanner might send.
"""

from __future__ import annotations

from typing import Annotated

import segno
from pydantic import StringConstraints
from starlette.responses import Response

from server.domain.clock import iso
from server.domain.errors import Unauthenticated
from server.domain.language import Language
from server.doors.authority import require_browser, require_login
from server.doors.bound import clear as clear_bound
from server.doors.bound import is_secure
from server.doors.links import OneTimeLinks, link_url
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.reception import Person, Reception, SignedIn
from server.http.shapes import Name
from server.store.accounts import Accounts


class SignIn(Input):
    """The key from the link's fragment, and what to call this device."""

    key: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    device: Name | None = None


class Me(Answer):
    """Who asks, and through what. ``task`` is the bearer's bound, ``language`` what they chose to be spoken to in.

    ``continuation``: whether a page asks them, as they come in, if they want to go on (the preference of that name).
    """

    user: Person
    device: str | None
    token: str | None
    task: str | None
    expires_at: str | None
    language: Language | None
    continuation: bool


class LinkMade(Answer):
    """An address that signs one browser in, once. ``qr`` is it as a QR code: a string a row, ``1`` where it is dark."""

    url: str
    expires_at: str
    qr: list[str]


def routes(links: OneTimeLinks, reception: Reception, accounts: Accounts) -> list[Row]:
    """The endpoints by which people come and go."""
    authentication, cookies, revocation = reception.authentication, reception.cookies, reception.revocation

    async def sign_in(call: Call, given: SignIn) -> Response:
        arrival = await reception.receive(call.request, given.device)
        return await reception.admit(call.request, arrival, await links.redeem(given.key, arrival))

    async def sign_out(call: Call, _: Nothing) -> Response:
        require_browser(call.principal)
        login = await authentication.login(call.request.headers)
        if login is None:
            raise Unauthenticated
        await revocation.login(login)
        response = Response(status_code=204)
        response.headers.append("set-cookie", cookies.clear(call.request.headers))
        if is_secure(call.request):
            response.headers.append("set-cookie", clear_bound())
        response.headers["clear-site-data"] = '"cache"'
        return response

    async def invite(call: Call, _: Nothing) -> LinkMade:
        require_login(call.principal)
        secret, expires_at = await links.issue(call.principal.user, call.principal.login)
        url = link_url(call.base, secret)
        return LinkMade(url=url, expires_at=iso(expires_at), qr=draw_qr(url))

    async def show(call: Call, _: Nothing) -> Me:
        who = call.principal
        account = await accounts.get(who.user)
        return Me(
            user=Person(id=who.user, name=who.name),
            device=who.device,
            token=who.token,
            task=who.task,
            expires_at=iso(who.expires_at) if who.expires_at is not None else None,
            language=account.language,
            continuation=account.continues,
        )

    return [
        Endpoint(
            "POST",
            "/signin",
            sign_in,
            SignIn,
            SignedIn,
            "Redeem a one-time link; answers with the login's cookie.",
            201,
            ("unauthenticated",),
            door="anyone",
        ),
        Endpoint(
            "POST", "/signout", sign_out, Nothing, None, "Sign this browser out.", errors=("forbidden",), reads=True
        ),
        Endpoint(
            "POST", "/links", invite, Nothing, LinkMade, "A one-time link for another device.", 201, ("forbidden",)
        ),
        Endpoint("GET", "/me", show, Nothing, Me, "Who you are."),
    ]


def draw_qr(text: str) -> list[str]:
    """The modules of a QR code without its quiet zone, row by row: ``1`` is dark."""
    return ["".join("1" if dark else "0" for dark in row) for row in segno.make_qr(text, error="m").matrix]
