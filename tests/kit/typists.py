"""Many plain clients at next to no cost: who types a letter now and then, and who joins and counts what comes.

Owns the sockets and the few bytes of WebSocket that they need. Must never apply an update: on two cores the clients
must not be what is measured. What they were sent is checked by real replicas beside them.
"""

from __future__ import annotations

import asyncio
import base64
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from kit.raw_updates import section, string, update

from crdt_docs.messages.vocabulary import SyncStep1, Update
from crdt_docs.messages.ywebsocket import EMPTY_STEP2, encode
from crdt_docs.updates.vectors import encode_state_vector

UPDATE: Final = b"\x00\x02"
STEP2: Final = b"\x00\x01"
BINARY: Final = 2
CLOSE: Final = 8
PING: Final = 9
STRANGER: Final = 40
"""Bytes of a message from which it must be another's."""


class PlainClient(asyncio.Protocol):
    """One socket, which sends a SyncStep1 at once. ``synced`` is done with the size of the Step2 that answers it."""

    def __init__(self, port: int, task: str, token: str, have: dict[int, int] | None = None) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        self._hello = (
            f"GET /sync/{task} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\n"
            f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
            f"Sec-WebSocket-Protocol: clew.v1, token.{token}\r\n\r\n"
        ).encode()
        self._port = port
        self._have = have or {}
        self.lost = False
        self._open = False
        self._rest = b""
        self._left = 0  # bytes of the payload under way, which nobody looks at
        self._final = False
        self._head = b""
        self._size = 0
        self._whole = b""
        self.synced: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport | None = None

    async def connect(self) -> None:
        """Come in. Raises ConnectionError."""
        loop = asyncio.get_running_loop()
        self.transport, _ = await loop.create_connection(lambda: self, "127.0.0.1", self._port)
        self.transport.write(self._hello)

    def send(self, payload: bytes) -> None:
        """One masked binary frame; the mask is all zeroes."""
        assert self.transport is not None
        size = len(payload)
        head = bytes((0x82, 0x80 | size)) if size < 126 else b"\x82\xfe" + size.to_bytes(2, "big")
        self.transport.write(head + b"\0\0\0\0" + payload)

    def close(self) -> None:
        """Cut it."""
        if self.transport is not None:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        if not self.synced.done():
            self.synced.set_exception(ConnectionError("closed before it was synced"))
            self.synced.exception()

    def data_received(self, data: bytes) -> None:
        if not self._open:
            self._rest += data
            head, end, data = self._rest.partition(b"\r\n\r\n")
            if not end:
                return
            if b" 101 " not in head.partition(b"\r\n")[0]:
                self.close()
                return
            self._open, self._rest = True, b""
            self.send(encode(SyncStep1(encode_state_vector(self._have))))
        self._scan(self._rest + data)

    def _scan(self, data: bytes) -> None:
        at = 0
        while True:
            if self._left:
                took = min(self._left, len(data) - at)
                if len(self._whole) < STRANGER:
                    self._whole += data[at : at + min(took, STRANGER)]
                at += took
                self._left -= took
                if self._left:
                    break
                if self._final:
                    self._end()
            head = data[at : at + 10]
            long = {126: 2, 127: 8}.get(head[1], 0) if len(head) > 1 else 9
            if len(head) < 2 + long:
                self._rest = data[at:]
                return
            size = int.from_bytes(head[2 : 2 + long], "big") if long else head[1]
            opcode = head[0] & 15
            if opcode >= CLOSE:
                if len(data) < at + 2 + size:
                    self._rest = data[at:]
                    return
                if opcode == PING and self.transport is not None:
                    self.transport.write(bytes((0x8A, 0x80 | size)) + b"\0\0\0\0" + data[at + 2 : at + 2 + size])
                at += 2 + size
                continue
            at += 2 + long
            self._final = head[0] >= 128
            self._left = size
            self._size = size + (0 if opcode == BINARY else self._size)
            self._whole = b"" if opcode == BINARY else self._whole
            if not size and self._final:
                self._end()
        self._rest = b""

    def _end(self) -> None:
        kind = self._whole[:2]
        if kind == STEP2 and not self.synced.done():
            self.synced.set_result(self._size)
        elif kind == b"\x00\x00":
            self.send(EMPTY_STEP2)
        elif kind == UPDATE and self._size < STRANGER:
            self.heard(self._whole)

    def heard(self, message: bytes) -> None:
        """A short update came."""


class Typist(PlainClient):
    """Types one letter at a time, behind the last; ``seen`` counts those that came back, ``late`` how long it took."""

    def __init__(self, port: int, task: str, token: str, random: Random) -> None:
        super().__init__(port, task, token)
        self._client = random.randrange(2**31, 2**32)
        self._clock = 0
        self._under_way: deque[tuple[bytes, float]] = deque()
        self.sent = self.seen = 0
        self.late: list[float] = []

    def type(self) -> None:
        """Send one letter."""
        place = {"origin": (self._client, self._clock - 1)} if self._clock else {"parent": "free"}
        frame = encode(Update(update(section(self._client, self._clock, string("x", **place)))))
        self._clock += 1
        self.sent += 1
        self._under_way.append((frame, time.monotonic()))
        self.send(frame)

    def heard(self, message: bytes) -> None:
        if self._under_way and message == self._under_way[0][0]:
            self.late.append(time.monotonic() - self._under_way.popleft()[1])
            self.seen += 1


async def come(clients: Sequence[PlainClient], at_once: int = 20) -> None:
    """Let them in, so many at a time, and wait until all are synced."""
    gate = asyncio.Semaphore(at_once)

    async def one(client: PlainClient) -> None:
        async with gate:
            await client.connect()
            await client.synced

    async with asyncio.TaskGroup() as group:
        for client in clients:
            group.create_task(one(client))


async def type_on(typists: Sequence[Typist], rate: float, going: Callable[[], bool]) -> None:
    """Let them type in turn, ``rate`` letters a second in all, while it goes on; wait until all have come back."""
    began, done, at = time.monotonic(), 0, 0
    while going():
        due = int((time.monotonic() - began) * rate)
        if due - done > rate:  # we were away ourselves: what was not typed is not made up for
            done = due - int(rate)
        assert not any(typist.lost for typist in typists), "a typist's socket was closed"
        while done < due:
            typists[at % len(typists)].type()
            at, done = at + 1, done + 1
        await asyncio.sleep(0.01)
    async with asyncio.timeout(60):
        while any(typist.seen < typist.sent for typist in typists):
            assert not any(typist.lost for typist in typists), "a typist's socket was closed"
            await asyncio.sleep(0.05)
