"""WebSocket frames (RFC 6455 section 5), read and written. Owns their layout as a server sees it; must never do I/O.

What comes in may be cut anywhere. A frame is refused as soon as its head is here, before anything is held for it. A
long message is unmasked as it comes, into the buffer that it is handed over in: nothing is done to all of it at once.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from crdt_docs.lib0 import Bytes

try:
    from websockets.speedups import apply_mask as apply_mask
except ImportError:  # a platform for which it was not compiled
    from websockets.utils import apply_mask as apply_mask

CONTINUATION: Final = 0
TEXT: Final = 1
BINARY: Final = 2
CLOSE: Final = 8
PING: Final = 9
PONG: Final = 10
BROKEN: Final = 16
"""No opcode: the peer broke the protocol, and nothing follows. The event's bytes are those of the close to be sent."""

FINAL: Final = 0x80
LONGEST_CONTROL: Final = 125
"""Bytes of a control frame's payload (section 5.5)."""
PROTOCOL_ERROR: Final = 1002
INVALID_DATA: Final = 1007
TOO_BIG: Final = 1009
NO_CODE: Final = 1005
_CODES: Final = frozenset((1000, 1001, 1002, 1003, *range(1007, 1015)))
"""Those of section 7.4.1, and since, that may be on the wire."""
_SHORT: Final = [bytes((FINAL | BINARY, size)) for size in range(126)]

ALL: Final = -1
LONG: Final = 64 * 1024
"""Bytes from which a frame is not waited for, but taken in as it comes."""

Event = tuple[int, Bytes]
"""A whole message (TEXT, BINARY), a control frame, or BROKEN; and its payload."""


class FrameParser:
    """What one peer sends. ``feed`` it bytes as they come; it gives back what they complete.

    ``more`` says that it was told to stop before it had read all that came: feed it nothing, and it reads on.
    """

    __slots__ = ("most", "more", "_buffer", "_message", "_opcode", "_over", "_frame_left", "_mask", "_ends")

    def __init__(self, most: int) -> None:
        self.most = most
        self.more = False
        self._buffer: bytearray | None = None
        self._message: bytearray | None = None
        self._opcode = 0
        self._over = False
        self._frame_left = 0  # of a long frame whose head has been read
        self._mask = b""
        self._ends = False

    @property
    def unfinished(self) -> int:
        """Bytes that are held of a message, or of a frame, which has not ended."""
        return len(self._message or b"") + len(self._buffer or b"")

    @property
    def between(self) -> bool:
        """Whether what comes next begins a message."""
        return self._message is None and self._buffer is None

    def feed(self, data: bytes, frames: int = ALL) -> deque[Event]:
        """What the bytes complete, in order, but no more than so many frames at once.

        After a close, or what is BROKEN, nothing is read any more.
        """
        events: deque[Event] = deque()
        self.more = False
        if self._over:
            return events
        held = self._buffer
        if held is not None:
            held += data
        read = self._read(held if held is not None else data, events, frames)
        if held is not None:
            del held[:read]
            if not held or self._over:
                self._buffer = None
        elif read < len(data) and not self._over:
            self._buffer = bytearray(data[read:])
        return events

    def _read(self, data: Bytes, events: deque[Event], frames: int) -> int:
        """Read whole frames, and what is there of a long one; where they end."""
        at, size = 0, len(data)
        if self._frame_left:
            at = self._take_in(data, 0, events)
        while size - at >= 2 and not self._over:
            if not frames:
                self.more = True
                break
            frames -= 1
            first, length = data[at], data[at + 1]
            body = at + 6
            masked, length = length & FINAL, length & 0x7F
            if length == 126:
                body = at + 8
                if size < at + 4:
                    return self._look_ahead(first, masked, 0, events, at)
                length = data[at + 2] << 8 | data[at + 3]
            elif length == 127:
                body = at + 14
                if size < at + 10:
                    return self._look_ahead(first, masked, 0, events, at)
                length = int.from_bytes(data[at + 2 : at + 10], "big")
            if size < body + length and (length < LONG or size <= body):
                return self._look_ahead(first, masked, length, events, at)
            fault = self._fault(first, masked, length)
            if fault is not None:
                events.append(self._break(*fault))
                return at
            if size < body + length:
                self._begin(first, bytes(data[body - 4 : body]), length)
                at = self._take_in(data, body, events)
            else:
                end = body + length
                self._frame(first, _unmasked(data, body, end), events)
                at = end
        return at

    def _begin(self, first: int, mask: bytes, length: int) -> None:
        """The head of a long frame, which is no control frame."""
        if self._message is None:
            self._message, self._opcode = bytearray(), first & 0x0F
        self._frame_left, self._mask, self._ends = length, mask, bool(first & FINAL)

    def _take_in(self, data: Bytes, at: int, events: deque[Event]) -> int:
        """Unmask what is there of a long frame; where that ends."""
        assert self._message is not None
        size = min(len(data) - at, self._frame_left)
        with memoryview(data) as view, view[at : at + size] as part:
            self._message += apply_mask(part, self._mask)
        turn = size & 3
        self._mask = self._mask[turn:] + self._mask[:turn]
        self._frame_left -= size
        if not self._frame_left and self._ends:
            self._complete(events)
        return at + size

    def _look_ahead(self, first: int, masked: int, length: int, events: deque[Event], at: int) -> int:
        """A frame has begun; what is wrong with its head is wrong already."""
        fault = self._fault(first, masked, length)
        if fault is not None:
            events.append(self._break(*fault))
        return at

    def _fault(self, first: int, masked: int, length: int) -> tuple[int, str] | None:
        opcode = first & 0x0F
        if first & 0x70:
            return PROTOCOL_ERROR, "reserved bits must be 0"
        if not masked:
            return PROTOCOL_ERROR, "a client's frames are masked"
        if opcode >= CLOSE:
            if opcode > PONG:
                return PROTOCOL_ERROR, "unknown opcode"
            if length > LONGEST_CONTROL or not first & FINAL:
                return PROTOCOL_ERROR, "a control frame is short and whole"
            return None
        if opcode > BINARY:
            return PROTOCOL_ERROR, "unknown opcode"
        if (opcode == CONTINUATION) is (self._message is None):
            return PROTOCOL_ERROR, "a message is continued until it ends, and no other"
        if len(self._message or b"") + length > self.most:
            return TOO_BIG, "this message is too long"
        return None

    def _frame(self, first: int, payload: bytes, events: deque[Event]) -> None:
        opcode = first & 0x0F
        if opcode >= CLOSE:
            events.append(self._closing(payload) if opcode == CLOSE else (opcode, payload))
        elif not first & FINAL:
            if self._message is None:
                self._message, self._opcode = bytearray(), opcode
            self._message += payload  # one buffer: a million fragments of a byte must not cost a million objects
        elif self._message is not None:
            self._message += payload
            self._complete(events)
        else:
            self._whole(opcode, payload, events)

    def _complete(self, events: deque[Event]) -> None:
        """The message that was begun has ended."""
        message, self._message = self._message or bytearray(), None
        self._whole(self._opcode, message if len(message) >= LONG else bytes(message), events)

    def _whole(self, opcode: int, message: Bytes, events: deque[Event]) -> None:
        if opcode == TEXT and not _is_text(message):
            events.append(self._break(INVALID_DATA, "text must be UTF-8"))
        else:
            events.append((opcode, message))

    def _closing(self, payload: Bytes) -> Event:
        self._end()
        if payload and not is_close_code(close_code(payload)):
            return BROKEN, close_payload(PROTOCOL_ERROR, "no such close code")
        if not _is_text(payload[2:]):
            return BROKEN, close_payload(INVALID_DATA, "text must be UTF-8")
        return CLOSE, payload

    def _break(self, code: int, why: str) -> Event:
        self._end()
        return BROKEN, close_payload(code, why)

    def _end(self) -> None:
        self._over = True
        self._message = None


