"""A Python peer of a task's document: ``async with connect(url, task=…, token=…) as client: client.doc …``.

Owns the socket, its comings and goings, and the pycrdt document on this side of it. Must never decide about the
conversation (``replica`` does), nor give up while the server may come back: only close codes 4400-4499 end it.

Use it from the event loop's own thread. Edits are made on ``client.doc`` as ever; those made without a connection
are kept and delivered when it is back, and ``await client.barrier()`` returns once everything so far is durable.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import anyio
from anyio.abc import TaskGroup
from pycrdt import Doc, TransactionEvent
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_socket
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from crdt_docs.errors import ConnectionRefused, Malformed
from crdt_docs.ids import Part
from crdt_docs.messages import Refused
from crdt_docs.presence import Presence
from crdt_docs.replica import Confirmed, Event, Reaction, RenewalWanted, Replica, Synced

SUBPROTOCOL: Final = "clew.v1"
FIRST_DELAY: Final = 0.2
LONGEST_DELAY: Final = 15.0
"""Seconds; each wait is drawn from zero up to twice the last bound, so that many clients do not return as one."""
MAX_FRAME: Final = 64 * 1024 * 1024
FAREWELL: Final = 2.0
TICK: Final = 3.0
LOOPBACK: Final = frozenset(("127.0.0.1", "::1", "localhost"))

Credential = str | Callable[[], Awaitable[str]]
"""A bearer, or what fetches one for each attempt."""


class Refusal(Exception):
    """The server did not admit something that was said before the barrier; ``refusals`` tells what and why."""

    def __init__(self, refusals: tuple[Refused, ...]) -> None:
        super().__init__("; ".join(f"{one.code}: {one.why}" for one in refusals))
        self.refusals = refusals


@asynccontextmanager
async def connect(
    url: str,
    *,
    task: str,
    part: Part = "main",
    token: Credential | None = None,
    doc: Doc[Any] | None = None,
    presence: Presence | None = None,
    renew: Callable[[], Awaitable[str]] | None = None,
    wait: float | None = 30.0,
) -> AsyncIterator[Client]:
    """Join a task's document and stay joined until the block ends.

    ``url`` is the server's (http or ws). ``doc`` may be a document of before, with edits that never got through.
    ``renew`` answers the server's wish for a new ticket, where the lease is a ticket's. Enters once the document is
    synced; raises TimeoutError after ``wait`` seconds without that, and with ``wait=None`` enters at once.
    Raises ConnectionRefused if the server says no for good.
    """
    client = Client(socket_url(url, task, part), token, doc if doc is not None else Doc(), renew)
    client.replica.peers.own = presence
    error: Exception | None = None
    with client._observing():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client._stay, tasks)
            try:
                if wait is not None:
                    with anyio.fail_after(wait):
                        await client.until(lambda: client.synced)
                yield client
                await client._farewell()
            except Exception as raised:  # out of the group before it is raised, or it would come as a group
                error = raised
            tasks.cancel_scope.cancel()
    if error is not None:
        raise error


class Client:
    """A document in step with its server. Made by ``connect``."""

    def __init__(
        self, url: str, token: Credential | None, doc: Doc[Any], renew: Callable[[], Awaitable[str]] | None
    ) -> None:
        self.url = url
        self.doc = doc
        self.replica = Replica(_Engine(doc, self._hold), doc.client_id)
        self.refused: ConnectionRefused | None = None
        self.trouble: Exception | None = None
        """What ended the last attempt or connection, None while there is one."""
        self.attempts = 0
        self._token = token
        self._renew = renew
        self._held = False
        self._out: deque[bytes] = deque()
        self._outgoing = anyio.Event()
        self._changed = anyio.Event()
        self._awaited: dict[int, tuple[Refused, ...] | None] = {}
        self._in_flight = False

    @property
    def client_id(self) -> int:
        """The id under which this peer writes and is seen."""
        return self.doc.client_id

    @property
    def connected(self) -> bool:
        """Whether there is a connection now."""
        return self.replica.connected

    @property
    def synced(self) -> bool:
        """Whether the document holds all that the server had at the start of this connection."""
        return self.replica.synced

    @property
    def peers(self) -> dict[int, Presence]:
        """Who else is here, by client id."""
        return self.replica.peers.visible()

    @property
    def working_set(self) -> dict[str, Any]:
        """The document as plain values (see ``crdt_docs.working_set``)."""
        from crdt_docs import working_set  # the reader knows the whole schema; a client of another document needs none

        return working_set.read(self.doc)

    def show(self, presence: Presence | None) -> None:
        """Change what others see of this peer; the server writes ``user`` itself. None is to be seen no more."""
        self._send(self.replica.show(presence, time.monotonic()))

    async def barrier(self) -> None:
        """Return once all that was done on the document so far is durable on the server, however long that takes.

        Raises Refusal if the server did not admit something since the last barrier, ConnectionRefused if it never will.
        """
        number, frames = self.replica.barrier()
        self._awaited[number] = None
        self._send(frames)
        try:
            await self.until(lambda: self._awaited[number] is not None)
            refusals = self._awaited[number]
        finally:
            del self._awaited[number]
        if refusals:
            raise Refusal(refusals)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once the condition holds; it is asked again whenever something arrives or is edited here.

        Raises ConnectionRefused if the server ended it for good and the condition does not hold.
        """
        while not condition():
            if self.refused is not None:
                raise self.refused
            await self._changed.wait()

    # -- the document's side

    @contextmanager
    def _observing(self) -> Iterator[None]:
        def edited(event: TransactionEvent) -> None:
            if not self._held:
                self._send(self.replica.edit(event.update))
            self._wake()

        subscription = self.doc.observe(edited)
        try:
            yield
        finally:
            self.doc.unobserve(subscription)

    def _hold(self, held: bool) -> None:
        """What the document reports while held is not ours to send."""
        self._held = held

    # -- the socket's side

    async def _stay(self, tasks: TaskGroup) -> None:
        """Connect, and connect again, until refused for good."""
        while True:
            try:
                await self._attend(tasks)
            except ConnectionRefused as refused:
                self.refused = self.trouble = refused
                self._wake()
                return
            except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed, Malformed) as error:
                self.trouble = error
            bound = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(self.attempts, 10))
            self.attempts += 1
            await anyio.sleep(random.uniform(0, bound))

    async def _attend(self, tasks: TaskGroup) -> None:
        """One connection, from its handshake to its end; raises what ended it."""
        protocols = [Subprotocol(SUBPROTOCOL)]
        if self._token is not None:
            token = self._token if isinstance(self._token, str) else await self._token()
            protocols.append(Subprotocol(f"token.{token}"))
        local = urlsplit(self.url).hostname in LOOPBACK
        opening = open_socket(
            self.url,
            subprotocols=protocols,
            max_size=MAX_FRAME,
            compression=None,
            close_timeout=FAREWELL,
            proxy=None if local else True,
        )
        try:
            async with opening as socket:
                try:
                    await self._converse(socket, tasks)
                finally:  # also when cancelled: a socket left to the garbage collector would linger
                    with anyio.CancelScope(shield=True):
                        await socket.close()
        except InvalidStatus as status:
            if status.response.status_code in (401, 403, 404):
                raise ConnectionRefused(4000 + status.response.status_code, "refused before the upgrade") from status
            raise
        finally:
            self._react(self.replica.disconnect(), tasks)
            self._out.clear()
            self._wake()

    async def _converse(self, socket: ClientConnection, tasks: TaskGroup) -> None:
        self.trouble = None
        self._out.clear()
        self._send(self.replica.connect())
        async with anyio.create_task_group() as talk:
            talk.start_soon(self._speak, socket)
            talk.start_soon(self._renew_presence, tasks)
            await self._listen(socket, tasks)
            talk.cancel_scope.cancel()
        code, why = socket.close_code or 1006, socket.close_reason or ""
        if 4400 <= code <= 4499:
            raise ConnectionRefused(code, why)
        raise ConnectionResetError(f"closed {code}: {why}")

    async def _listen(self, socket: ClientConnection, tasks: TaskGroup) -> None:
        try:
            async for frame in socket:
                if isinstance(frame, str):
                    raise Malformed("the server sent text")
                self._react(self.replica.receive(frame, time.monotonic()), tasks)
        except ConnectionClosed:
            return
        except Malformed as error:
            self.trouble = error
            await socket.close(1002, "malformed")

    async def _speak(self, socket: ClientConnection) -> None:
        while True:
            self._in_flight = True
            while self._out:
                try:
                    await socket.send(self._out.popleft())
                except ConnectionClosed:
                    return
            self._in_flight = False
            self._wake()
            await self._outgoing.wait()
            self._outgoing = anyio.Event()

    async def _renew_presence(self, tasks: TaskGroup) -> None:
        while True:
            await anyio.sleep(TICK)
            self._react(self.replica.tick(time.monotonic()), tasks)

    async def _farewell(self) -> None:
        """Let what was said reach the socket, and be seen no more."""
        if self.connected:
            self.show(None)
            with anyio.move_on_after(FAREWELL):
                await self.until(lambda: not self.connected or not (self._out or self._in_flight))

    def _react(self, reaction: Reaction, tasks: TaskGroup) -> None:
        self._send(reaction.frames)
        for event in reaction.events:
            self._note(event, tasks)
        self._wake()

    def _note(self, event: Event, tasks: TaskGroup) -> None:
        match event:
            case Synced():
                self.attempts = 0
            case Confirmed(number, refusals) if number in self._awaited:
                self._awaited[number] = refusals
            case RenewalWanted() if self._renew is not None:
                tasks.start_soon(self._bring_ticket, self._renew)

    async def _bring_ticket(self, renew: Callable[[], Awaitable[str]]) -> None:
        self._send(self.replica.renew(await renew()))

    def _send(self, frames: tuple[bytes, ...]) -> None:
        if frames:
            self._out.extend(frames)
            self._outgoing.set()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class _Engine:
    """pycrdt as a replica's document. Its panics are no ``Exception``, and would take down every task around them."""

    def __init__(self, doc: Doc[Any], hold: Callable[[bool], None]) -> None:
        self._doc = doc
        self._hold = hold

    def state_vector(self) -> bytes:
        return self._doc.get_state()

    def diff(self, state_vector: bytes) -> bytes:
        return self._doc.get_update(state_vector)

    def apply(self, update: bytes) -> None:
        self._hold(True)
        try:
            self._doc.apply_update(update)
        except ValueError as error:
            raise Malformed(f"the engine refuses an update: {error}") from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            raise Malformed("the engine panicked") from error
        finally:
            self._hold(False)


