"""Who of many readers is written to next. Owns that few are in one turn of the event loop, and each in its turn.

Fifty who are sent a long document at once would else be handed a slice each in every turn, and everybody else waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

AT_ONCE: Final = 8
"""Slices in one turn; a few milliseconds."""


class Rota:
    """Calls back in order, a few in a turn."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._due = False

    def add(self, go_on: Callable[[], None]) -> None:
        """Call it when it is its turn."""
        self._waiting.append(go_on)
        self._call_soon()

    def _call_soon(self) -> None:
        if self._waiting and not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._due = False
        try:
            for _ in range(min(AT_ONCE, len(self._waiting))):
                self._waiting.popleft()()
        finally:
            self._call_soon()
