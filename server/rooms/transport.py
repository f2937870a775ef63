"""The way out to one peer, as its connection needs it. Owns a protocol and nothing else."""

from __future__ import annotations

from typing import Protocol


class Transport(Protocol):
    """Neither method blocks or raises, also when the socket is gone."""

    def send(self, frame: bytes) -> None:
        """Queue one frame; the shell calls ``pause`` and ``resume`` as its buffer fills and drains."""
        ...

    def close(self, code: int, why: str) -> None:
        """Close after what was sent; what the peer says after this is not heard."""
        ...
