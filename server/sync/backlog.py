"""What waits for readers in all sockets together. Owns one sum; must never end anybody, only have them paused early."""

from __future__ import annotations

from typing import Final, Protocol

from server.sync.rota import Rota

BUDGET: Final = 256 * 1024 * 1024
"""Bytes; a frame that waits for many counts for each of them, though it is held once."""
HIGH: Final = 256 * 1024
"""Bytes that may wait for one reader before it is paused."""
LOW: Final = 32 * 1024
"""The same while all together are over the budget."""


class Queue(Protocol):
    """What waits for one reader."""

    held: int

    def pause(self) -> None:
        """Queue nothing more until it is empty."""
        ...


class Backlog:
    """The queues of a process. ``high`` is what one of them may hold at the moment, ``rota`` whose turn it is."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.high = HIGH
        self.waiting = 0
        self.queues: set[Queue] = set()
        self.rota = Rota()
        self._budget = budget

    def add(self, size: int) -> None:
        """So much more waits; if it is too much, whoever has most is paused first."""
        self.waiting += size
        if self.waiting > self._budget and self.high == HIGH:
            self.high = LOW
            for queue in sorted(self.queues, key=lambda queue: -queue.held):
                if queue.held <= LOW:
                    break
                queue.pause()

    def drop(self, size: int) -> None:
        """So much was taken, or given up."""
        self.waiting -= size
        if self.high == LOW and self.waiting <= self._budget // 2:
            self.high = HIGH
