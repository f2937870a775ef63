"""Sockets of a simulated network: in order within one, in any order between them, cut wherever the seed says.

Owns delays, cuts, half-open sockets and slow readers. Draws from generators of its own per socket, so that a run
depends on the seed alone and not on the order in which a set is walked.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from crdt_docs.messages.ywebsocket import ServerMessage, decode_reply
from server.rooms.connection import Connection


class Reader(Protocol):
    """The client's end of a wire."""

    def opened(self, wire: Wire) -> None:
        """The socket is open."""
        ...

    def heard(self, wire: Wire, message: ServerMessage) -> None:
        """A frame arrived."""
        ...

    def closed(self, wire: Wire, code: int) -> None:
        """The socket is gone; 1006 if it was cut."""
        ...


@dataclass(frozen=True, slots=True)
class Weather:
    """What a network is like; times in seconds. ``slow`` is the share of sockets whose readers stall."""

    least: float = 0.001
    most: float = 0.06
    slow: float = 0.1
    unnoticed: float = 2.5
    """How long a cut may stay unknown to the server."""


class Wire:
    """One socket. The server's side is a ``Transport``; ``frames`` that come up wait for the server's pump."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        number: int,
        draw: random.Random,
        weather: Weather,
        reader: Reader,
        check: Callable[[Wire, ServerMessage], None],
    ) -> None:
        self.number = number
        self.connection: Connection | None = None
        self.frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.open = True
        self.ended_by_server = False
        self._loop = loop
        self._draw = draw
        self._weather = weather
        self._reader = reader
        self._check = check
        self._up_at = self._down_at = 0.0
        self._up_until = float("inf")
        self._slow = draw.random() < weather.slow
        self._under_way = 0
        self._paused = False
        self._closing = False

    # -- the client's side

    def up(self, frame: bytes) -> None:
        """The client sends."""
        if self.open:
            self._up_at = self._later(self._up_at)
            self._loop.call_at(self._up_at, self._arrive, frame)

    def cut(self) -> None:
        """The network fails. What was under way may still arrive, up to some point; the server learns of it later."""
        if not self.open:
            return
        self.open = False
        now = self._loop.time()
        self._up_until = now + self._draw.choice((0.0, self._draw.uniform(0, 0.3)))
        self._loop.call_at(now + self._draw.uniform(0, self._weather.unnoticed), self._missed)
        self._reader.closed(self, 1006)

    def hang_up(self) -> None:
        """The client closes properly: all that it sent arrives before."""
        if self.open:
            self.open = False
            self._up_at = self._later(self._up_at)
            self._loop.call_at(self._up_at, self._missed)
            self._reader.closed(self, 1005)

    def crash(self) -> None:
        """The server is gone."""
        self.ended_by_server = True
        self._up_until = 0.0
        if self.open:
            self.open = False
            self._loop.call_later(self._draw.uniform(0, 0.2), self._reader.closed, self, 1006)
        self.frames.put_nowait(None)

    # -- the server's side: ``server.rooms.connection.Transport``

    def send(self, frame: bytes) -> None:
        """The room sends."""
        if self.ended_by_server:
            return
        message = decode_reply(frame)
        self._check(self, message)
        if self._closing:
            return
        self._under_way += 1
        self._down_at = self._later(self._down_at, 20 if self._slow and self._draw.random() < 0.3 else 1)
        self._loop.call_at(self._down_at, self._deliver, message)
        if self._slow and self._under_way > 3 and not self._paused and self.connection is not None:
            self._paused = True
            self.connection.pause()

    def close(self, code: int, why: str) -> None:
        """The room closes; what is queued may be lost with it."""
        if self._closing:
            return
        self._closing = True
        if self.open:
            at = self._later(self._loop.time() if self._draw.random() < 0.5 else self._down_at)
            self._loop.call_at(at, self._close, code)
        self.frames.put_nowait(None)

    # -- under way

    def _later(self, last: float, factor: float = 1) -> float:
        delay = self._draw.uniform(self._weather.least, self._weather.most) * factor
        return max(last + 1e-6, self._loop.time() + delay)

    def _arrive(self, frame: bytes) -> None:
        if self._loop.time() <= self._up_until:
            self.frames.put_nowait(frame)

    def _deliver(self, message: ServerMessage) -> None:
        self._under_way -= 1
        if self.open:
            self._reader.heard(self, message)
        if self._paused and not self._under_way and self.connection is not None:
            self._paused = False
            self.connection.resume()

    def _close(self, code: int) -> None:
        if self.open:
            self.open = False
            self._reader.closed(self, code)

    def _missed(self) -> None:
        if self.connection is not None:
            self.connection.leave()
        self.frames.put_nowait(None)
