"""An accepted socket, taken over from the WebSocket server that shook its hand.

Owns what comes in, in order, and the socket's end. A message is heard in the very call that brought its bytes: no
queue, no task, no turn of the loop in between. What a message has to wait for, the next ones wait for too, and nothing
is read meanwhile. Must never hear a message after the end was told (I5), nor so many in one turn that others wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Coroutine, Iterable
from typing import Any, Final, NamedTuple, Protocol

from crdt_docs.lib0 import Bytes
from server.domain.errors import CLOSE as CODES
from server.doors.turnstile import Passage
from server.sync import framing
from server.sync.backlog import Backlog
from server.sync.direct import DirectTransport
from server.sync.entry import FAREWELLS
from server.sync.framing import Event, FrameParser, apply_mask
from server.sync.heartbeat import Beat, Heartbeat, Pulse
from server.sync.intake import Intake, Unfinished

LINGER: Final = 30.0
"""Seconds a peer has to read what was sent, and the close, before its socket is cut."""
LATE: Final = 64 * 1024
"""Bytes that a peer may still have had under way when it was told to go."""
UNREAD: Final = 64 * 1024
"""Bytes in the socket's buffer from which pings are not answered."""
TURN: Final = 64
"""Messages and control frames of one socket that are heard in one turn of the event loop."""
RESTART: Final = 1012


class Listener(Protocol):
    """Who hears a socket."""

    def hear(self, message: Bytes | None) -> Awaitable[None] | None:
        """Take one message, None for one of text; what it gives back, the next one waits for. A long one is its own."""
        ...

    def bid_farewell(self) -> None:
        """The peer took its leave; nothing follows."""
        ...

    async def leave(self) -> None:
        """The socket is gone."""
        ...


class Surroundings(NamedTuple):
    """What sockets of one server share. ``open`` are those it closes when it ends, ``tasks`` what it waits for."""

    open: set[Any]
    tasks: set[asyncio.Task[Any]]
    intake: Intake | None
    most: int
    pulse: Pulse

    @classmethod
    def under(
        cls,
        config: Any,
        connections: set[Any],
        tasks: set[asyncio.Task[Any]],
        intake: Intake | None,
        loop: asyncio.AbstractEventLoop,
    ) -> Surroundings:
        """Those of a server with that configuration of uvicorn's."""
        pulse = Pulse(Beat(config.ws_ping_interval, config.ws_ping_timeout), loop)
        return cls(connections, tasks, intake, config.ws_max_size, pulse)


