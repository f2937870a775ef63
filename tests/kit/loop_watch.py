"""A server whose event loop is watched from within: run it as ``python loop_watch.py FILE serve ...``.

Owns one timer and one file. For each turn in which the loop was away for longer than ``NOTE``, the file gets a record:
when (``time.monotonic``), for how long by the clock on the wall, and how much CPU the whole process, and the loop's own
thread, used meanwhile. On a machine that others use too, a process can be away without doing anything; so what counts
is the smaller of the wall's and the process's: another thread can keep the loop waiting, too. Must never touch what it
watches.
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

EVERY: Final = 0.002
NOTE: Final = 0.001
RECORD: Final = struct.Struct("<dddd")


class Away(NamedTuple):
    """The loop was away. Seconds."""

    at: float
    wall: float
    cpu: float
    own: float
    """CPU of the loop's thread alone."""

    @property
    def lag(self) -> float:
        """How long of it was this process's own doing, at most."""
        return min(self.wall, self.cpu)


def read(path: Path, since: float = 0.0) -> list[Away]:
    """What was noted since then."""
    return [away for away in map(Away._make, RECORD.iter_unpack(path.read_bytes())) if away.at >= since]


class Watch:
    """Ticks on the loop that runs, and notes when a tick comes late."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._loop = asyncio.get_running_loop()
        self._was = time.monotonic()
        self._cpu = time.process_time()
        self._own = time.thread_time()
        self._loop.call_later(EVERY, self._tick)

    def _tick(self) -> None:
        now, cpu, own = time.monotonic(), time.process_time(), time.thread_time()
        away = now - self._was - EVERY
        if away > NOTE:
            os.write(self._file, RECORD.pack(now, away, cpu - self._cpu, own - self._own))
        self._was, self._cpu, self._own = now, cpu, own
        self._loop.call_later(EVERY, self._tick)


def main() -> None:
    """Serve as ever, watched."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    file = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    import uvicorn

    from server.cli.main import main as clew

    serve = uvicorn.Server.serve

    async def watched(self: uvicorn.Server, *arguments: Any) -> None:
        watch = Watch(file)
        await serve(self, *arguments)
        del watch

    uvicorn.Server.serve = watched  # type: ignore[method-assign, assignment]
    sys.exit(clew())


if __name__ == "__main__":
    main()
