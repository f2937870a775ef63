"""A server under measurement.

Owns its process, on a free port of 127.0.0.1 and over a folder of its own, and ends it and all its children by their
ids. Must never reach into the server: what is known of it is what the system and its wire say.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.processes import ProcessTree

PATIENCE = 120.0
Y_WEBSOCKET, HOCUSPOCUS = 0, 1


class DidNotStart(Exception):
    """Carries what it wrote."""


class Server(ABC):
    """``with`` starts and stops it. ``path`` and ``protocols`` are what a client asks with, ``wire`` how it talks."""

    wire = Y_WEBSOCKET
    path = "/"
    protocols = ""
    at_once = 64
    """How many clients may come in at the same time where the scenario is not about that."""
    patience = 60.0
    """Seconds after which it is let off where something is measured up to a size that it may not come to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """What to start, in ``directory``, with ``environment``."""

    def environment(self) -> dict[str, str]:
        """Beside this process's own."""
        return {}

    def directory(self) -> Path:
        """Where it runs."""
        return self.folder

    def is_ready(self) -> bool:
        """Whether it takes connections."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def admit(self) -> None:
        """Called once it is ready for the first time: get what a client must show."""
        return

    def names(self, count: int) -> list[str]:
        """So many documents, the same ones each time."""
        return [f"document-{at}" for at in range(count)]

    @property
    def tree(self) -> ProcessTree:
        """The process and its children."""
        assert self.process is not None, "not running"
        return ProcessTree(self.process.pid)

    @property
    def log(self) -> Path:
        """What it wrote, over all its lives."""
        return self.folder / "server.log"

    def start(self) -> None:
        """Start, and wait until it is ready. Raises DidNotStart."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), cwd=self.directory(), env={**kept, **self.environment()},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.end(signal.SIGKILL)
                raise DidNotStart(self.log.read_text(errors="replace")[-2000:])
            time.sleep(0.02)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it, gently or not, and whatever it had started; gently becomes not after a few seconds."""
        if self.process is None:
            return
        process, self.process = self.process, None
        pids = ProcessTree(process.pid).pids()
        process.send_signal(how)
        try:
            process.wait(8)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pid in pids[1:]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def restart(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it and start it again over the same folder."""
        self.end(how)
        self.start()

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start()
        self.admit()
        self.tree.wait_until_quiet()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()


def free_port() -> int:
    """A port on 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
