"""What Clew needs of the WebSocket server and ASGI does not offer: an end that does not wait for a reader.

Owns a thin subclass of uvicorn's protocol, put into the scope's extensions. Everything works without it, on another
ASGI server, except that a peer which never reads keeps its socket until TCP gives up.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.websockets import WebSocketDisconnect
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Close, Frame, Opcode
from websockets.http11 import Request

from server.domain.errors import CLOSE
from server.doors.turnstile import Passage, Turnstile
from server.sync.intake import STRIDE, WITHIN, Intake

EXTENSION: Final = "clew.socket"
LINGER: Final = 30.0
"""Seconds a peer has to read what was sent, and the close, before its socket is cut."""


PONG_AGAIN: Final = 70.0
"""Seconds more for a pong of who has read something since it was asked."""
LATE: Final = 64 * 1024
"""Bytes that a peer may still have had under way when it was told to go."""
UNREAD: Final = 64 * 1024
"""Bytes in the socket's buffer from which pings are not answered."""


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's sans-I/O WebSocket protocol, with ``end``. It logs no headers, since credentials are among them."""

    scope: Any
    turnstile: Turnstile | None = None
    intake: Intake | None = None
    passage: Passage | None = None
    unfinished = 0
    _held_back = False
    _begun = 0.0
    _came = 0
    _clock: asyncio.TimerHandle | None = None
    _late = 0
    _drained_at = 0.0

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.conn.debug = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """As uvicorn does; the place that the handshake had is the socket's now."""
        super().connection_made(transport)
        if self.turnstile is not None:
            self.passage = self.turnstile.arrive(self.client[0] if self.client else None)

    def connection_lost(self, exc: Exception | None) -> None:
        """As uvicorn does."""
        super().connection_lost(exc)
        if self._clock is not None:
            self._clock.cancel()
        if self.intake is not None:
            self.intake.note(self, 0)
        if self.passage is not None:
            self.passage.leave()

    async def send(self, message: Any) -> None:
        """As uvicorn does; a refusal in place of an upgrade is a handshake too, and no error to be logged."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    async def send_part(self, piece: bytes, *, first: bool, last: bool) -> None:
        """Send a fragment of one binary message, let others run, and wait until the next one may be sent.

        Raises WebSocketDisconnect when the socket is gone, or going.
        """
        if self.close_sent or self.disconnected or self.transport.is_closing():
            raise WebSocketDisconnect
        if first:
            self.conn.send_binary(piece, last)
        else:
            self.conn.send_continuation(piece, last)
        self.transport.write(b"".join(self.conn.data_to_send()))
        await asyncio.sleep(0)
        await self.writable.wait()

    def resume_writing(self) -> None:
        """As uvicorn does; its buffer has drained, so the peer reads."""
        self._drained_at = self.loop.time()
        super().resume_writing()

    def handle_connect(self, event: Request) -> None:
        """As uvicorn does, and hand this object to the application."""
        super().handle_connect(event)
        if getattr(self, "scope", None) is not None:
            self.scope["extensions"][EXTENSION] = self

    def end(self, code: int, why: str) -> None:
        """Send a close frame now, behind what is buffered, and cut the socket if nobody reads it in time."""
        if self.close_sent or self.transport.is_closing():
            return
        self.stop_keepalive()
        self.conn.send_close(code, why)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.close_timer = self.loop.call_later(LINGER, self.transport.abort)
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": why})

    def keepalive_timeout(self) -> None:
        """As uvicorn does, unless a slow peer still reads what lies before the ping; cut if not even the close is."""
        if self._drained_at > self.ping_sent_at and not self.transport.is_closing():
            self.ping_sent_at = self.loop.time()
            self.pong_timer = self.loop.call_later(PONG_AGAIN, self.keepalive_timeout)
            return
        super().keepalive_timeout()
        self.loop.call_later(LINGER, self.transport.abort)

    def handle_parser_exception(self) -> None:
        """As uvicorn does, but an oversized frame ends with the code that stops a client from sending it again."""
        sent = self.conn.close_sent
        if sent is not None and sent.code == 1009:
            self.conn.data_to_send()
            close = Close(CLOSE["too_large"], "this frame is too long").serialize()
            self.transport.write(Frame(Opcode.CLOSE, close).serialize(mask=False))
        super().handle_parser_exception()

    def data_received(self, data: bytes) -> None:
        """As uvicorn does; but who was told to go, and talks on, is not listened to at length."""
        if self.close_sent:
            self._late += len(data)
            if self._late > LATE:
                self.transport.abort()
                return
        super().data_received(data)
        unfinished = len(self.conn.reader.buffer) + (self.conn.current_size or 0)
        if unfinished or self.unfinished:
            self._note(unfinished, len(data))

    def _note(self, unfinished: int, came: int) -> None:
        if not self.unfinished or unfinished <= self.unfinished:  # then one has ended since
            self._begun = self.loop.time()
            self._came = 0
        self._came += came
        if self.intake is not None:
            self.intake.note(self, unfinished)
        if unfinished and self._clock is None:
            self._clock = self.loop.call_later(WITHIN, self._look_at_the_clock)

    def _look_at_the_clock(self) -> None:
        """A message that has begun must go on; what we keep it from does not count."""
        self._clock = None
        if not self.unfinished or self.close_sent:
            return
        left = self._begun + WITHIN - self.loop.time()
        if left <= 0 and self._came < STRIDE and not (self.read_paused or self._held_back):
            self.end(CLOSE["unavailable"], "your message did not come to its end")
            return
        if left <= 0:
            self._begun, self._came, left = self.loop.time(), 0, WITHIN
        self._clock = self.loop.call_later(left, self._look_at_the_clock)

    def hold_back(self) -> None:
        """Read nothing for now: too much is unfinished, here and elsewhere."""
        if not self._held_back and not self.read_paused:
            self._held_back = True
            self.transport.pause_reading()

    def go_on(self) -> None:
        """Read on."""
        if self._held_back:
            self._held_back = False
            if not self.read_paused and not self.transport.is_closing():
                self.transport.resume_reading()

    def bound(self, size: int | None) -> None:
        """Let no message be longer than that, or than any may be, from the next one on."""
        self.conn.max_message_size = size or self.config.ws_max_size

    def handle_ping(self) -> None:
        """As uvicorn does, unless the peer does not read: an answer to the latest ping is enough (RFC 6455, 5.5.3)."""
        pong = b"".join(self.conn.data_to_send())
        if self.transport.get_write_buffer_size() <= UNREAD:
            self.transport.write(pong)
