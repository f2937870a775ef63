"""What HTTP/1.1 needs and uvicorn leaves out: a head has a deadline and a size, and a target names no second host.

Owns a thin subclass of uvicorn's protocol. Everything works without it, on another ASGI server behind a proxy that
keeps these bounds itself. Must never read a body.
"""

from __future__ import annotations

import asyncio
from typing import Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

EXTENSION: Final = "clew.http"
"""Under which the application finds this object in the scope, to cut a connection whose reader does not read."""
HEAD_DEADLINE: Final = 10.0
"""Seconds from a connection's opening, or a request's first byte, to the end of the request's head."""
HEAD_LIMIT: Final = 64 * 1024
"""Bytes of a head: browsers keep far below, and a parser that waits for its end holds all of it."""


class HttpProtocol(HttpToolsProtocol):
    """Closes connections that dawdle over a head, and shows an absolute target's authority as one more Host header."""

    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock of the first head."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._end_head()
        super().connection_lost(exc)

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
