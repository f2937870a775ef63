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
MOST_HEADERS: Final = 200
"""Browsers send thirty; each is looked at a dozen times."""
MOST_WAITING: Final = 16
"""Requests that may wait on one connection for the answer to the one before: browsers send none so."""
REST_DEADLINE: Final = 5.0
"""Seconds from an answer to the next request on the same connection."""
READ_DEADLINE: Final = 60.0
"""Seconds in which whoever is sent more than they take must take ``STRIDE`` bytes of it."""
STRIDE: Final = 64 * 1024
RETRY_AFTER: Final = 10
"""Seconds after which one connection too many may be worth another try."""


class HttpProtocol(HttpToolsProtocol):
    """Closes connections that dawdle over a head, and shows an absolute target's authority as one more Host header."""

    turnstile: Turnstile | None = None
    shake: Callable[[HttpProtocol], bool] | None = None
    """Takes over an upgrade that it can answer; what it leaves is uvicorn's."""
    _passage: Passage | None = None
    _timer: asyncio.TimerHandle | None = None
    _rest: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True
    _beside_bytes = 0
    _went_on = False

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
        self._end_rest()
        self._end_reading()
        self._leave()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        """From here on the connection is the socket's; nobody else may still have something to say by it."""
        self._end_rest()
        self._end_reading()
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()
            return
        if any(
            name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
            for name, value in self.headers
        ):
            self.send_400_response("An upgrade has no body.")  # the long road would wait for it without end
            return
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
        """Count what belongs to a head, or to no request's head or body, and parse."""
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_LIMIT and not self._ends_here(data):
                self._end_head()
                self.send_400_response("The request's head is too long.")
                return
        self._went_on = False
        super().data_received(data)
        self._beside_bytes = 0 if self._went_on or self._in_head else self._beside_bytes + len(data)
        if self._beside_bytes > HEAD_LIMIT:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Start the clock of a head on a kept connection."""
        if len(self.pipeline) >= MOST_WAITING:
            raise _TooMany
        super().on_message_begin()
        self._went_on = True
        self._end_rest()
        if not self._in_head:
            self._begin_head()

    def on_response_complete(self) -> None:
        """Start the clock of a kept connection's rest.

        uvicorn's own stops at any byte, so that what is left of a body, or an empty line, would keep it for ever.
        """
        super().on_response_complete()
        if self.timeout_keep_alive_task is not None and not self._in_head:
            self._rest = self.loop.call_later(REST_DEADLINE, self._late)

    def on_header(self, name: bytes, value: bytes) -> None:
        """As uvicorn does, of a head. What a chunked body ends with is nobody's, and there is no end to it."""
        if self._in_head:
            if len(self.headers) >= MOST_HEADERS:
                raise _TooMany
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """As uvicorn does."""
        self._went_on = True
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Stop the clock; name every host that the request was sent to."""
        self._went_on = True
        self._end_head()
        authority = _authority(self.url)
        if authority is not None:
            self.headers.append((b"host", authority))
        extensions: dict[str, object] = self.scope.setdefault("extensions", {})  # type: ignore[assignment]
        extensions[EXTENSION] = self
        super().on_headers_complete()

    def pause_writing(self) -> None:
        """As uvicorn does, and look whether the peer goes on reading: an answer is held, and may hold a file open."""
        super().pause_writing()
        self._end_reading()
        unread = self.transport.get_write_buffer_size()
        self._reading = self.loop.call_later(READ_DEADLINE, self._look_at_reader, unread)

    def resume_writing(self) -> None:
        """As uvicorn does."""
        super().resume_writing()
        self._end_reading()

    def _look_at_reader(self, before: int) -> None:
        unread = self.transport.get_write_buffer_size()
        if before - unread < STRIDE:
            self.transport.abort()
        else:
            self._reading = self.loop.call_later(READ_DEADLINE, self._look_at_reader, unread)

    def _end_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

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

    def _end_rest(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    def _late(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()


class _TooMany(Exception):
    """Ends the parser's work on what has come; the request is answered 400, and its connection closed."""


def _authority(target: bytes) -> bytes | None:
    """The host that a target names, if it is not in origin form (RFC 9112 section 3.2); empty if it can't be read."""
    if target.startswith(b"/") and not target.startswith(b"//"):
        return None
    try:
        return httptools.parse_url(target).host or b""
    except httptools.HttpParserInvalidURLError:
        return b""
