"""Long work, cut into slices: a generator that yields wherever others may run. Owns running one where nobody waits."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")


def finish(steps: Generator[None, None, T]) -> T:
    """Run to the end in one go; raises what it raises."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
