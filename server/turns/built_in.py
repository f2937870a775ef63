"""The built-in agent's process: started with the server, started again when it ends, ended with the server.

Owns the process and the secret that it gets, by its standard input and in no other way; that input stays open for as
long as the server lives, so that an agent never outlives a server that was killed. Must never know what the agent does.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Literal, Self

from crdt_docs.ids import TokenId
from server.domain.agent import Agent
from server.domain.clock import Clock
from server.domain.errors import ClewError
from server.doors.built_in import BuiltIn

COMMAND: Final = (sys.executable, "-P", "-m", "agent")
"""``-P``: a folder called ``agent`` where the server was started is not the agent, and gets no bearer."""
FIRST_DELAY: Final = 0.5
LONGEST_DELAY: Final = 60.0
HEALTHY: Final = 60.0
"""Seconds after which a process that ends counts as one that had worked."""
ENDS_WITHIN: Final = 3.0
LONGEST_LINE: Final = 400

State = Literal["off", "starting", "running", "waiting"]
Say = Callable[[str], None]


def on_stderr(line: str) -> None:
    """Tell the operator."""
    print(line, file=sys.stderr, flush=True)


class BuiltInAgent:
    """Keeps the process running from ``start`` to the end of the block.

    ``register`` gives its registration, ``gone`` is told of each host that has ended. ``state``, ``restarts`` and
    ``trouble`` (how the last process ended) tell of it.
    """

    def __init__(
        self,
        register: Callable[[], Awaitable[Agent]],
        door: BuiltIn,
        gone: Callable[[TokenId], Awaitable[None]],
        clock: Clock,
        *,
        command: tuple[str, ...] = COMMAND,
        say: Say = on_stderr,
    ) -> None:
        self.state: State = "off"
        self.restarts = 0
        self.trouble: str | None = None
        self.pid: int | None = None
        self._register = register
        self._door = door
        self._gone = gone
        self._clock = clock
        self._command = command
        self._say = say
        self._last = ""
        self._group = asyncio.TaskGroup()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
        await self._group.__aexit__(kind, error, trace)

    def start(self, url: str) -> None:
        """Begin, now that the server listens there."""
        self._task = self._group.create_task(self._keep(url), name="the built-in agent")

    async def _keep(self, url: str) -> None:
        delay = FIRST_DELAY
        try:
            while True:
                began = self._clock.monotonic()
                try:
                    ended = await self._run(url)
                except ClewError as error:  # the store is out of order for a while
                    ended = error.why
                if self._clock.monotonic() - began > HEALTHY:
                    delay = FIRST_DELAY
                self.state, self.restarts = "waiting", self.restarts + 1
                if ended != self.trouble:
                    self._say(f"clew: the built-in agent ended ({ended}); it is started again, at longer intervals")
                self.trouble = ended
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_DELAY)
        finally:
            self.state = "off"
            self._door.dismiss()

    async def _run(self, url: str) -> str:
        """One process from start to end; how it ended, in a few words."""
        host, secret = self._door.admit(await self._register())
        self.state = "starting"
        arguments = (*self._command, "--server", url, "--token-file", "-", "--until-eof")
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=pipe,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=pipe,
                env=_environment(),
                start_new_session=True,  # so that Ctrl+C is ours, and ends it in its turn
            )
        except OSError as error:
            return f"it can't be started: {error.strerror}"
        try:
            self.pid, self.state = process.pid, "running"
            if process.stdin is not None:
                process.stdin.write(f"{secret}\n".encode())
            await self._forward(process)
            code = await process.wait()
            return f"exit code {code}"
        finally:
            self.pid = None
            await _end(process)
            await self._gone(host)

    async def _forward(self, process: asyncio.subprocess.Process) -> None:
        """Pass on to the operator what it says, line by line; what it said before it ended the last time, once."""
        before, self._last = self._last, ""
        while process.stderr is not None and (line := await _line(process.stderr)):
            self._last = line.strip()[:LONGEST_LINE] or self._last
            if self._last != before:
                self._say(line.rstrip()[:LONGEST_LINE])


async def _line(stream: asyncio.StreamReader) -> str:
    try:
        return (await stream.readline()).decode(errors="replace")
    except ValueError:  # longer than the buffer, of which the beginning was dropped
        return "…\n"


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let it go: first the end of its input, then SIGTERM, then SIGKILL."""
    if process.stdin is not None:
        process.stdin.close()
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(ENDS_WITHIN):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _environment() -> dict[str, str]:
    """The server's own, without a bearer that was meant for somebody else."""
    return {name: value for name, value in os.environ.items() if name != "CLEW_TOKEN"}
