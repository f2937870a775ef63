"""The process in which one task's participant lives, and may die.

Owns the process's limits and its side of the pipe. Must never outlive the host: idle, it ends with the pipe; busy,
SIGIO ends it when the other end of its lifeline closes, even while native code holds the interpreter's lock. What
happens to be printed here goes nowhere: a native panic prints what it was about, which may be people's words.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

import anyio

from agent.mind import Mind
from agent.minds import Substitute, open_mind
from agent.peer import Peer
from agent.pipe import MAX_LINE, Alive, Begin, Grant, Queued, Ready, Stop, ToHost, read_for_worker, write_line

BEAT: Final = 1.0
"""Seconds between two signs of life."""

OpenMind = Callable[[str | None], AbstractAsyncContextManager[Mind]]


def main(open_mind: OpenMind = open_mind) -> None:
    """Run with ``sys.argv[1]`` a JSON list: descriptor of the pipe, of the lifeline, server URL, model or null."""
    descriptor, lifeline, server, model = json.loads(sys.argv[1])
    _limit(lifeline)
    pipe = socket.socket(fileno=descriptor)
    anyio.run(_serve, pipe, server, model, open_mind)
    os._exit(0)  # a mind's threads must not keep what has nobody to talk to


def _limit(lifeline: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    try:
        if os.read(lifeline, 1) == b"":
            os._exit(1)  # the host had ended before anybody listened
    except BlockingIOError:
        pass


async def _serve(pipe: socket.socket, server: str, model: str | None, open_mind: OpenMind) -> None:
    pipe.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=pipe, limit=MAX_LINE)

    def tell(word: ToHost) -> None:
        writer.write(write_line(word))

    async with open_mind(model) as mind, anyio.create_task_group() as tasks:
        peer = Peer(server, mind, tell)
        tell(Ready(mind.name, mind.why if isinstance(mind, Substitute) else None))

        async def work() -> None:
            await peer.work()
            tasks.cancel_scope.cancel()

        async def beat() -> None:
            while True:
                await anyio.sleep(BEAT)
                tell(Alive())

        tasks.start_soon(work)
        tasks.start_soon(beat)
        await _listen(reader, peer)
        tasks.cancel_scope.cancel()
    with anyio.move_on_after(BEAT, shield=True):
        await writer.drain()
        writer.close()


async def _listen(reader: asyncio.StreamReader, peer: Peer) -> None:
    """Do what the host says, until it closes."""
    while line := await reader.readline():
        match read_for_worker(line):
            case Begin() as begin:
                peer.begin(begin)
            case Grant(token):
                peer.renew(token)
            case Queued(messages):
                peer.hear(messages)
            case Stop():
                peer.stop()
