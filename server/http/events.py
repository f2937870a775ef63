"""Server-sent events: a response that goes on until either side ends it.

Owns the wire format, the signs of life, and the end of a reader that does not read. Must never hold more than its
source does: what comes is asked for one at a time.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Final, NamedTuple

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.domain.errors import ClewError
from server.http.problems import respond
from server.http.protocol import EXTENSION, HttpProtocol

MEDIA_TYPE: Final = "text/event-stream"
SIGN_OF_LIFE: Final = 15.0
READ_WITHIN: Final = 20.0
"""Seconds that a reader may leave the socket's buffer full."""


class Event(NamedTuple):
    """One event; ``data`` is something that JSON can hold."""

    name: str
    data: Mapping[str, Any]


Next = Callable[[float], Awaitable[Event | None]]
"""Waits that many seconds for the next event; None if there was none. Raises EndOfEvents."""


class EndOfEvents(Exception):
    """Nothing more comes."""


class EventStream(Response):
    """What a handler gives back. The source is entered when the stream begins and left when it is over."""

    def __init__(self, source: AbstractAsyncContextManager[Next]) -> None:
        # nginx would hold events back; and there is no request to wait for after a stream
        super().__init__(media_type=MEDIA_TYPE, headers={"X-Accel-Buffering": "no", "Connection": "close"})
        self._source = source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until the source ends, the reader goes, or does not read."""
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        async with AsyncExitStack() as stack:
            try:
                upcoming = await stack.enter_async_context(self._source)
            except ClewError as error:
                await respond(error)(scope, receive, send)
                return
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            tasks = await stack.enter_async_context(anyio.create_task_group())
            tasks.start_soon(_watch, receive, tasks.cancel_scope)
            try:
                await _pump(upcoming, send)
            except TimeoutError:
                if not _cut(scope):
                    raise
                await anyio.sleep_forever()  # until the server tells us that the reader is gone
            tasks.cancel_scope.cancel()


async def _watch(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _pump(upcoming: Next, send: Send) -> None:
    more = True
    chunk = ": welcome\n\n"  # so that the headers are on their way before anything happens
    while more:
        with anyio.fail_after(READ_WITHIN):
            await send({"type": "http.response.body", "body": chunk.encode(), "more_body": True})
        try:
            event = await upcoming(SIGN_OF_LIFE)
            chunk = ": alive\n\n" if event is None else f"event: {event.name}\ndata: {json.dumps(event.data)}\n\n"
        except EndOfEvents:
            more = False
    with anyio.fail_after(READ_WITHIN):
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _cut(scope: Scope) -> bool:
    """Cut the connection of a reader that does not read; whether that could be done."""
    protocol = scope.get("extensions", {}).get(EXTENSION)
    if not isinstance(protocol, HttpProtocol):
        return False
    protocol.transport.abort()
    return True