class Channel:
    """A socket as pycrdt's ``Channel`` protocol, so that a stock ``pycrdt.Provider`` can join a task."""

    def __init__(self, socket: ClientConnection, path: str) -> None:
        self._socket = socket
        self._path = path

    @property
    def path(self) -> str:
        """The path part of the address."""
        return self._path

    def __aiter__(self) -> Channel:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await self.recv()
        except ConnectionClosed:
            raise StopAsyncIteration from None

    async def send(self, message: bytes) -> None:
        """Send one frame; one that the other side is too late for is dropped, as its next handshake repairs it."""
        try:
            await self._socket.send(message)
        except ConnectionClosed:
            return

    async def recv(self) -> bytes:
        """The next frame. Raises websockets' ConnectionClosed."""
        frame = await self._socket.recv(decode=False)
        return bytes(frame)


@asynccontextmanager
async def open_channel(url: str, *, task: str, token: str, part: Part = "main") -> AsyncIterator[Channel]:
    """One connection for somebody else's provider: no reconnecting, no awareness, no barrier."""
    address = socket_url(url, task, part)
    protocols = [Subprotocol(SUBPROTOCOL), Subprotocol(f"token.{token}")]
    async with open_socket(address, subprotocols=protocols, max_size=MAX_FRAME, compression=None) as socket:
        yield Channel(socket, urlsplit(address).path)


def socket_url(url: str, task: str, part: Part = "main") -> str:
    """The WebSocket address of a task's document on the server at ``url``."""
    scheme, host, path, _, _ = urlsplit(url)
    name = task if part == "main" else f"{task}/{part}"
    secure = "wss" if scheme in ("https", "wss") else "ws"
    return urlunsplit((secure, host, f"{path.rstrip('/')}/sync/{name}", "", ""))
