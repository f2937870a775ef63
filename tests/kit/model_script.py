"""What a model's service does next, said once for every wire.

Owns the steps and the listening. A wire plays one step a request; a request without a step, or one that the real
service would not take, is a fault of ours, and every test sees to it that there were none.
"""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
import uvicorn
from pydantic import ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

KEY = "sk-clew-test-4f1b9c"
"""The one key that the wires take."""


@dataclass(frozen=True)
class Answer:
    """Text in pieces. After so many of them the connection drops (``cut_after``), comes no JSON (``garble_after``) or
    an error (``fail_after``), or comes nothing any more (``stall_after``)."""

    pieces: tuple[str, ...]
    ends: Literal["stop", "length", "refusal"] = "stop"
    wait: float = 0.0
    between: float = 0.0
    cut_after: int | None = None
    garble_after: int | None = None
    fail_after: int | None = None
    stall_after: int | None = None
    tokens: tuple[int, int] = (11, 7)


@dataclass(frozen=True)
class Call:
    """Calls of tools, by name and arguments; an argument text that is no object is sent as it is. Text may go first."""

    calls: tuple[tuple[str, dict[str, Any] | str], ...]
    text: str = ""
    tokens: tuple[int, int] = (11, 7)


@dataclass(frozen=True)
class Form:
    """A form filled in, in the way that the request asks for: as text under a schema, or as the call of a tool."""

    value: Mapping[str, Any] | str
    tokens: tuple[int, int] = (11, 7)

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)


@dataclass(frozen=True)
class Error:
    """An HTTP error; ``says`` is the service's own message, which must reach nobody."""

    status: int
    retry_after: str | None = None
    says: str = f"Incorrect API key provided: {KEY}."


Step = Answer | Call | Form | Error
Json = dict[str, Any]


class Refused(Exception):
    """A request that the real service answers with an error."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass
class Wire:
    """``requests`` are the bodies that came; ``left`` is set when a client closed its connection before the end."""

    check: Callable[[Scope, Json], None]
    play: Callable[[Step, Json, Callable[[bytes], Awaitable[None]]], Awaitable[None]]
    error: Callable[[int, str], Json]
    path: str
    steps: list[Step] = field(default_factory=list)
    requests: list[Json] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    left: anyio.Event = field(default_factory=anyio.Event)
    url: str = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        try:
            step = self._next(scope, body)
        except (Refused, ValidationError, ValueError) as refused:
            self.faults.append(str(refused))
            status = refused.status if isinstance(refused, Refused) else 400
            await _answer(send, status, self.error(status, "refused"))
            return
        if isinstance(step, Error):
            headers = {"retry-after": step.retry_after} if step.retry_after else {}
            await _answer(send, step.status, self.error(step.status, step.says), headers)
            return
        await self._stream(step, self.requests[-1], receive, send)

    def _next(self, scope: Scope, body: bytes) -> Step:
        if scope["method"] != "POST" or scope["path"] != self.path:
            raise Refused(404, f"{scope['method']} {scope['path']}")
        if header(scope, "content-type") != "application/json":
            raise Refused(400, "not JSON")
        request = json.loads(body)
        self.check(scope, request)
        self.requests.append(request)
        if not self.steps:
            raise Refused(400, "one request more than was expected")
        return self.steps.pop(0)

    async def _stream(self, step: Step, request: Json, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

        async def emit(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, receive, tasks.cancel_scope)
            try:
                with suppress(Ended):
                    await self.play(step, request, emit)
                await send({"type": "http.response.body", "body": b""})
            except Dropped:
                pass  # the server closes a connection whose answer is not complete
            tasks.cancel_scope.cancel()

    async def _watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()
        scope.cancel()


class Dropped(Exception):
    """The script wants the connection to break off here."""


class Ended(Exception):
    """The script wants the stream to end here."""


async def pieces(
    step: Answer,
    piece: Callable[[str], Awaitable[None]],
    garble: Callable[[], Awaitable[None]],
    fail: Callable[[], Awaitable[None]],
) -> None:
    """Play an answer's text, with its troubles."""
    await anyio.sleep(step.wait)
    for place, text in enumerate((*step.pieces, None)):
        if place == step.cut_after:
            raise Dropped
        if place == step.garble_after:
            await garble()
        if place == step.fail_after:
            await fail()
            raise Ended
        if place == step.stall_after:
            await anyio.sleep_forever()
        if text is not None:
            await piece(text)
            await anyio.sleep(step.between)


def header(scope: Scope, name: str) -> str:
    """A header of the request, empty if it has none."""
    return next((value.decode() for key, value in scope["headers"] if key.decode() == name), "")


async def _answer(send: Send, status: int, body: Json, headers: Mapping[str, str] | None = None) -> None:
    fields = {"content-type": "application/json", **(headers or {})}
    raw = [(name.encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[str]:
    """Serve on a free port of 127.0.0.1; gives the address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        config = uvicorn.Config(app, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            server.should_exit = True
