"""Who of many is next. Owns that few are in one turn of the event loop, and each in its turn.

Fifty who come in at once, or are sent a long document, would else go through each step in one and the same turn, and
everybody else waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

AT_ONCE: Final = 8
"""Slices in one turn; a few milliseconds."""
NEWCOMERS: Final = 2
"""Who take one step on the way in, in one turn; a millisecond or two."""
LEAVING: Final = 16
"""Who take their leave in one turn: others are told, and what they saw and were in is noted; about a millisecond."""


class Rota:
    """Calls back in order, a few in a turn."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._waiting: deque[Callable[[], None]] = deque()
        self._due = False

    def add(self, go_on: Callable[[], None]) -> None:
        """Call it when it is its turn."""
        self._waiting.append(go_on)
        self._call_soon()

    async def turn(self) -> None:
        """Wait for one's turn."""
        come = asyncio.get_running_loop().create_future()
        self.add(lambda: None if come.done() else come.set_result(None))
        await come

    def _call_soon(self) -> None:
        if self._waiting and not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._due = False
        try:
            for _ in range(min(self._at_once, len(self._waiting))):
                self._waiting.popleft()()
        finally:
            self._call_soon()
