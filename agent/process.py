"""One worker process, and the nursery that it is born from, from the host's side.

Owns starting, speaking to and ending them. Must never import the engine, pass a credential in an argument or the
environment, or leave a process behind: each worker has a lifeline, which ends it when it is closed, by us or by our
end.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

import anyio

from agent.errors import WorkerLost
from agent.pipe import MAX_LINE, Alive, Ready, ToHost, ToWorker, read_for_host, write_line
from crdt_docs.errors import Malformed

STARTS_WITHIN: Final = 60.0
HANGS_AFTER: Final = 20.0
"""Seconds without a sign of life after which a worker is lost; it gives one each second."""
BUSY: Final = 0.05
"""The part of that time which a worker must have computed to count as working; other processes may take most of it."""
WORKS_FOR: Final = 3
"""How many times as long a worker that computes may be silent."""
ENDS_WITHIN: Final = 5.0
BOOT: Final = "from agent.nursery import main; from agent.worker import load, run; main(run, load)"
"""The nursery's program."""
_PATH: Final = "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); "

log = logging.getLogger("clew.agent")


class Worker:
    """One process. Made by ``Nursery.bear``, ended by ``end``."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lifeline: int, patience: float
    ) -> None:
        self.pid = 0
        self.ended = False
        """Whether it was killed, or is known to have ended."""
        self._reader = reader
        self._writer = writer
        self._lifeline = lifeline
        self._patience = patience

    def tell(self, word: ToWorker) -> None:
        """Say something; to one that is gone it says nothing, which ``hear`` finds out."""
        if not self._writer.is_closing():
            self._writer.write(write_line(word))

    async def hear(self, within: float | None = None) -> ToHost:
        """The next thing it says, signs of life apart. Raises WorkerLost if it ended, went silent or babbles."""
        while True:
            try:
                line = await self._line(within or self._patience)
                if not line:
                    raise WorkerLost("a worker ended")
                word = read_for_host(line)
            except TimeoutError:
                raise WorkerLost("a worker went silent") from None
            except (OSError, ValueError, Malformed) as error:
                raise WorkerLost(f"a worker can't be understood ({type(error).__name__})") from None
            if not isinstance(word, Alive):
                return word

    async def _line(self, patience: float) -> bytes:
        """Its next line. Raises TimeoutError if it hangs, or computes for too long without a word."""
        for _ in range(WORKS_FOR):
            computed = self._computed()
            with anyio.move_on_after(patience):
                return await self._reader.readline()
            if self._computed() - computed < BUSY * patience:
                break
        raise TimeoutError

    def _computed(self) -> float:
        """Seconds of processor time that it has used, where the system tells."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """End it now, whatever it is at; ``end`` is still to be called."""
        if not self.ended:
            self.ended = True
            os.close(self._lifeline)

    async def end(self) -> None:
        """Kill it if it still runs, and wait until it can do nothing any more, whatever is cancelled."""
        self.kill()
        with anyio.move_on_after(ENDS_WITHIN, shield=True):
            try:
                while await self._reader.read(MAX_LINE):
                    pass
            except OSError:
                pass
        self._writer.close()


class Nursery:
    """The process that workers are forked from, started when it is needed and again if it has ended."""

    def __init__(self, server: str, model: str | None, boot: str = BOOT, patience: float = HANGS_AFTER) -> None:
        self._server = server
        self._model = model
        self._boot = boot
        self._patience = patience
        self._child: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._lock = anyio.Lock()
        self._told: str | None = None

    async def warm(self) -> None:
        """Have it loaded. Raises WorkerLost."""
        async with self._lock:
            await self._ready()

    async def bear(self) -> Worker:
        """A new worker, loaded. Raises WorkerLost."""
        async with self._lock:
            control = await self._ready()
            worker = await self._fork(control)
        try:
            first = await worker.hear(STARTS_WITHIN)
        except BaseException:
            await worker.end()
            raise
        if isinstance(first, Ready):
            worker.pid = first.pid
            if first.why is not None and first.why != self._told:
                self._told = first.why
                log.warning("%s The clerk answers instead.", first.why)
        return worker

    async def close(self) -> None:
        """End it; its workers are ended by whoever has them."""
        if self._control is not None:
            self._control.close()
        if self._child is not None:
            self._child.kill()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._child.wait)
        self._child = self._control = None

    async def _fork(self, control: socket.socket) -> Worker:
        ours, theirs = socket.socketpair()
        watched, lifeline = os.pipe()
        try:
            socket.send_fds(control, [b"+"], [theirs.fileno(), watched])
        except OSError as error:
            ours.close()
            os.close(lifeline)
            await self.close()
            raise WorkerLost(f"no worker can be had ({type(error).__name__})") from None
        finally:
            theirs.close()
            os.close(watched)
        ours.setblocking(False)
        with anyio.CancelScope(shield=True):  # it takes no time, and nothing may be left half open
            reader, writer = await asyncio.open_connection(sock=ours, limit=MAX_LINE)
        return Worker(reader, writer, lifeline, self._patience)

    async def _ready(self) -> socket.socket:
        """Its control socket, once it is loaded."""
        if self._control is not None and self._child is not None and self._child.poll() is None:
            return self._control
        await self.close()
        ours, theirs = socket.socketpair()
        self._control = ours
        try:
            with anyio.CancelScope(shield=True):
                self._child = await anyio.to_thread.run_sync(self._spawn, theirs)
            ours.setblocking(False)
            with anyio.fail_after(STARTS_WITHIN):
                await anyio.wait_readable(ours)
            if not ours.recv(1):
                raise WorkerLost("workers can't be loaded")
        except BaseException as error:
            await self.close()
            if isinstance(error, OSError | TimeoutError):
                raise WorkerLost(f"workers can't be loaded ({type(error).__name__})") from None
            raise
        return ours

    def _spawn(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        root = str(Path(__file__).resolve().parents[1])
        path = [root, *(entry for entry in sys.path if entry not in ("", root))]
        arguments = (json.dumps([theirs.fileno(), self._server, self._model]), json.dumps(path))
        with theirs:
            return subprocess.Popen(
                [sys.executable, "-I", "-c", _PATH + self._boot, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                cwd="/",
                env={name: value for name, value in os.environ.items() if name != "CLEW_TOKEN"},
            )