class OpenSocket(asyncio.Protocol):
    """One peer's socket from ``accept`` to its end. ``begin`` names who hears it."""

    __slots__ = (
        "transport",
        "outgoing",
        "unfinished",
        "heartbeat",
        "ended",
        "_around",
        "_passage",
        "_loop",
        "_listener",
        "_parser",
        "_events",
        "_quick",
        "_waiting",
        "_reading",
        "_held_back",
        "_lost",
        "_left",
        "_late",
        "_closer",
    )

    def __init__(
        self, transport: asyncio.Transport, around: Surroundings, passage: Passage | None, backlog: Backlog
    ) -> None:
        self.transport = transport
        self.outgoing = DirectTransport(self, backlog)
        self.ended = False
        self._around = around
        self._passage = passage
        self._loop = asyncio.get_running_loop()
        self._listener: Listener | None = None
        self._parser = FrameParser(around.most)
        self._events: deque[Event] | None = None
        self._quick = False  # whether a message can be heard as it comes
        self._waiting = True
        self._reading = True
        self._held_back = False
        self._lost = False
        self._left = False
        self._late = 0
        self._closer: asyncio.TimerHandle | None = None
        self.unfinished: Unfinished | None = None
        self.heartbeat = Heartbeat(self, around.pulse)

    # -- the socket's life

    def begin(self, listener: Listener) -> None:
        """Let it be heard from here on, first what has come already."""
        self._listener = listener
        self._waiting = False
        self._work()

    def connection_lost(self, exc: Exception | None) -> None:
        """The wire is gone. What came before is heard still: it may be somebody's last words."""
        self._lost = True
        self._around.open.discard(self)
        self.heartbeat.stop()
        if self._closer is not None:
            self._closer.cancel()
        if self.unfinished is not None:
            self.unfinished.over()
        if self._passage is not None:
            self._passage.leave()
        self.outgoing.discard()
        self._leave_if_over()

    def _leave_if_over(self) -> None:
        over = self._lost or self.ended
        if over and not self._waiting and not self._events and not self._left and self._listener is not None:
            self._left = True
            self.run(self._listener.leave())

    def run(self, errand: Coroutine[Any, Any, None]) -> None:
        """Run what has to wait, as the server runs what it calls: it waits for it when it ends."""
        task = self._loop.create_task(errand)
        self._around.tasks.add(task)
        task.add_done_callback(self._ran)

    def _ran(self, task: asyncio.Task[None]) -> None:
        self._around.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logging.getLogger("uvicorn.error").error("Exception behind a socket", exc_info=error)
            self.transport.abort()

    def shutdown(self) -> None:
        """The server ends."""
        self.end(RESTART, "")
        self.transport.close()

    def end(self, code: int, why: str) -> None:
        """Send a close frame now, behind what is buffered, and cut the socket if nobody reads it in time."""
        self._end(framing.close_payload(code, why))

    def _end(self, payload: bytes) -> None:
        if self.ended or self.transport.is_closing():
            return
        self.ended = True
        self._quick = False
        self.heartbeat.stop()
        self.write(framing.frame(framing.FINAL | framing.CLOSE, payload))
        self._closer = self._loop.call_later(LINGER, self.transport.abort)
        events, self._events = self._events, None
        if events is not None:
            self._look_for_close(events)
        self._read_on()
        self._leave_if_over()

    # -- the way out

    def write(self, data: bytes) -> None:
        """Hand bytes to the wire."""
        self.transport.write(data)

    def pause_writing(self) -> None:
        """The peer is behind."""
        self.outgoing.choke()

    def resume_writing(self) -> None:
        """The buffer has drained, so the peer reads."""
        self.heartbeat.drained()
        self.outgoing.unchoke()

    def bound(self, size: int | None) -> None:
        """Let no message be longer than that, or than any may be, from the next one on."""
        self._parser.most = size or self._around.most

    def known(self) -> None:
        """The peer has shown who they are."""
        if self._passage is not None:
            self._passage.known()

    # -- the way in

    def data_received(self, data: bytes) -> None:
        """Hear what is whole. By far the most that comes is one short binary frame, and is heard here."""
        if self._quick and len(data) > 5 and data[0] == 0x82 and len(data) == data[1] - 122 and data[1] < 254:
            wait = self._listener.hear(apply_mask(data[6:], data[2:6]))  # type: ignore[union-attr]
            if wait is not None:
                self._wait_for(wait)
            return
        if self.ended:
            self._hear_late(data)
            return
        self._parse(data)
        self._work()

    def _parse(self, data: bytes) -> None:
        """As much of it as is heard in one turn: a piece may hold ten thousand frames."""
        events = self._parser.feed(data, TURN)
        if self._events:
            self._events += events
        else:
            self._events = events
        if not self._lost:
            self._note(len(data))

    def _hear_late(self, data: bytes) -> None:
        """Who was told to go, and talks on, is not listened to at length: only for the answering close."""
        self._late += len(data)
        if self._late > LATE:
            self.transport.abort()
        else:
            self._look_for_close(self._parser.feed(data))

    def _look_for_close(self, events: Iterable[Event]) -> None:
        if any(kind == framing.CLOSE or kind == framing.BROKEN for kind, _ in events):
            self.transport.close()

    def _note(self, came: int) -> None:
        unfinished = self._parser.unfinished
        if unfinished and self.unfinished is None:
            self.unfinished = Unfinished(self, self._around.intake, self._loop)
        if self.unfinished is not None:
            self.unfinished.note(unfinished, came)
            if not unfinished:
                self.unfinished = None

    def _work(self) -> None:
        """Hear what has come, in order, so much of it in one turn; read on when all of it is heard."""
        heard = 0
        while not self._waiting and self._events:
            if heard == TURN:
                self._waiting = True
                self._loop.call_soon(self._go_on)
                break
            kind, payload = self._events.popleft()
            heard += 1
            if kind == framing.BINARY or kind == framing.TEXT:
                self._hear(payload if kind == framing.BINARY else None)
            else:
                self._control(kind, bytes(payload))
        if not self._events:
            self._events = None
            if self._parser.more and not self._waiting and not self.ended:
                self._waiting = True
                self._loop.call_soon(self._parse_on)
        self._quick = not (self.ended or self._waiting or self._events) and self._parser.between
        if self._waiting:
            self._read_no_more()
        else:
            self._read_on()
            self._leave_if_over()

    def _go_on(self) -> None:
        self._waiting = False
        self._work()

    def _parse_on(self) -> None:
        if not self.ended:
            self._parse(b"")
        self._go_on()

    def _hear(self, message: Bytes | None) -> None:
        wait = self._listener.hear(message)  # type: ignore[union-attr]
        if wait is not None:
            self._wait_for(wait)

    def _wait_for(self, wait: Awaitable[None]) -> None:
        self._waiting = True
        self._quick = False
        self._read_no_more()
        self.run(self._wait(wait))

    async def _wait(self, wait: Awaitable[None]) -> None:
        try:
            await wait
        finally:
            self._go_on()

    def _control(self, kind: int, payload: bytes) -> None:
        if kind == framing.PING:
            # the latest is enough where the peer does not read (RFC 6455 section 5.5.3), and nobody is left to hear it
            # where the wire is gone
            if not self._lost and self.transport.get_write_buffer_size() <= UNREAD:
                self.write(framing.frame(framing.FINAL | framing.PONG, payload))
        elif kind == framing.PONG:
            self.heartbeat.heard(payload)
        elif kind == framing.CLOSE:
            self._closed_by_peer(payload)
        else:
            self._broken(payload)

    def _closed_by_peer(self, payload: bytes) -> None:
        if framing.close_code(payload) in FAREWELLS and self._listener is not None:
            self._listener.bid_farewell()
        self._end(payload)
        self.transport.close()

    def _broken(self, payload: bytes) -> None:
        if framing.close_code(payload) == framing.TOO_BIG:  # a client must not send it again
            payload = framing.close_payload(CODES["too_large"], "this frame is too long")
        self._end(payload)
        self.transport.close()

    # -- when it is read

    def hold_back(self) -> None:
        """Read nothing for now: too much is unfinished, here and elsewhere."""
        self._held_back = True
        self._read_no_more()

    def go_on(self) -> None:
        """Read on."""
        self._held_back = False
        if not self._waiting:
            self._read_on()

    @property
    def held(self) -> bool:
        """Whether it is us who keep the peer from going on."""
        return not self._reading

    def _read_no_more(self) -> None:
        if self._reading and not self.transport.is_closing():
            self._reading = False
            self.transport.pause_reading()

    def _read_on(self) -> None:
        if not self._reading and not self._held_back and not self.transport.is_closing():
            self._reading = True
            self.transport.resume_reading()
