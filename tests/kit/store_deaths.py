"""A server that dies of SIGKILL at an exact step of storing a snapshot, which a test names.

Owns the steps and how it comes to die of one. Must never change what a step does that it lives through.

Run as a command it is ``clew``; ``serve`` then dies at the first snapshot in pieces.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn
from unittest.mock import patch

if TYPE_CHECKING:  # run as a command, it does not know the way to the kit yet
    from kit.running_server import RunningServer

    from server.domain.log import DocKey, Snapshot
    from server.store.log import SqliteLog

STEP: Final = "STORE_DEATH"
"""The variable that names the step."""
FIRST_PIECE: Final = "the first of its pieces is in"
ALL_PIECES: Final = "all of its pieces are in"
STANDS: Final = "it stands"
SOME_DROPPED: Final = "some of what it covers is dropped"
STEPS: Final = (FIRST_PIECE, ALL_PIECES, STANDS, SOME_DROPPED)


@contextmanager
def dying_when(server: RunningServer, step: str) -> Iterator[None]:
    """Let the server, if it is started in the block, die when it has come to that step of storing a long snapshot."""
    with (
        patch.dict(os.environ, {STEP: step}),
        patch.object(server, "program", (sys.executable, str(Path(__file__)))),
    ):
        yield


def _mortal(step: str) -> type[SqliteLog]:
    from server.store import log

    class Mortal(log.SqliteLog):
        stood = False

        def stage(self, doc: DocKey, snapshot: Snapshot) -> list[Callable[[], None]]:
            steps = super().stage(doc, snapshot)
            if steps and step in (FIRST_PIECE, ALL_PIECES):
                steps.insert(1 if step == FIRST_PIECE else len(steps), _die)
            return steps

        def replace(self, doc: DocKey, snapshot: Snapshot) -> bool:
            done = super().replace(doc, snapshot)
            self.stood = self.stood or (done and bool(snapshot.pieces))
            return done if not (self.stood and step == STANDS) else _die()

        def drop_covered(self, doc: DocKey) -> bool:
            more = super().drop_covered(doc)
            return more if not (self.stood and step == SOME_DROPPED) else _die()

    return Mortal


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a process that was killed goes on")


def main() -> None:
    """``clew`` that dies."""
    root = Path(__file__).resolve().parents[2]
    sys.path[:1] = [str(root), str(root / "tests")]
    from server import services
    from server.cli.main import main

    with patch.object(services, "SqliteLog", _mortal(os.environ[STEP])):
        sys.exit(main())


if __name__ == "__main__":
    main()
