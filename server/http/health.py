"""Whether the server lives, is ready, and what it counts. Owns the paths outside the API; must never name a person.

The numbers are in the Prometheus text format, version 0.0.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.domain.errors import Unavailable
from server.http.problems import respond

Gauges = Callable[[], Mapping[str, float]]
"""What a part of the server measures of itself, by metric name (``clew_rooms_open``), at the moment of asking."""


class Requests:
    """The ASGI middleware that counts responses by kind, method and status."""

    def __init__(self, app: ASGIApp, tally: Counter[tuple[str, int]]) -> None:
        self._app = app
        self._tally = tally

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what is sent; change nothing."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "other"

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._tally[method, message["status"]] += 1
            await send(message)

        await self._app(scope, receive, send_counted)


_METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"})


def routes(
    check: Callable[[], Awaitable[None]],
    gauges: Gauges,
    tally: Counter[tuple[str, int]],
    notes: Callable[[], Iterable[str]] = tuple,
) -> list[BaseRoute]:
    """``check`` raises Unavailable while the server cannot do its work, such as storing what it is sent.

    ``notes`` are lines about what it can do without, told by ``/healthz``.
    """

    async def live(request: Request) -> Response:
        return PlainTextResponse("".join(f"{line}\n" for line in ("ok", *notes())))

    async def ready(request: Request) -> Response:
        try:
            await check()
        except Unavailable as error:
            return respond(error)
        return PlainTextResponse("ready\n")

    async def metrics(request: Request) -> Response:
        return PlainTextResponse(_expose(gauges(), tally), media_type="text/plain; version=0.0.4")

    return [Route("/healthz", live), Route("/readyz", ready), Route("/metrics", metrics)]


def _expose(gauges: Mapping[str, float], tally: Counter[tuple[str, int]]) -> str:
    lines = ["# TYPE clew_http_requests_total counter"]
    for (method, status), count in sorted(tally.items()):
        lines.append(f'clew_http_requests_total{{method="{method}",status="{status}"}} {count}')
    for name, value in sorted(gauges.items()):
        lines += [f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}", f"{name} {value:g}"]
    return "\n".join(lines) + "\n"
