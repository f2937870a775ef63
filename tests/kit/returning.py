"""A device that comes back: it edits whatever its socket does, and joins again for as long as it is told to.

Owns one replica and what the server confirmed of it. Must never be cleverer than a stock client: it keeps its
document, sends what the server lacks when it is asked, and tries again.
"""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import Callable
from contextlib import suppress
from socket import SO_LINGER, SOL_SOCKET
from typing import Any

from kit.wire import Closed, Peer, join
from pycrdt import Doc, Map
from websockets.exceptions import WebSocketException

GONE = (Closed, OSError, WebSocketException, TimeoutError)
AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER by which ``close`` sends a reset and forgets what was not sent."""


class Device:
    """``keys`` is what it wrote, ``confirmed`` what a barrier covered, ``joins`` how often it was let in.

    ``silence`` is how many seconds without any answer it bears before it lets a socket go; ``pace`` how many pass
    between two edits.
    """

    def __init__(self, name: str, *, silence: float = 20.0, pace: float = 0.01) -> None:
        self.name = name
        self.doc = Doc[Any]()
        self.marks: Map[Any] = self.doc.get("marks", type=Map)
        self.keys: set[str] = set()
        self.confirmed: set[str] = set()
        self.joins = 0
        self._silence = silence
        self._pace = pace
        self._working = True
        self._peer: Peer | None = None

    async def live(self, port: int, task: str, token: str) -> None:
        """Edit and be let in, over and over, until ``rest``."""
        while self._working:
            with suppress(*GONE):
                async with asyncio.timeout(self._silence) as knocking, join(port, task, token, self.doc) as peer:
                    knocking.reschedule(None)
                    self._peer, self.joins = peer, self.joins + 1
                    await self._work(peer)
            self._peer = None
            self.edit()  # offline
            await asyncio.sleep(random.uniform(0.02, 0.1))

    async def _work(self, peer: Peer) -> None:
        async with asyncio.timeout(None) as patience:
            while self._working:
                self.edit()
                sent = set(self.keys)
                patience.reschedule(asyncio.get_running_loop().time() + self._silence)
                await peer.push()
                await peer.barrier()
                self.confirmed |= sent
                await asyncio.sleep(self._pace)

    def edit(self) -> None:
        """One more key."""
        key = f"{self.name}-{len(self.keys)}"
        self.marks[key] = "x" * random.choice([1, 1, 30, 3_000])
        self.keys.add(key)

    def reset(self) -> bool:
        """End its socket by a TCP reset, whatever is under way; False if it has none at the moment."""
        peer, self._peer = self._peer, None
        if peer is None:
            return False
        raw = peer.socket.transport.get_extra_info("socket")
        with suppress(OSError):  # it is gone already
            raw.setsockopt(SOL_SOCKET, SO_LINGER, AT_ONCE)
        peer.socket.transport.abort()
        return True

    def rest(self) -> None:
        """Edit no more, and come back no more."""
        self._working = False


async def until(holds: Callable[[], object], within: float) -> None:
    """Wait until something is so, asked in a thread, for it may block."""
    async with asyncio.timeout(within):
        while True:
            if await asyncio.to_thread(holds):
                return
            await asyncio.sleep(0.1)


async def agree(devices: list[Device], port: int, task: str, token: str) -> set[str]:
    """Let every device in once more, and hold them to it: all have all that any of them wrote. The keys."""
    written = set().union(*(device.keys for device in devices))
    for device in devices:
        async with join(port, task, token, device.doc) as peer:
            await peer.barrier()
    for device in devices:
        async with join(port, task, token, device.doc) as peer:
            await peer.until(lambda: set(device.marks.keys()) == written)  # noqa: B023
    return written
