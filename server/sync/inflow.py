"""How much one socket may say. Owns the numbers, and what to call them when they are overrun; must never wait.

They are far above what honest traffic was ever seen to need: a return with the largest frame several times over, a
document's whole history retyped at full speed. What costs the server an answer, or everybody else a frame, is counted
apart.
"""

from __future__ import annotations

from typing import Final, Literal

from crdt_docs.lib0 import Bytes
from crdt_docs.messages import Awareness, Barrier, QueryAwareness, Renew, SyncStep1
from crdt_docs.messages.vocabulary import Stateless, Token
from server.domain.allowance import Allowance
from server.domain.clock import Clock

Kind = Literal["SyncStep1", "awareness", "QueryAwareness", "barriers", "credentials"]

MIB: Final = 1024 * 1024
BYTES: Final = (256 * MIB, 4 * MIB)
"""At once, and a second from then on; so are all that follow."""
MESSAGE: Final = 512
"""Bytes that every message counts for beside its own: 500,000 short ones at once, 8,000 a second from then on."""
ANSWERED: Final[dict[Kind, tuple[int, int]]] = {
    "SyncStep1": (600, 2),
    "QueryAwareness": (600, 2),
    "awareness": (30_000, 200),
    "barriers": (100_000, 1_000),
    "credentials": (400, 1),
}
_PLACES: Final[dict[Kind, int]] = {kind: place for place, kind in enumerate(ANSWERED)}
_FIRST_BYTES: Final[dict[int, Kind]] = {1: "awareness", 3: "QueryAwareness", 100: "barriers", 102: "credentials"}
_BODIES: Final[dict[type, Kind]] = {
    SyncStep1: "SyncStep1",
    Awareness: "awareness",
    QueryAwareness: "QueryAwareness",
    Barrier: "barriers",
    Stateless: "barriers",
    Renew: "credentials",
    Token: "credentials",
}


class Inflow:
    """What one socket has said, against what it may.

    What is answered is only counted, by its place in ``ANSWERED``, until there was as much of it as may come at once;
    nearly nobody gets there, and an allowance of its own for each would be most of this.
    """

    __slots__ = ("_clock", "_bytes", "_begun", "_said", "_much")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._bytes = Allowance(*BYTES, clock)
        self._begun = clock.monotonic()
        self._said = [0] * len(ANSWERED)
        self._much: dict[Kind, Allowance] | None = None

    def hear(self, frame: Bytes) -> str | None:
        """Count a frame of y-websocket's; what there was too much of, if so."""
        if not self._bytes.spend(len(frame) + MESSAGE):
            return "too much at once"
        if frame[:1] != b"\0":
            kind = _FIRST_BYTES.get(frame[0]) if frame else None
            return self._count(kind)
        return self._count("SyncStep1") if frame[:2] == b"\0\0" else None

    def hear_body(self, body: object, size: int) -> str | None:
        """Count a message of Hocuspocus's, the same."""
        if not self._bytes.spend(size + MESSAGE):
            return "too much at once"
        return self._count(_BODIES.get(type(body)))

    def _count(self, kind: Kind | None) -> str | None:
        if kind is None:
            return None
        place = _PLACES[kind]
        if self._said[place] < ANSWERED[kind][0]:
            self._said[place] += 1
            return None
        if self._much is None:
            self._much = {}
        allowance = self._much.get(kind)
        if allowance is None:
            allowance = self._much[kind] = Allowance(*ANSWERED[kind], self._clock, spent_since=self._begun)
        return None if allowance.spend() else f"too many {kind}"
