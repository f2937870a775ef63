"""Bytes that lie in pieces, read once from first to last. Owns where it stands, and a checksum of all that was read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from zlib import crc32

SLICE: Final = 256 * 1024
"""Bytes that are read at most at once; what is done with them takes about a millisecond."""


class Source:
    """``read`` or ``skip``, then ``rest``."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._piece = memoryview(b"")
        self._at = 0
        self.crc = 0

    def read(self, most: int) -> memoryview:
        """The next bytes, no more than that and than ``SLICE``. Raises IndexError at the end."""
        while not self._piece:
            piece = next(self._pieces, None)
            if piece is None:
                raise IndexError("the bytes end")
            self._piece = memoryview(piece)
        some = self._piece[: min(most, SLICE)]
        self._piece = self._piece[len(some) :]
        self._at += len(some)
        self.crc = crc32(some, self.crc)
        return some

    def skip(self, at: int) -> None:
        """Go on to there. Raises ValueError if that lies behind."""
        if at < self._at:
            raise ValueError("that was read already")
        while self._at < at:
            self.read(at - self._at)

    def rest(self) -> bytes:
        """All that is left, read."""
        out = []
        while True:
            try:
                out.append(self.read(SLICE))
            except IndexError:
                return b"".join(out)
