"""Device Bound Session Credentials on the wire: where a browser binds a session, and comes for its next cookie.

The browser itself asks, not a page; the paths and headers are W3C's. Owns what each outcome is answered with: 403 with
a challenge makes it sign once more, 401 makes it forget the session. Must never be reached but by TLS.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from server.domain.errors import ClewError, NotFound
from server.doors import bound
from server.doors.authentication import Authentication
from server.doors.bound import REFRESH, REGISTER, Asked, Bound, Broken, Held, Over
from server.doors.revocation import Revocation
from server.http.problems import respond

_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Binding:
    """The two paths."""

    bound: Bound
    authentication: Authentication
    revocation: Revocation

    async def register(self, request: Request) -> Response:
        """A browser that was just signed in binds itself."""
        login = await self.authentication.login(request.headers)
        given = request.headers.get("secure-session-response", "")
        return _answer(await self.bound.register(login, given, _base(request)))

    async def refresh(self, request: Request) -> Response:
        """A bound browser comes for its next cookie. Who signs with another key has lost the login."""
        login = await self.authentication.login(request.headers)
        named = request.headers.get("sec-secure-session-id", "")
        given = request.headers.get("secure-session-response")
        try:
            outcome = await self.bound.refresh(login, named, given, _base(request))
        except Broken as error:
            await self.revocation.login(error.login)
            raise
        return _answer(outcome)


def routes(bound: Bound, authentication: Authentication, revocation: Revocation) -> list[BaseRoute]:
    """The routes; they stand outside the API, which is for pages and programs."""
    binding = Binding(bound, authentication, revocation)
    return [
        Route(REGISTER, _guarded(binding.register), methods=["POST"]),
        Route(REFRESH, _guarded(binding.refresh), methods=["POST"]),
    ]


def _guarded(handle: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            if not bound.is_secure(request):
                raise NotFound
            response = await handle(request)
        except ClewError as error:
            response = respond(error)
        response.headers["cache-control"] = "no-store"
        return response

    return answer


def _answer(outcome: Held | Asked | Over) -> Response:
    if isinstance(outcome, Over):
        return Response(bound.end(outcome), media_type=_JSON)
    if isinstance(outcome, Asked):
        response, headers = Response(status_code=403), bound.ask(outcome)
    else:
        response, headers = Response(outcome.body, media_type=_JSON), bound.headers_of(outcome)
    for name, value in headers:
        response.headers.append(name, value)
    return response


def _base(request: Request) -> str:
    return f"https://{request.headers.get('host', '')}"