def _unmasked(data: Bytes, body: int, end: int) -> bytes:
    if end - body < 1024:
        return apply_mask(bytes(data[body:end]), bytes(data[body - 4 : body]))
    with memoryview(data) as view, view[body:end] as payload:
        return apply_mask(payload, bytes(data[body - 4 : body]))


def framed(message: bytes) -> bytes:
    """A whole binary message as one frame of a server's."""
    size = len(message)
    if size < 126:
        return _SHORT[size] + message
    return frame(FINAL | BINARY, message)


def frame(first: int, payload: bytes) -> bytes:
    """One frame of a server's: never masked. ``first`` is its first byte."""
    size = len(payload)
    if size < 126:
        return bytes((first, size)) + payload
    if size < 1 << 16:
        return bytes((first, 126)) + size.to_bytes(2, "big") + payload
    return bytes((first, 127)) + size.to_bytes(8, "big") + payload


def close_payload(code: int, why: str) -> bytes:
    """What a close frame says; the reason as far as there is room."""
    room = LONGEST_CONTROL - 2
    return code.to_bytes(2, "big") + why.encode()[:room].decode(errors="ignore").encode()


def close_code(payload: Bytes) -> int:
    """What a close frame names; NO_CODE if it is empty, 0 if it is cut."""
    if not payload:
        return NO_CODE
    return int.from_bytes(payload[:2], "big") if len(payload) > 1 else 0


def is_close_code(code: int) -> bool:
    """Whether it may be on the wire."""
    return code in _CODES or 3000 <= code < 5000


def _is_text(payload: Bytes) -> bool:
    if len(payload) >= LONG:
        return True  # nobody here speaks in text, and reading so much would hold up those who don't
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True
