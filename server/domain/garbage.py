"""When Python looks for garbage, and how much is let go of at once. Must never put the looking off for long.

Nearly all goes by counting references. What goes in circles is looked for among all there is, in one go that nothing
else gets into: the more there is, the longer. A long frame that is being read is much, and soon gone.
"""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from typing import Final, TypeVar

PUT_OFF: Final = 60.0
"""Seconds; whatever comes meanwhile does not make it longer."""
LONG: Final = 1 << 20
"""Bytes of a document that brings so much."""
YOUNG: Final = 1_000
MIDDLE: Final = 5
"""How many new objects are looked through together, and how often before what outlived that is, five times as many:
about one millisecond's search and about five. Where 50,000 were looked through in one go, that took 35."""
LITTLE: Final = 2_000
"""Structs that are let go of at once."""
_NEVER: Final = 1 << 30


def set_apart() -> None:
    """What is here at the start stays: it is not looked through again. What is new is, less often than usual."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, gc.get_threshold()[2])


def put_off() -> None:
    """Look through what is new only, for a while."""
    young, middle, old = gc.get_threshold()
    if old != _NEVER:
        gc.set_threshold(young, middle, _NEVER)
        asyncio.get_running_loop().call_later(PUT_OFF, gc.set_threshold, young, middle, old)


T = TypeVar("T")


class Heap(list[T]):
    """A list that may be long, and lets go of what it holds a little at a time, whoever had it last."""

    def __del__(self) -> None:
        if len(self) > LITTLE:
            with suppress(RuntimeError):  # no loop runs here, so nobody is held up
                _let_go(self[:])


def _let_go(items: list[T]) -> None:
    del items[-LITTLE:]
    if items:
        asyncio.get_running_loop().call_soon(_let_go, items)
