"""Which names this server answers to, and which pages may speak to it.

Owns the Host allow-list and the Origin rule, on HTTP and on WebSocket alike; they stop DNS rebinding, cross-site
request forgery and cross-site WebSocket hijacking. Must never let a request's own word (a forwarded host, the target's
authority, a Referer) widen the list.

The rules, for a request whose one Host is on the list:
  safe methods             pass; without CORS headers no foreign page can read the answer
  unsafe methods           an Origin must be exactly ours; without one, ``Sec-Fetch-Site: same-origin``; without both
                           only what carries no cookie, or a bearer beside it: no browser does that on a page's behalf
  WebSocket                an Origin must be exactly ours; without one, no ticket: tickets belong to pages
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from server.domain.errors import ClewError, Forbidden, Invalid
from server.domain.problem import PROBLEM_TYPE, problem

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_HOST: Final = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_-][a-z0-9._-]{0,252})(?::([0-9]{1,5}))?")
_DEFAULT_PORT: Final = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Pass:
    """The request may go on; who is asking has still to be found out."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The request ends here, before anything is looked up or upgraded."""

    status: Literal[400, 403]
    why: str


Verdict: TypeAlias = Pass | Refuse


@dataclass(frozen=True, slots=True)
class Head:
    """What of a request decides. ``scheme`` is ``http`` or ``https``; header names are lower-case."""

    kind: Literal["http", "websocket"]
    method: str
    scheme: str
    target: str
    headers: tuple[tuple[str, str], ...]

    def all(self, name: str) -> list[str]:
        """Every value of a header, in order."""
        return [value for key, value in self.headers if key == name]


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names by which this server may be called; an entry with a port allows that port alone."""

    extra: frozenset[str] = frozenset()

    @classmethod
    def allowing(cls, extra: Iterable[str]) -> Hosts:
        """The loopback names and those given; raises Invalid for what no Host header could say."""
        names = frozenset(name.lower() for name in extra)
        for name in names:
            if not _HOST.fullmatch(name):
                raise Invalid(f"{name!r} is not a host name with an optional port.")
        return cls(names)

    def know(self, host: str) -> bool:
        """Whether a Host header names us. A trailing dot, a look-alike or a second name is not us."""
        match = _HOST.fullmatch(host.lower())
        return match is not None and (match[1] in LOOPBACK or match[1] in self.extra or host.lower() in self.extra)


def judge(head: Head, hosts: Hosts) -> Verdict:
    """Apply the Host rule, then the Origin rule."""
    names = head.all("host")
    if len(names) != 1 or not head.target.startswith("/"):
        return Refuse(400, "A request names one host, once, in its Host header.")
    if not hosts.know(names[0]):
        return Refuse(400, "This server does not answer to that name; its operator can add it with --allow-host.")
    origins = head.all("origin")
    if origins:
        ours = len(origins) == 1 and _same(origins[0], head.scheme, names[0])
        return Pass() if ours else Refuse(403, "This page's origin is not this server's.")
    return _without_origin(head)


def _without_origin(head: Head) -> Verdict:
    """The rule for a request that says nothing of the page it comes from."""
    if head.kind == "websocket":
        offered = [part.strip() for value in head.all("sec-websocket-protocol") for part in value.split(",")]
        if any(part.startswith("ticket.") for part in offered):
            return Refuse(403, "A ticket is for a page of this server; scripts and agents use a bearer.")
        return Pass()
    if head.method in SAFE:
        return Pass()
    sites = head.all("sec-fetch-site")
    if sites:
        return Pass() if sites == ["same-origin"] else Refuse(403, "This page's origin is not this server's.")
    if head.all("cookie") and not head.all("authorization"):
        return Refuse(403, "A change made with a cookie must say which page it comes from (Origin).")
    return Pass()


def _same(origin: str, scheme: str, host: str) -> bool:
    """Whether an Origin header names exactly the scheme, host and port that this request was sent to."""
    kind, slashes, authority = origin.partition("://")
    return slashes != "" and kind == scheme and _with_port(authority, scheme) == _with_port(host.lower(), scheme)


def _with_port(authority: str, scheme: str) -> str | None:
    match = _HOST.fullmatch(authority)
    return f"{match[1]}:{match[2] or _DEFAULT_PORT[scheme]}" if match else None


def family_of(request: HTTPConnection) -> int | None:
    """The version of IP that a request came by, as far as we are told; 4 also where it is wrapped into the other."""
    host = request.client.host if request.client is not None else ""
    if not host:
        return None
    return 6 if ":" in host and not host.lower().startswith("::ffff:") else 4


class OriginGate:
    """The ASGI middleware that stands outermost and lets only judged requests in."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge http and websocket scopes; pass lifespan through."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        verdict = judge(_head(scope), self._hosts)
        if isinstance(verdict, Pass):
            await self._app(scope, receive, send)
        else:
            await refuse(verdict, scope, receive, send)


def _head(scope: Scope) -> Head:
    secure = scope.get("scheme") in ("https", "wss")
    return Head(
        kind=scope["type"],
        method=scope.get("method", "GET"),
        scheme="https" if secure else "http",
        target=scope["path"],
        headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]),
    )


async def refuse(verdict: Refuse, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer over HTTP, also in place of an upgrade, so that nothing of the socket ever opens."""
    error: ClewError = Invalid(verdict.why) if verdict.status == 400 else Forbidden(verdict.why)
    body = json.dumps(problem(error, status=verdict.status)).encode()
    prefix = ""
    if scope["type"] == "websocket":
        await receive()  # websocket.connect: the protocol wants it taken before it is answered
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008})
            return
        prefix = "websocket."
    headers = [
        (b"content-type", PROBLEM_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    await send({"type": f"{prefix}http.response.start", "status": verdict.status, "headers": headers})
    await send({"type": f"{prefix}http.response.body", "body": body})
