"""Engine jobs that are what the server's are, but that their worker dies of SIGKILL at a step which a test orders.

Owns the orders, a folder of files that all processes see, and a server that has these jobs in the place of its own.
Must never change what a job does that lives.

Run as a command it is ``clew``; ``serve`` then has these jobs.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final
from unittest.mock import patch

FOLDER: Final = "ENGINE_DEATHS"
"""The variable that names the folder of the orders."""
IN_REPLY: Final = 2.0
"""Where a job is done, and half of its reply is under way."""


def _real(job: str) -> Callable[..., bytes | bytearray]:
    from server.engine import changes, compaction, projections

    jobs: dict[str, Callable[..., bytes | bytearray]] = {
        "project": projections.project,
        "export": projections.export,
        "profile": projections.profile,
        "changes": changes.changes,
        "parse": compaction.parse_frame,
        "compact": compaction.compact,
    }
    return jobs[job]


def project(*arguments: Any) -> bytes | bytearray:
    return _live("project", arguments)


def export(*arguments: Any) -> bytes | bytearray:
    return _live("export", arguments)


def profile(*arguments: Any) -> bytes | bytearray:
    return _live("profile", arguments)


def changes(*arguments: Any) -> bytes | bytearray:
    return _live("changes", arguments)


def parse(*arguments: Any) -> bytes | bytearray:
    return _live("parse", arguments)


def compact(*arguments: Any) -> bytes | bytearray:
    return _live("compact", arguments)


LANES: Final = {"read": ("project", "export", "profile", "changes"), "parse": ("parse",), "compact": ("compact",)}


def _live(job: str, arguments: tuple[Any, ...]) -> bytes | bytearray:
    """Do the job, or die of it."""
    at = _ordered(job, arguments)
    real = _real(job)
    if at is None:
        return real(*arguments)
    if at >= IN_REPLY:
        _die_in_reply()
        return real(*arguments)
    _die_after(round(at * _count_calls(real, arguments)))
    real(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def _ordered(job: str, arguments: tuple[Any, ...]) -> float | None:
    """Where to die, if an order stands that this job is the subject of; it is then used up by one."""
    for path in Path(os.environ[FOLDER]).glob(f"{job}-*.json"):
        mark = bytes.fromhex(path.stem.partition("-")[2])
        if any(mark in whole for argument in arguments for whole in _bytes(argument)):
            order = json.loads(path.read_text())
            died = len(list(path.parent.glob(f"{path.stem}.died.*")))
            if died < order["times"]:
                (path.parent / f"{path.stem}.died.{died}").touch()
                return float(order["at"])
    return None


def _bytes(argument: Any) -> Iterator[bytes]:
    if isinstance(argument, bytes):
        yield argument
    elif isinstance(argument, list | tuple):
        yield from (one for one in argument if isinstance(one, bytes))


def _count_calls(real: Callable[..., bytes | bytearray], arguments: tuple[Any, ...]) -> int:
    calls = 0

    def count(frame: FrameType, event: str, what: Any) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        real(*arguments)
    finally:
        sys.setprofile(None)
    return calls


def _die_after(calls: int) -> None:
    """SIGKILL to this process at the so-manieth call or return from here on."""
    left = calls

    def count(frame: FrameType, event: str, what: Any) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)


def _die_in_reply() -> None:
    from server.engine import worker

    def die(pipe: Any, status: int, data: bytes) -> None:
        pipe.sendall(worker.REPLY.pack(status, 0, len(data)) + data[: len(data) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    worker._reply = die


class Deaths:
    """Orders to the workers of a server that was started within ``mortal``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def order(self, job: str, mark: bytes, at: float, times: int) -> None:
        """Let the job's next so many attempts on bytes with that mark die, at that share of its calls."""
        path = self._folder / f"{job}-{mark.hex()}.json"
        self.lift(job, mark)
        path.with_suffix(".part").write_text(json.dumps({"at": at, "times": times}))
        path.with_suffix(".part").rename(path)

    def died(self, job: str, mark: bytes) -> int:
        """How many attempts have died since it was ordered."""
        return len(list(self._folder.glob(f"{job}-{mark.hex()}.died.*")))

    def lift(self, job: str, mark: bytes) -> None:
        """Let the job live."""
        for path in self._folder.glob(f"{job}-{mark.hex()}.*"):
            path.unlink()


@contextmanager
def mortal(folder: Path) -> Iterator[Deaths]:
    """Servers that are started in the block have jobs that die when they are told to."""
    from kit import running_server

    folder.mkdir(parents=True, exist_ok=True)
    with (
        patch.dict(os.environ, {FOLDER: str(folder)}),
        patch.object(running_server, "CLEW", (sys.executable, str(Path(__file__)))),
    ):
        yield Deaths(folder)


def main() -> None:
    """``clew`` with these jobs."""
    root = Path(__file__).resolve().parents[2]
    sys.path[:1] = [str(root), str(root / "tests")]
    from server.cli.main import main
    from server.engine import pool

    for lane, names in LANES.items():
        pool.JOBS[lane].update({name: f"kit.engine_deaths:{name}" for name in names})  # type: ignore[index]
    sys.exit(main())


if __name__ == "__main__":
    main()
