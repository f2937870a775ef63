"""The opening handshake by the short road: what it answers, what it leaves to the long one, and who comes after it."""

from __future__ import annotations

import asyncio
import logging
from itertools import pairwise
from typing import Any, cast

import pytest
from kit.clock import FakeClock
from kit.rooms import until
from kit.sockets import UPGRADE, Ear, Wire
from starlette.websockets import WebSocket
from uvicorn import Config
from uvicorn.server import ServerState

from server.doors.origin import Hosts, OriginGate
from server.doors.turnstile import Caps, Turnstile
from server.http import protocol
from server.http.protocol import STRIDE, HttpProtocol
from server.sync.backlog import Backlog
from server.sync.handshake import Handshakes
from server.sync.protocol import EARLY, SocketProtocol, take_over
from server.sync.rota import NEWCOMERS


class Socketed(Wire):
    """A wire that knows who hears it."""

    def __init__(self) -> None:
        super().__init__()
        self.protocol: Any = None
        self.drains = 0

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_write_buffer_size(self) -> int:
        self.unread -= self.drains
        return self.unread


class Server:
    """What stands behind one wire: takes over whatever is accepted, and keeps what it was asked."""

    def __init__(self, app: Any = None) -> None:
        self.scopes: list[Any] = []
        self.ear = Ear()
        self.held = asyncio.Event()
        self.held.set()
        self.turnstile = Turnstile(Caps(), FakeClock())
        self.state = ServerState()
        self.wire = Socketed()
        self.short: list[bool] = []
        self.handshakes = Handshakes(self.turnstile, None)

        def shake(asked: Any) -> bool:
            self.short.append(self.handshakes.shake(asked))
            return self.short[-1]

        made = type("Http", (HttpProtocol,), {"turnstile": self.turnstile, "shake": staticmethod(shake)})
        sockets = type("Sockets", (SocketProtocol,), {"turnstile": self.turnstile})
        config = Config(cast(Any, app or self), ws=sockets, ws_per_message_deflate=False)
        self.http = made(config, self.state, {})
        self.wire.protocol = self.http
        self.http.connection_made(self.wire)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        socket = WebSocket(scope, receive, send)
        await self.held.wait()
        await socket.accept(subprotocol="clew.v1" if scope["subprotocols"] else None)
        taken = take_over(socket, Backlog())
        assert taken is not None
        taken.begin(self.ear)

    async def hear(self, data: bytes) -> bytes:
        """What is answered."""
        self.wire.protocol.data_received(data)
        await self.settle()
        return bytes(self.wire.written)

    async def settle(self) -> None:
        while self.state.tasks:
            await asyncio.wait(list(self.state.tasks), timeout=5)


def asking(path: bytes = b"/", *more: bytes, without: bytes = b"") -> bytes:
    """A request for an upgrade."""
    lines = [b"GET " + path + b" HTTP/1.1", *UPGRADE.split(b"\r\n")[1:-2], *more]
    return b"\r\n".join([line for line in lines if not without or not line.startswith(without)]) + b"\r\n\r\n"


async def test_a_plain_request_is_answered_and_its_socket_taken_over() -> None:
    server = Server()
    ask = asking(b"/sync/a%20b?c=%20", b"Sec-WebSocket-Protocol: clew.v1 , token.abc", b"Origin: http://localhost")
    head = (await server.hear(ask)).split(b"\r\n")
    assert head[0] == b"HTTP/1.1 101 Switching Protocols"
    assert {b"upgrade: websocket", b"connection: Upgrade", b"sec-websocket-protocol: clew.v1"} <= set(head)
    assert b"sec-websocket-accept: ICX+Yqv66kxgM0FcWaLWlFLwTAI=" in head
    assert server.short == [True]
    (scope,) = server.scopes
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == ("/sync/a b", b"/sync/a%20b", b"c=%20")
    assert scope["subprotocols"] == ["clew.v1", "token.abc"] and scope["scheme"] == "ws"
    assert scope["client"] == ("192.0.2.1", 1)
    server.wire.protocol.data_received(b"\x82\x81\0\0\0\0x")
    assert server.ear.heard == [b"x"]
    assert server.turnstile.connections == 1 and len(server.state.connections) == 1
    server.wire.protocol.connection_lost(None)
    assert server.turnstile.connections == 0 and not server.state.connections


async def test_the_log_has_a_line_with_the_path_as_it_came_and_nothing_of_what_was_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    await Server().hear(asking(b"/sync/a%0aforged?secret", b"Sec-WebSocket-Protocol: clew.v1, token.abc"))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith('"WebSocket /sync/a%0aforged" [accepted]')


