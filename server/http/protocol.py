"""What HTTP/1.1 needs and uvicorn leaves out: a head has a deadline and a size, and a target names no second host.

Whoever is one connection too many is told so and hung up on before anything of theirs is read.

Owns a thin subclass of uvicorn's protocol. Everything works without it, on another ASGI server behind a proxy that
keeps these bounds itself. Must never read a body.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server.domain.errors import TooMany
from server.doors.turnstile import Passage, Turnstile

EXTENSION: Final = "clew.http"
"""Under which the application finds this object in the scope, to cut a connection whose reader does not read."""
HEAD_DEADLINE: Final = 10.0
"""Seconds from a connection's opening, or a request's first byte, to the end of the request's head."""
HEAD_LIMIT: Final = 64 * 1024
"""Bytes of a head: browsers keep far below, and a parser that waits for its end holds all of it."""
RETRY_AFTER: Final = 10
"""Seconds after which one connection too many may be worth another try."""


class HttpProtocol(HttpToolsProtocol):
    """Closes connections that dawdle over a head, and shows an absolute target's authority as one more Host header."""

    turnstile: Turnstile | None = None
    shake: Callable[[HttpProtocol], bool] | None = None
    """Takes over an upgrade that it can answer; what it leaves is uvicorn's."""
    _passage: Passage | None = None
    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock of the first head."""
        super().connection_made(transport)  # type: ignore[arg-type]
        try:
            if self.turnstile is not None:
                self._passage = self.turnstile.arrive(self.client[0] if self.client else None)
        except TooMany as error:
            self._turn_away(error.why)
            return
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._end_head()
        self._leave()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        """From here on the connection is the socket's."""
        self._leave()
        if self.shake is None or not self.shake(self):
            super().handle_websocket_upgrade()

    def _leave(self) -> None:
        if self._passage is not None:
            self._passage.leave()

    def _turn_away(self, why: str) -> None:
        """Most do not even listen, so this is all that they cost."""
        head = f"HTTP/1.1 503 Service Unavailable\r\nretry-after: {RETRY_AFTER}\r\nconnection: close\r\n"
        self.transport.write(f"{head}content-type: text/plain\r\ncontent-length: {len(why)}\r\n\r\n{why}".encode())
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Count what belongs to a head, then parse."""
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_LIMIT and not self._ends_here(data):
                self._end_head()
                self.send_400_response("The request's head is too long.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Start the clock of a head on a kept connection."""
        super().on_message_begin()
        if not self._in_head:
            self._begin_head()

    def on_headers_complete(self) -> None:
        """Stop the clock; name every host that the request was sent to."""
        self._end_head()
        authority = _authority(self.url)
        if authority is not None:
            self.headers.append((b"host", authority))
        extensions: dict[str, object] = self.scope.setdefault("extensions", {})  # type: ignore[assignment]
        extensions[EXTENSION] = self
        super().on_headers_complete()

    def _ends_here(self, data: bytes) -> bool:
        """Whether the head may end in this piece, so that the rest of it is a body's."""
        return self._head_bytes - len(data) <= HEAD_LIMIT and b"\r\n\r\n" in data[: HEAD_LIMIT + 4]

    def _begin_head(self) -> None:
        self._in_head = True
        self._head_bytes = 0
        self._timer = self.loop.call_later(HEAD_DEADLINE, self._late)

    def _end_head(self) -> None:
        self._in_head = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()


def _authority(target: bytes) -> bytes | None:
    """The host that a target names, if it is not in origin form (RFC 9112 section 3.2); empty if it can't be read."""
    if target.startswith(b"/") and not target.startswith(b"//"):
        return None
    try:
        return httptools.parse_url(target).host or b""
    except httptools.HttpParserInvalidURLError:
        return b""
