"""Long work, cut into slices. Owns that on the event loop others run between any two of them."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")


async def run(steps: Generator[None, None, T]) -> T:
    """Run to the end, letting others run wherever it yields; raises what it raises."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
        await asyncio.sleep(0)
