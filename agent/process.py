"""One worker process, from the host's side.

Owns starting, speaking to and ending it. Must never import the engine, pass a credential in an argument or the
environment, or leave a process behind: each is born with a lifeline, and ends when the host does, however that ends.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio

from agent.errors import WorkerLost
from agent.pipe import MAX_LINE, Alive, Ready, ToHost, ToWorker, read_for_host, write_line
from crdt_docs.errors import Malformed

STARTS_WITHIN: Final = 60.0
HANGS_AFTER: Final = 10.0
"""Seconds without a sign of life after which a worker is lost; it gives one each second."""
BOOT: Final = "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); from agent.worker import main; main()"
"""The program that it runs."""

log = logging.getLogger("clew.agent")


class Worker:
    """One process, from the host's side. Made by ``start``; after ``end`` it is gone and waited for."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        lifeline: int,
        patience: float,
    ) -> None:
        self.pid = child.pid
        self._child = child
        self._reader = reader
        self._writer = writer
        self._lifeline = lifeline
        self._patience = patience
        self._killed = False

    @classmethod
    async def start(cls, server: str, model: str | None, *, boot: str = BOOT, patience: float = HANGS_AFTER) -> Worker:
        """Start a fresh interpreter and await that it is loaded. Raises WorkerLost."""
        made = await cls._open(server, model, boot, patience)
        try:
            first = await made.hear(STARTS_WITHIN)
        except BaseException as error:
            code = await made.end()
            if isinstance(error, WorkerLost):
                raise WorkerLost(f"a worker ended at its start ({code})") from None
            raise
        if isinstance(first, Ready) and first.why:
            log.warning("%s The clerk answers instead.", first.why)
        return made

    @classmethod
    async def _open(cls, server: str, model: str | None, boot: str, patience: float) -> Worker:
        ours, theirs = socket.socketpair()
        watched, lifeline = os.pipe()
        with anyio.CancelScope(shield=True):  # it takes no time, and nothing may be left half open
            try:
                child = await anyio.to_thread.run_sync(_spawn, theirs, watched, server, model, boot)
            except OSError as error:
                ours.close()
                os.close(lifeline)
                raise WorkerLost(f"no process can be had: {error.strerror}") from None
            ours.setblocking(False)
            reader, writer = await asyncio.open_connection(sock=ours, limit=MAX_LINE)
        return cls(child, reader, writer, lifeline, patience)

    def tell(self, word: ToWorker) -> None:
        """Say something; to one that is gone it says nothing, which ``hear`` finds out."""
        if not self._writer.is_closing():
            self._writer.write(write_line(word))

    async def hear(self, within: float | None = None) -> ToHost:
        """The next thing it says, signs of life apart. Raises WorkerLost if it ended, went silent or babbles."""
        while True:
            try:
                with anyio.fail_after(within or self._patience):
                    line = await self._reader.readline()
                if not line:
                    raise WorkerLost("a worker ended")
                word = read_for_host(line)
            except TimeoutError:
                raise WorkerLost("a worker went silent") from None
            except (OSError, ValueError, Malformed) as error:
                raise WorkerLost(f"a worker can't be understood ({type(error).__name__})") from None
            if not isinstance(word, Alive):
                return word

    @property
    def ended(self) -> bool:
        """Whether the process is gone, or was told to be."""
        return self._killed or self._reader.at_eof() or self._child.poll() is not None

    def kill(self) -> None:
        """End it now; ``end`` is still to be called."""
        self._killed = True
        self._child.kill()

    async def end(self) -> int:
        """Kill it if it still runs, and wait for it, whatever is cancelled. Its exit status, negative for a signal."""
        self.kill()
        self._writer.close()
        os.close(self._lifeline)
        with anyio.CancelScope(shield=True):
            code = await anyio.to_thread.run_sync(self._child.wait)
        return code


def _spawn(theirs: socket.socket, watched: int, server: str, model: str | None, boot: str) -> subprocess.Popen[bytes]:
    root = str(Path(__file__).resolve().parents[1])
    path = [root, *(entry for entry in sys.path if entry not in ("", root))]
    arguments: Sequence[str] = (json.dumps([theirs.fileno(), watched, server, model]), json.dumps(path))
    environment = {name: value for name, value in os.environ.items() if name != "CLEW_TOKEN"}
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-c", boot, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), watched),
            start_new_session=True,
            cwd="/",
            env=environment,
        )
    finally:
        theirs.close()
        os.close(watched)
