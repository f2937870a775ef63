"""The opening handshake of an upgrade that is just as RFC 6455 wants it, answered from what was read already.

uvicorn writes the head of an upgrade anew and has another parser read that, which is most of what a socket costs that
comes in. Owns the short road past it: a request is read once, answered here, and taken over by the application. Must
never answer what is in any way odd: that is left to uvicorn's road (``protocol.py``), which knows how to refuse it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from base64 import b64encode
from binascii import Error as NotBase64
from binascii import a2b_base64
from hashlib import sha1
from http import HTTPStatus
from typing import Any, Final, Protocol
from urllib.parse import unquote

from server.doors.turnstile import Passage, Turnstile
from server.sync.backlog import Backlog
from server.sync.intake import Intake
from server.sync.open_socket import OpenSocket, Surroundings
from server.sync.protocol import EARLY, EXTENSION
from server.sync.rota import NEWCOMERS, Rota

_MAGIC: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_KEY: Final = re.compile(rb"[A-Za-z0-9+/]{22}==")
_TOKENS: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*")
_VALUE: Final = re.compile(rb"[\t\x20-\x7e\x80-\xff]{0,8000}")
_TARGET: Final = re.compile(rb"/(?!/)[\x21-\x22\x24-\x7e]{0,8000}")
_BODY: Final = frozenset((b"content-length", b"transfer-encoding", b"expect"))
MOST_HEADERS: Final = 100
_LOG: Final = logging.getLogger("uvicorn.error")
_CONNECT: Final = {"type": "websocket.connect"}


class Asked(Protocol):
    """uvicorn's HTTP protocol when it has read an upgrade."""

    url: bytes
    headers: list[tuple[bytes, bytes]]
    scope: Any
    transport: asyncio.Transport
    config: Any
    app: Any
    app_state: dict[str, Any]
    root_path: str
    asgi_version: str
    server_state: Any
    loop: asyncio.AbstractEventLoop


class Handshakes:
    """The handshakes of one server."""

    def __init__(self, turnstile: Turnstile, intake: Intake | None) -> None:
        self._turnstile = turnstile
        self._intake = intake
        self._around: Surroundings | None = None
        self._rota = Rota(NEWCOMERS)

    def shake(self, asked: Asked) -> bool:
        """Take the connection; False, and nothing done, if uvicorn is to read the request."""
        key = plain_key(asked)
        if key is None:
            return False
        asked.server_state.connections.discard(asked)
        client = asked.scope["client"]
        passage = self._turnstile.arrive(client[0] if client else None)
        Handshake(asked, key, passage, self._surroundings(asked)).begin(self._rota)
        return True

    def _surroundings(self, asked: Asked) -> Surroundings:
        if self._around is None:
            state = asked.server_state
            self._around = Surroundings.under(asked.config, state.connections, state.tasks, self._intake, asked.loop)
        return self._around


def plain_key(asked: Asked) -> bytes | None:
    """The key of a request that is a handshake and nothing else; None where anything about it wants a closer look."""
    headers = dict(asked.headers)
    if len(headers) != len(asked.headers) or len(headers) > MOST_HEADERS or not headers.keys().isdisjoint(_BODY):
        return None
    if asked.scope["method"] != "GET" or asked.scope["http_version"] != "1.1" or not _TARGET.fullmatch(asked.url):
        return None
    if not all(map(_VALUE.fullmatch, headers.values())):
        return None
    options, offered = headers.get(b"connection", b""), headers.get(b"sec-websocket-protocol")
    if not _TOKENS.fullmatch(options) or b"upgrade" not in _split(options.lower()):
        return None
    if headers.get(b"upgrade", b"").lower() != b"websocket" or headers.get(b"sec-websocket-version") != b"13":
        return None
    if offered is not None and not _TOKENS.fullmatch(offered):
        return None
    key = headers.get(b"sec-websocket-key", b"")
    return key if _KEY.fullmatch(key) and _is_base64(key) else None


def _split(tokens: bytes) -> list[bytes]:
    return [token.strip(b" \t") for token in tokens.split(b",")]


def _is_base64(key: bytes) -> bool:
    try:
        return len(a2b_base64(key)) == 16
    except NotBase64:
        return False