async def test_the_application_is_asked_the_same_by_both_roads(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = asking(b"/sync/a%20b?c=%20", b"Sec-WebSocket-Protocol: clew.v1,token.abc", b"X-Word: w\xf6rd")
    quick, slow = Server(), Server()
    monkeypatch.setattr(slow.http, "shake", None)
    answers = [set((await server.hear(ask)).lower().split(b"\r\n")) for server in (quick, slow)]
    assert answers[0] == answers[1]
    for scope in (scopes := [*quick.scopes, *slow.scopes]):
        scope.pop("extensions")
        scope["headers"] = sorted(scope["headers"])
    assert scopes[0] == scopes[1]


@pytest.mark.parametrize(
    "ask",
    [
        asking(without=b"Sec-WebSocket-Key"),
        asking(b"/", b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="),
        asking(b"/", b"Sec-WebSocket-Key: AAAAAAAA", without=b"Sec-WebSocket-Key"),
        asking(without=b"Sec-WebSocket-Version"),
        asking(b"/", b"Sec-WebSocket-Version: 8", without=b"Sec-WebSocket-Version"),
        asking(b"/", b"Sec-WebSocket-Protocol: a b"),
        asking().replace(b"GET", b"PUT"),
    ],
)
async def test_what_is_odd_is_refused_by_the_long_road(ask: bytes) -> None:
    server = Server()
    answer = await server.hear(ask)
    assert answer.startswith(b"HTTP/1.1 4") and server.scopes == [] and server.wire.closed
    assert server.short == [False]


@pytest.mark.parametrize("more", [b"Content-Length: 0", b"Host: second", b"X: " + b"x" * 8001])
async def test_what_wants_a_closer_look_takes_the_long_road(more: bytes) -> None:
    server = Server()
    await server.hear(asking(b"/", more))
    assert server.short == [False]


async def test_a_refusal_in_place_of_an_upgrade_is_answered_in_full_and_hung_up_on() -> None:
    inner = Server()
    server = Server(OriginGate(inner, Hosts()))
    head, _, body = (await server.hear(asking(b"/", b"Origin: http://evil.example"))).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 403 Forbidden\r\n") and b"origin" in body
    assert f"content-length: {len(body)}".encode() in head and server.wire.closed and inner.scopes == []
    server.wire.protocol.connection_lost(None)
    assert server.turnstile.connections == 0 and not server.state.connections


async def test_who_talks_before_the_answer_is_heard_after_it_and_not_read_at_length() -> None:
    server = Server()
    server.held.clear()
    server.wire.protocol.data_received(asking())
    await asyncio.sleep(0)
    for _ in range(2):
        server.wire.protocol.data_received(b"\x82\x81\0\0\0\0x")
    assert server.wire.reading
    server.wire.protocol.data_received(b"\x82\x81\0\0\0\0y" * (EARLY // 7))
    assert not server.wire.reading
    server.held.set()
    await server.settle()
    assert server.ear.heard[:3] == [b"x", b"x", b"y"] and b" 101 " in server.wire.written


async def test_who_does_not_wait_for_the_answer_leaves_nothing_behind(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    server.held.clear()
    server.wire.protocol.data_received(asking())
    await asyncio.sleep(0)
    server.wire.protocol.connection_lost(None)
    server.held.set()
    await server.settle()
    assert server.turnstile.connections == 0 and not server.state.connections and not server.wire.written
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_an_application_that_fails_is_answered_500(capsys: pytest.CaptureFixture[str]) -> None:
    async def fail(scope: object, receive: object, send: object) -> None:
        raise RuntimeError("on purpose")

    server = Server(fail)
    assert (await server.hear(asking())).startswith(b"HTTP/1.1 500 ") and server.wire.closed
    assert "on purpose" in capsys.readouterr().err


async def test_a_server_that_ends_hangs_up_on_who_is_not_answered_yet() -> None:
    server = Server()
    server.held.clear()
    server.wire.protocol.data_received(asking())
    server.wire.protocol.shutdown()
    assert server.wire.written.startswith(b"HTTP/1.1 500 ") and server.wire.closed
    server.wire.protocol.connection_lost(None)
    server.held.set()
    await server.settle()


async def test_of_many_who_come_at_once_few_are_let_in_in_one_turn() -> None:
    servers = [Server() for _ in range(3 * NEWCOMERS)]
    for server in servers:
        server.handshakes = servers[0].handshakes
        server.wire.protocol.data_received(asking(b"/sync/a"))
    seen = [0]
    while seen[-1] < len(servers):
        await asyncio.sleep(0)
        seen.append(sum(bool(server.scopes) for server in servers))
    assert max(now - before for before, now in pairwise(seen)) == NEWCOMERS
    for server in servers:
        await server.settle()
        server.wire.protocol.connection_lost(None)


async def test_an_upgrade_behind_a_request_that_is_not_answered_yet_is_hung_up_on() -> None:
    """The answer would come in the middle of the socket's frames."""

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    server = Server(slow)
    server.http.data_received(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n" + b"x" + asking())
    assert server.wire.closed and not server.short
    server.http.connection_lost(None)
    assert server.turnstile.connections == 0
    await server.settle()


async def test_who_does_not_read_an_answer_is_cut_off_and_who_reads_it_slowly_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Attack 38: an answer is held for its reader, and so is the file that it comes from."""
    monkeypatch.setattr(protocol, "READ_DEADLINE", 0.01)
    slow, stalled = Server(), Server()
    slow.wire.drains = STRIDE
    for server in (slow, stalled):
        server.wire.unread = 9 * STRIDE
        server.http.pause_writing()
    await until(lambda: stalled.wire.closed and slow.wire.unread < 5 * STRIDE)
    assert not slow.wire.closed
    slow.http.resume_writing()
    seen = slow.wire.unread
    await asyncio.sleep(0.05)
    assert slow.wire.unread == seen, "nobody looks any more"
