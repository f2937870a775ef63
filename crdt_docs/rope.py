"""Long messages that are not held: bytes to be read off, piece by piece, from where they lie anyway.

Owns the reading. Must never copy more than the piece that is asked for, nor keep a view open: a bytearray that is
looked at cannot grow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Stretch(NamedTuple):
    """Part of a bytearray that only ever grows at its end, so that what lies in between never changes."""

    body: bytearray
    start: int
    end: int


Piece = bytes | Stretch


class Rope:
    """A message of a size that is known, and that costs nothing until it is read. ``bytes(rope)`` is all of it."""

    __slots__ = ("_pieces", "_size")

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._size = sum(len(piece) if isinstance(piece, bytes) else piece.end - piece.start for piece in pieces)

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        return b"".join([view(piece) for piece in self._pieces])

    def after(self, head: bytes) -> Rope:
        """The same with some bytes before it."""
        return Rope((head, *self._pieces))

    def startswith(self, prefix: bytes) -> bool:
        """Whether it begins so."""
        return next(self.slices(len(prefix)), b"") == prefix if prefix else True

    def slices(self, size: int) -> Iterator[bytes]:
        """All of it in order, each slice of that size but the last."""
        out = bytearray()
        for piece in self._pieces:
            body, at, end = (piece, 0, len(piece)) if isinstance(piece, bytes) else piece
            while at < end:
                until = min(end, at + size - len(out))
                if until - at == size:  # as nearly all of them
                    with memoryview(body) as all_of_it:
                        whole = bytes(all_of_it[at:until])
                    yield whole
                    at = until
                    continue
                out += body[at:until]
                at = until
                if len(out) == size:
                    yield bytes(out)
                    out.clear()
        if out:
            yield bytes(out)


def view(piece: Piece) -> bytes | bytearray | memoryview:
    """It, not copied; to be let go of before the bytearray is to grow."""
    if isinstance(piece, bytes):
        return piece
    body, start, end = piece
    return body if start == 0 and end == len(body) else memoryview(body)[start:end]
