"""A server on a machine whose wall clock is wrong by what a file says, from one moment to the next.

Owns the file and every read of the wall clock in the server's process. Must never touch the machine's own clock.

Run as a command it is ``clew``, with the clock of the file that CLOCK_FILE names.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from unittest.mock import patch

FILE: Final = "CLOCK_FILE"


@contextmanager
def stepped(file: Path) -> Iterator[Callable[[float], None]]:
    """Servers that are started in the block have that clock. Yields what sets it so many seconds off."""
    from kit import running_server

    def step(seconds: float) -> None:
        part = file.with_suffix(".part")
        part.write_text(str(seconds))
        part.rename(file)

    step(0)
    with (
        patch.dict(os.environ, {FILE: str(file)}),
        patch.object(running_server, "CLEW", (sys.executable, str(Path(__file__)))),
    ):
        yield step


def main() -> None:
    """``clew`` with this clock: set before anything that reads it is imported."""
    file, real = Path(os.environ[FILE]), time.time
    time.time = lambda: real() + float(file.read_text())
    sys.path[:1] = [str(Path(__file__).resolve().parents[2])]
    from server.cli.main import main

    sys.exit(main())


if __name__ == "__main__":
    main()
