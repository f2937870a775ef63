"""A y-websocket peer by hand, and the HTTP API by hand, for tests of a running server.

Owns one socket and, if it is given one, a pycrdt replica. Must never be cleverer than a stock client: it applies what
it hears and answers what it is asked.
"""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pycrdt import Doc, TransactionEvent
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from crdt_docs.messages.vocabulary import Awareness, Barrier, Refused, State, SyncStep1, SyncStep2, Update
from crdt_docs.messages.ywebsocket import decode_reply, encode

EMPTY = b"\x00\x00"
PATIENCE = 20.0


class Closed(Exception):
    """The server closed the socket."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


class Peer:
    """One connection to a document.

    What is edited in ``doc`` waits in ``outbox`` until ``push``. With ``hold`` set, updates of others wait in ``inbox``
    until ``take``; without, they are applied as they come.
    """

    def __init__(self, socket: ClientConnection, doc: Doc[Any] | None, hold: bool = False) -> None:
        self.socket = socket
        self.doc = doc
        self.hold = hold
        self.inbox: deque[bytes] = deque()
        self.outbox: list[bytes] = []
        self.heard: list[bytes] = []
        self.refused: list[Refused] = []
        self.present: dict[int, State] = {}
        self.asked = 0
        self.closed_at = 0.0
        self.synced = asyncio.Event()
        self.closed: asyncio.Future[Closed] = asyncio.get_running_loop().create_future()
        self.on_update: Callable[[bytes], None] | None = None
        self._barriers: dict[int, asyncio.Future[None]] = {}
        self._next = 1
        self._applying = False
        self._watch = doc.observe(self._edited) if doc is not None else None

    def _edited(self, event: TransactionEvent) -> None:
        if not self._applying:
            self.outbox.append(event.update)

    async def listen(self) -> None:
        """Hear the server until it closes."""
        try:
            async for frame in self.socket:
                assert isinstance(frame, bytes)
                await self._hear(frame)
        except ConnectionClosed:
            pass
        finally:
            self.closed_at = time.monotonic()
            end = Closed(self.socket.close_code or 1006, self.socket.close_reason or "")
            if not self.closed.done():
                self.closed.set_result(end)
            for barrier in self._barriers.values():
                if not barrier.done():
                    barrier.set_exception(end)
                    barrier.exception()

    async def _hear(self, frame: bytes) -> None:
        match message := decode_reply(frame):
            case SyncStep1(vector):
                self.asked += 1
                answer = self.doc.get_update(vector) if self.doc is not None else EMPTY
                await self.send(encode(SyncStep2(answer)))
            case SyncStep2(update):
                self.apply(update)
                self.synced.set()
            case Update(update):
                if self.on_update is not None:
                    self.on_update(update)
                if self.hold:
                    self.inbox.append(update)
                else:
                    self.apply(update)
            case Awareness(states):
                for state in states:
                    self.present[state.client] = state
            case Barrier(number):
                waiting = self._barriers.pop(number, None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(None)
            case Refused():
                self.refused.append(message)

    def apply(self, update: bytes) -> None:
        """Take in an update without sending it back."""
        if self.doc is None:
            self.heard.append(update)
            return
        self._applying = True
        try:
            self.doc.apply_update(update)
        finally:
            self._applying = False

    def take(self, number: int | None = None) -> None:
        """Apply that many held updates, all if not said."""
        for _ in range(len(self.inbox) if number is None else number):
            self.apply(self.inbox.popleft())

    async def send(self, frame: bytes) -> None:
        """One frame, whatever it is. A socket that is closed swallows it, as a browser's does."""
        try:
            await self.socket.send(frame)
        except ConnectionClosed:
            pass

    async def update(self, update: bytes) -> None:
        """One Update."""
        await self.send(encode(Update(update)))

    async def push(self) -> list[bytes]:
        """Send what was edited since; the updates."""
        outbox, self.outbox = self.outbox, []
        for update in outbox:
            await self.update(update)
        return outbox

    async def barrier(self) -> None:
        """Wait until all that was sent is durable. Raises Closed."""
        number, self._next = self._next, self._next + 1
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._barriers[number] = waiting
        if self.closed.done():
            raise self.closed.result()
        await self.send(encode(Barrier(number)))
        async with asyncio.timeout(PATIENCE):
            await waiting

    async def end(self, within: float = PATIENCE) -> Closed:
        """Wait for the server to close; how it did."""
        async with asyncio.timeout(within):
            return await asyncio.shield(self.closed)

    async def until(self, holds: Callable[[], bool], within: float = PATIENCE) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(within):
            while not holds():
                if self.closed.done() and not holds():
                    raise self.closed.result()
                await asyncio.sleep(0.005)


@asynccontextmanager
async def join(
    port: int,
    task: str,
    token: str,
    doc: Doc[Any] | None = None,
    *,
    hold: bool = False,
    wait: bool = True,
    part: str = "",
) -> AsyncIterator[Peer]:
    """A peer in a task's document (``part="/margin"`` for the other one), synced unless ``wait`` is false."""
    uri = f"ws://127.0.0.1:{port}/sync/{task}{part}"
    protocols = [Subprotocol("clew.v1"), Subprotocol(f"token.{token}")]
    async with connect(
        uri, subprotocols=protocols, compression=None, max_size=None, ping_interval=None, close_timeout=1, proxy=None
    ) as socket:
        peer = Peer(socket, doc, hold)
        listening = asyncio.ensure_future(peer.listen())
        try:
            await peer.send(encode(SyncStep1(doc.get_state() if doc is not None else b"\x00")))
            if wait:
                await peer.until(peer.synced.is_set)
            yield peer
        finally:
            await socket.close()
            await asyncio.wait_for(listening, PATIENCE)


class ApiError(Exception):
    """Not 2xx."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


class Api:
    """The HTTP API with one bearer. Blocking: call it between things, not while a socket must be heard."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.token = token

    def ask(self, method: str, path: str, body: object = None) -> bytes:
        """One request under ``/api/v1``. Raises ApiError."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/v1{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            raise ApiError(error.code, error.read().decode(errors="replace")) from None

    def json(self, method: str, path: str, body: object = None) -> Any:
        """The same, read as JSON."""
        return json.loads(self.ask(method, path, body) or b"null")

    def new_task(self, name: str = "Trial") -> str:
        """A task's id."""
        task: str = self.json("POST", "/tasks", {"name": name})["id"]
        return task

    def add_member(self, task: str, user: str, role: str) -> None:
        """Let another user into a task."""
        self.ask("POST", f"/tasks/{task}/members", {"user": user, "role": role})

    def export(self, task: str) -> bytes:
        """The task's document as one v1 update."""
        return self.ask("GET", f"/tasks/{task}/export?format=yjs")
