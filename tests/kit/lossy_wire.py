"""A wire that loses whole messages, either way, and breaks off now and then; drawn from a seed.

Owns the sockets through it. TCP itself loses nothing in the middle; proxies, wrappers and bugs do, and users report it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from random import Random

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import WebSocketException


class LossyWire:
    """``port`` is where to dial; ``lose`` and ``cut`` are the chances of each message to be lost, or to be the last."""

    def __init__(self, target: int, r: Random, lose: float, cut: float) -> None:
        self.port = 0
        self.lost = 0
        self.cuts = 0
        self._target = target
        self._r = r
        self._lose = lose
        self._cut = cut
        self._open: set[ServerConnection] = set()

    def mend(self) -> None:
        """From now on nothing is lost. What is open breaks off once more, for that is how anybody notices."""
        self._lose = self._cut = 0.0
        for near in self._open:
            near.transport.abort()

    async def carry(self, near: ServerConnection) -> None:
        """One connection, until either end is gone."""
        assert near.request is not None
        url = f"ws://127.0.0.1:{self._target}{near.request.path}"
        self._open.add(near)
        try:
            async with connect(url, compression=None, max_size=None, ping_interval=None, proxy=None) as far:
                ways = [asyncio.ensure_future(self._pass(*way)) for way in ((near, far), (far, near))]
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for end in (near, far):
                    end.transport.abort()
                await asyncio.wait(ways)
        finally:
            self._open.discard(near)

    async def _pass(
        self, source: ServerConnection | ClientConnection, sink: ServerConnection | ClientConnection
    ) -> None:
        with suppress(WebSocketException, OSError):
            async for message in source:
                if self._r.random() < self._cut:
                    self.cuts += 1
                    return
                if self._r.random() < self._lose:
                    self.lost += 1
                else:
                    await sink.send(message)


@asynccontextmanager
async def lossy_wire(target: int, seed: int, lose: float, cut: float) -> AsyncIterator[LossyWire]:
    """A wire to a port of 127.0.0.1, until the block ends."""
    wire = LossyWire(target, Random(seed), lose, cut)
    async with serve(wire.carry, "127.0.0.1", 0, compression=None, max_size=None, ping_interval=None) as server:
        wire.port = next(iter(server.sockets)).getsockname()[1]
        yield wire
