"""When Python looks for garbage, and how much is let go of at once. Must never put the looking off for long.

Nearly all goes by counting references. What goes in circles is looked for among all there is, in one go that nothing
else gets into: a tenth of a second for a thousand open documents. So that is done while nobody wants anything, and
otherwise only what is new is looked through.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

YOUNG: Final = 500
MIDDLE: Final = 0
"""How many more objects there are before what is new is looked through, and how often before what outlived that is too:
every other time. What is new is several times as many, for an object that makes way for another counts as none; with
twice as many, and every fourth time, a search took four milliseconds. Each object is looked at once or twice anyway."""
ENOUGH: Final = 40
"""Searches of what outlived the first, after which all there is may be looked through."""
BEAT: Final = 1.0
"""Seconds between two looks at whether the process is at rest."""
AT_REST: Final = 0.03
"""Share of one processor's time, used since the last look, up to which it is."""
LATE: Final = 0.02
"""Seconds by which a look may come late: a process that is not let run uses little, too, and is not at rest."""
PUT_OFF: Final = 900.0
"""Seconds after which it need not be at rest any more."""
LITTLE: Final = 2_000
"""Structs that are let go of at once."""
LITTLE_BYTES: Final = 1 << 20
"""Bytes that are, where what is let go of is bytes: half a millisecond."""
_NEVER: Final = 1 << 30


@contextmanager
def put_off() -> Iterator[None]:
    """While modules are read in: nothing of them goes, and looking for what does takes a tenth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def set_apart() -> None:
    """What is here at the start stays: it is not looked through again. What is new is, less often than usual."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, _NEVER)
    FullSearch().begin()


class FullSearch:
    """Looks through all there is, once enough is new: when the process is at rest, or in the end without that."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._since = self._due = self._loop.time()
        self._used = time.process_time()

    def begin(self) -> None:
        """Look again and again, as long as the loop runs."""
        self._due = self._loop.time() + BEAT
        self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        now, used = self._loop.time(), time.process_time()
        if gc.get_count()[2] < ENOUGH:
            self._since = now
        elif (now - self._due < LATE and used - self._used < AT_REST * BEAT) or now - self._since > PUT_OFF:
            gc.collect()
        self._used = time.process_time()
        self.begin()


T = TypeVar("T")


class Heap(list[T]):
    """A list that may be long, and lets go of what it holds a little at a time, whoever had it last."""

    def __del__(self) -> None:
        if len(self) > LITTLE:
            with suppress(RuntimeError):  # no loop runs here, so nobody is held up
                _let_go(self[:], LITTLE)


def let_go_of(items: Sequence[Any], size: int) -> None:
    """Hold what was read, so many bytes in all, and let go of it a little at a time; nobody else needs it any more."""
    if size > LITTLE_BYTES:
        asyncio.get_running_loop().call_soon(_let_go, [*items], max(1, len(items) * LITTLE_BYTES // size))


def _let_go(items: list[Any], at_once: int) -> None:
    del items[-at_once:]
    if items:
        asyncio.get_running_loop().call_soon(_let_go, items, at_once)