class Handshake(asyncio.Protocol):
    """One request on its way through the application: it is refused, or accepted and then taken over."""

    def __init__(self, asked: Asked, key: bytes, passage: Passage, around: Surroundings) -> None:
        self._transport = asked.transport
        self._passage: Passage | None = passage
        self._around = around
        self._key = key
        self._app = asked.app
        self._default_headers = asked.server_state.default_headers
        self._scope: dict[str, Any] | None = _scope(asked, self)
        self._path = asked.url.partition(b"?")[0].decode("ascii")  # as it came: a line of the log is one line
        self._greeted = False
        self._answered = False
        self._taken = False
        self._lost = asyncio.Event()
        self._refusal: list[bytes] = []
        self._early = b""

    def begin(self, rota: Rota) -> None:
        """Ask the application, as the server asks it, when it is its turn."""
        around = self._around
        around.open.add(self)
        self._transport.set_protocol(self)
        task = asyncio.get_running_loop().create_task(self._run(rota))
        around.tasks.add(task)
        task.add_done_callback(around.tasks.discard)

    async def _run(self, rota: Rota) -> None:
        scope, self._scope = self._scope, None  # it knows this object: the two should not keep each other
        try:
            await rota.turn()
            if self._answered:  # the server ended meanwhile
                return
            await self._app(scope, self._receive, self._send)
            if not self._answered:
                self._refuse(500)
        except _Gone:
            pass
        except BaseException:
            _LOG.exception("Exception in ASGI application\n")
            if not self._answered:
                self._refuse(500)
        finally:
            if not self._taken:
                self._transport.close()

    async def _receive(self) -> dict[str, Any]:
        if not self._greeted:
            self._greeted = True
            return _CONNECT
        await self._lost.wait()
        return {"type": "websocket.disconnect", "code": 1006}

    async def _send(self, message: Any) -> None:
        if self._lost.is_set():
            raise _Gone
        kind = message["type"]
        if kind == "websocket.accept" and not self._answered:
            self._accept(message)
        elif kind == "websocket.close" and not self._answered:
            self._refuse(403)
        elif kind == "websocket.http.response.start" and not self._answered:
            self._answered = True
            self._refusal = [_head(message["status"], [*self._default_headers, *message.get("headers", ())])]
        elif kind == "websocket.http.response.body" and self._refusal:
            self._refusal.append(message.get("body", b""))
            if not message.get("more_body", False):
                self._transport.write(b"".join(self._refusal))
                self._transport.close()
        else:
            raise RuntimeError(f"{kind} where a handshake is answered once, and its socket then taken over")

    def _accept(self, message: Any) -> None:
        self._answered = True
        accept = b64encode(sha1(self._key + _MAGIC, usedforsecurity=False).digest())
        headers = [(b"upgrade", b"websocket"), (b"connection", b"Upgrade"), (b"sec-websocket-accept", accept)]
        headers += [*self._default_headers, *message.get("headers", ())]
        if (chosen := message.get("subprotocol")) is not None:
            headers.append((b"sec-websocket-protocol", chosen.encode("ascii")))
        self._transport.write(_head(101, headers))
        _LOG.info('"WebSocket %s" [accepted]', self._path)

    def _refuse(self, status: int) -> None:
        self._answered = True
        ends = [(b"content-length", b"0"), (b"connection", b"close"), *self._default_headers]
        self._transport.write(_head(status, ends))
        self._transport.close()

    def take_over(self, backlog: Backlog) -> OpenSocket:
        """The accepted socket, which is no longer the handshake's; the application may return."""
        socket = OpenSocket(self._transport, self._around, self._passage, backlog)
        self._taken, self._passage = True, None
        self._around.open.discard(self)
        if self._lost.is_set():
            socket.connection_lost(None)
            return socket
        self._around.open.add(socket)
        self._transport.set_protocol(socket)
        if len(self._early) > EARLY:
            self._transport.resume_reading()
        if self._early:
            early, self._early = self._early, b""
            socket.data_received(early)
        return socket

    # -- what the loop tells

    def data_received(self, data: bytes) -> None:
        """Who talks before it was answered is heard later, and not read at length before."""
        read_on = len(self._early) <= EARLY
        self._early += data
        if read_on and len(self._early) > EARLY:
            self._transport.pause_reading()

    def eof_received(self) -> None:
        """It says no more; then it is gone."""

    def connection_lost(self, exc: Exception | None) -> None:
        """The peer did not wait."""
        self._lost.set()
        self._around.open.discard(self)
        if self._passage is not None:
            self._passage.leave()

    def shutdown(self) -> None:
        """The server ends."""
        if not self._answered:
            self._refuse(500)
        self._transport.close()


class _Gone(Exception):
    """Whoever asked does not wait for the answer."""


def _scope(asked: Asked, extension: object) -> dict[str, Any]:
    read = asked.scope
    path, _, query = asked.url.partition(b"?")
    offered = dict(asked.headers).get(b"sec-websocket-protocol")
    return {
        "type": "websocket",
        "asgi": {"version": asked.asgi_version, "spec_version": "2.4"},
        "http_version": "1.1",
        "scheme": "wss" if read["scheme"] == "https" else "ws",
        "server": read["server"],
        "client": read["client"],
        "root_path": asked.root_path,
        "path": asked.root_path + unquote(path.decode("ascii")),
        "raw_path": asked.root_path.encode("ascii") + path,
        "query_string": query,
        "headers": asked.headers,
        "subprotocols": [token.decode("ascii") for token in _split(offered)] if offered else [],
        "state": asked.app_state.copy(),
        "extensions": {"websocket.http.response": {}, EXTENSION: extension},
    }


def _head(status: int, headers: list[tuple[bytes, bytes]]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", b""])
