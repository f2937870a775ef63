"""The process in which one task's participant lives, and may die.

Owns its side of the pipe. Must never print: a native panic prints what it was about, which may be people's words, and
so what is printed goes nowhere.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Final

import anyio

from agent import minds
from agent.mind import Mind
from agent.minds import Substitute, open_mind
from agent.peer import Peer
from agent.pipe import MAX_LINE, Alive, Begin, Grant, Queued, Ready, Stop, ToHost, read_for_worker, write_line

BEAT: Final = 1.0
"""Seconds between two signs of life."""

OpenMind = Callable[[str | None], AbstractAsyncContextManager[Mind]]


def load(model: str | None) -> None:
    """Import beforehand, in the nursery, what a worker and its mind import when they begin."""
    for name in ("anyio._backends._asyncio", "concurrent.futures.thread", "encodings.idna"):
        import_module(name)
    minds.load(model)


def run(pipe: int, server: str, model: str | None, open_mind: OpenMind = open_mind) -> None:
    """A worker's life, with the descriptor of its pipe."""
    anyio.run(_serve, socket.socket(fileno=pipe), server, model, open_mind)


async def _serve(pipe: socket.socket, server: str, model: str | None, open_mind: OpenMind) -> None:
    pipe.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=pipe, limit=MAX_LINE)

    def tell(word: ToHost) -> None:
        writer.write(write_line(word))

    async with open_mind(model) as mind, anyio.create_task_group() as tasks:
        peer = Peer(server, mind, tell)
        tell(Ready(os.getpid(), mind.why if isinstance(mind, Substitute) else None))

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
