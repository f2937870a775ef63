"""A room's way out straight to the wire. Owns what of it is written when; must never wait, nor call a reader back from
within a write.

A message is written at once while nothing is queued and the peer takes what it was given; many get the same bytes, and
the event loop puts what it was given in one turn into one system call. Once the peer is behind, messages queue, up to
the backlog's bound. What is long is read off the document as it is sent, in fragments of one message (RFC 6455 section
5.4), between which others have their turn, and pings and a close go through.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from crdt_docs.rope import Rope
from server.rooms.fanning import Fanned
from server.sync.backlog import Backlog
from server.sync.framing import BINARY, CONTINUATION, FINAL, frame, framed
from server.sync.outgoing import Outgoing

SLICE: Final = 64 * 1024
"""Bytes of a long frame that are handed over at a time; one that takes nothing for a minute is too slow."""


class Line(Protocol):
    """The socket that is written to."""

    def write(self, data: bytes) -> None:
        """Hand over bytes; ``choke`` may be called before this returns."""
        ...

    def end(self, code: int, why: str) -> None:
        """Close it."""
        ...

    def bound(self, size: int | None) -> None:
        """Let no message be longer than that."""
        ...

    def known(self) -> None:
        """Its peer has shown who they are."""
        ...


class DirectTransport(Outgoing):
    """Writes while it may, queues while it may not."""

    __slots__ = ("_line", "_write", "_clear", "_choked", "_due", "_slices", "_fed")

    def __init__(self, line: Line, backlog: Backlog) -> None:
        super().__init__(backlog)
        self._line = line
        self._write = line.write
        self._clear = True  # nothing is queued, and the peer takes what it is given
        self._choked = False
        self._due = False  # whether a turn of ours is to come
        self._slices: Iterator[bytes] | None = None
        self._fed = 0

    def strange(self, size: int) -> None:
        """Whoever speaks may send no longer message than that until they have shown who they are."""
        self._line.bound(size)

    def known(self) -> None:
        """They have."""
        self._line.bound(None)
        self._line.known()

    def send(self, frame: bytes) -> None:
        """Hand over one message."""
        if self._clear:
            self._write(framed(frame))
        else:
            self._queue(frame)

    def fan(self, fanned: Fanned) -> None:
        """Hand over what others get too: the same bytes, in one write."""
        if self._clear:
            wire = fanned.wire
            if wire is None:
                messages = fanned.messages
                whole = framed(messages[0]) if len(messages) == 1 else b"".join(map(framed, messages))
                wire = fanned.wire = whole
            self._write(wire)
        else:
            for message in fanned.messages:
                self._queue(message)

    def _wake(self) -> None:
        if self.closing is not None:
            self._clear = False
        elif self._clear:
            self._clear = False
            self.pour()

    def choke(self) -> None:
        """The peer is behind: write nothing more for now."""
        self._choked = True
        self._clear = False

    def unchoke(self) -> None:
        """It has taken what was written."""
        self._choked = False
        self._progress()
        if self._slices is None:
            self.pour()
        else:
            self._pour_later()

    def _pour_later(self) -> None:
        if not self._due:
            self._due = True
            self._backlog.rota.add(self._pour_due)

    def _pour_due(self) -> None:
        self._due = False
        self.pour(turn=True)

    def pour(self, *, turn: bool = False) -> None:
        """Write what is queued while the peer takes it; what is long only where it is our ``turn``."""
        while not self._choked and self.closing is None:
            if self._slices is not None:
                if self._pour_slice():
                    self._pour_later()
                    return
                continue
            if not turn and self._frames and isinstance(self._frames[0], Rope):
                self._pour_later()  # many may be handed something long in one turn
                return
            message = self._take()
            if message is None:
                self._clear = True
                self._catch_up()
                return
            if isinstance(message, Rope):
                self._feeding, self._slices, self._fed = message, message.slices(SLICE), 0
            else:
                self._write(framed(message))
                self._taken(message)

    def _pour_slice(self) -> bool:
        """Write one slice of what is fed; whether more of it follows."""
        whole, slices = self._feeding, self._slices
        assert whole is not None and slices is not None
        piece = next(slices)
        first, self._fed = self._fed == 0, self._fed + len(piece)
        last = self._fed == len(whole)
        if last:
            self._feeding = self._slices = None
        self._write(frame((FINAL if last else 0) | (BINARY if first else CONTINUATION), piece))
        if last:
            self._taken(whole)
        else:
            self._progress()
        return not last

    def close(self, code: int, why: str) -> None:
        """Close, dropping what is queued (I5)."""
        if self.closing is None:
            super().close(code, why)
            self._line.end(*self.closing or (code, why))

    def discard(self) -> None:
        """The socket is gone."""
        self._clear = False
        super().discard()

    def _forget(self) -> None:
        self._feeding = self._slices = None
        super()._forget()
