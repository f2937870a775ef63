"""What every scenario is given, and how it says that a server did not keep up."""

from __future__ import annotations

from dataclasses import dataclass

from bench.load import Told
from bench.streams import Streams

Measures = dict[str, float]
"""By name; units are those of the rows in ``bench.rows``."""


class DidNotKeepUp(Exception):
    """A server that lost updates, closed connections or fell behind; says how, and what was measured before."""

    def __init__(self, why: str, measured: Measures | None = None) -> None:
        super().__init__(why)
        self.measured = measured or {}


@dataclass(frozen=True)
class Work:
    """``is_quick`` asks for a short size, to see that all works: its numbers mean little."""

    streams: Streams
    is_quick: bool

    def short(self, usual: int, quick: int) -> int:
        """One of two sizes."""
        return quick if self.is_quick else usual


def check_delivered(told: Told) -> None:
    """Raise DidNotKeepUp if not all that was to be delivered was."""
    if told["closed"]:
        raise DidNotKeepUp(f"closed {told['closed']} connections")
    if told["delivered"] < told["wanted"]:
        raise DidNotKeepUp(f"delivered {100 * told['delivered'] / told['wanted']:.0f} % in {told['seconds']:.0f} s")
