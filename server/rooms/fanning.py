"""What many are handed at once. Owns that it is made once, however many get it, and how often they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from crdt_docs.rope import Rope

LONGEST: Final = 0.020
"""Seconds that a released update may wait for others, where very many read."""
FOR_EACH: Final = 0.000_050
"""Seconds of it for each connection: about what it costs to write to one."""
SHORTEST: Final = 0.001
"""Seconds; timers are no finer, and few readers cost little."""


FEW: Final = int(SHORTEST / FOR_EACH)
"""Connections below which there is no window."""


def window(connections: int) -> float:
    """Seconds from one release of a document to the next. The first after a pause is at once: typing is not slowed."""
    seconds = min(LONGEST, FOR_EACH * connections)
    return seconds if seconds >= SHORTEST else 0.0


class Fanned:
    """Messages for everybody, in order. ``wire`` is what the first transport made of them, for those that follow."""

    __slots__ = ("messages", "wire")

    def __init__(self, messages: Sequence[bytes]) -> None:
        self.messages = messages
        self.wire: bytes | None = None


def together(frames: Iterable[bytes | Rope]) -> list[Fanned | Rope]:
    """In order, what is short taken together."""
    parts: list[Fanned | Rope] = []
    some: list[bytes] = []
    for frame in frames:
        if isinstance(frame, bytes):
            if not some:
                parts.append(Fanned(some))
            some.append(frame)
        else:
            parts.append(frame)
            some = []
    return parts
