"""Where somebody comes in by a browser, whichever way they came. Owns what their browser is given: its cookie.

Must never decide who they are: a door has done that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from server.domain.bound_session import Beginning, Fresh, SteppedDown
from server.domain.errors import Unauthenticated
from server.domain.login import Login
from server.doors.authentication import Authentication
from server.doors.bound import Bound, is_secure
from server.doors.cookie import Cookies
from server.doors.links import Arrival, Entered
from server.doors.proofs import Proofs
from server.doors.revocation import Revocation
from server.http.endpoint import Answer
from server.store.tokens import Logins


class Person(Answer):
    """A user, by id and name."""

    id: str
    name: str


class SignedIn(Answer):
    """Who is signed in now, and on which device; the cookie is in the headers."""

    user: Person
    device: Person


@dataclass(frozen=True, slots=True)
class Reception:
    """Receives a browser before its door, and after it."""

    authentication: Authentication
    cookies: Cookies
    revocation: Revocation
    logins: Logins
    proofs: Proofs
    bound: Bound

    async def receive(self, request: Request, name: str | None = None) -> Arrival:
        """What the browser brings; ``name`` is what its person calls it. Raises Unproven for a key it does not have."""
        guessed, kind = guess_device(request.headers.get("user-agent", ""))
        key = await self.proofs.key_of(request)
        login, standing = await self.authentication.present(request.headers, key)
        present = login if isinstance(standing, Fresh | Beginning) else None
        return Arrival(name or guessed, kind, present, key=key, stepped_down=isinstance(standing, SteppedDown))

    async def admit(self, request: Request, arrival: Arrival, entered: Entered) -> Response:
        """Give the browser its new cookie. What it was and proved to be signed in as before has ended."""
        answer = SignedIn(
            user=Person(id=entered.user.id, name=entered.user.name),
            device=Person(id=entered.device.id, name=entered.device.name),
        )
        response = Response(answer.model_dump_json(), 201, media_type="application/json")
        return await self.give(response, request, arrival, entered)

    async def send_on(self, request: Request, arrival: Arrival, entered: Entered, path: str) -> Response:
        """The same for a browser that is on its way from elsewhere; 303, so that nothing is sent on with it."""
        return await self.give(RedirectResponse(path, 303), request, arrival, entered)

    async def renew(self, response: Response, request: Request, login: Login) -> None:
        """Change the cookie of a login that goes on: who has a copy of the old one is out. Raises Unauthenticated."""
        secret = await self.logins.rotate(login.user, login.id)
        if secret is None:
            raise Unauthenticated
        response.headers.append("set-cookie", self.cookies.grant(request.headers, secret))

    async def give(self, response: Response, request: Request, arrival: Arrival, entered: Entered) -> Response:
        """Put the new cookie into the response, and end the login that it takes the place of: not one that was copied.

        Who is back from elsewhere has shown the device's key on the way there.
        """
        present = arrival.present or await self.authentication.login(request.headers)
        if present is not None and (present is arrival.present or present.device == entered.device.id):
            await self.revocation.login(present)
        response.headers.append("set-cookie", self.cookies.grant(request.headers, entered.secret))
        if is_secure(request):
            response.headers["secure-session-registration"] = self.bound.invite(entered.login)
        return response


_BROWSERS: Final = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("Mac OS X", "Mac"),
    ("CrOS", "Chromebook"), ("Linux", "Linux"),
)  # fmt: skip


def guess_device(user_agent: str) -> tuple[str, str]:
    """What to call a browser until somebody names it, and its kind: ``phone``, ``browser``, or ``script`` if none."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), None)
    if browser is None:
        return "Script", "script"
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "unknown system")
    return f"{browser} on {system}", "phone" if re.search(r"Mobi|Android|iPhone", user_agent) else "browser"
