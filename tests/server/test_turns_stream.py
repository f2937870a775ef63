"""A stream of offers on a real socket: how it is spoken, and what becomes of a reader that does not read."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kit.app_under_test import AppUnderTest, app_under_test, on_the_wire

from crdt_docs.ids import TaskId, TurnId, new_id
from server.domain.agent import BUILT_IN
from server.http import events
from server.turns.offers import Listener, Offer


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


async def open_stream(app: AppUnderTest, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, Listener]:
    """The built-in agent's stream, by hand, through a small buffer."""
    _, secret = app.built_in.admit(await app.nouns.agents.ensure(None, BUILT_IN, app.clock.now()))
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=raw, limit=4096)
    head = f"GET /api/v1/turns/offers HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {secret}\r\n\r\n"
    writer.write(head.encode())
    assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
    (listener,) = app.desk.offers._listeners
    return reader, writer, listener


def a_stop() -> Offer:
    return Offer("stop", TurnId(new_id()), TaskId(new_id()), 1)


async def test_events_are_spoken_as_the_standard_says(app: AppUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "SIGN_OF_LIFE", 0.05)
    async with on_the_wire(app.app) as port:
        reader, writer, listener = await open_stream(app, port)
        headers = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert "content-type: text/event-stream" in headers and "cache-control: no-store" in headers
        stop = a_stop()
        listener.tell(stop)
        told = await asyncio.wait_for(reader.readuntil(b"}\n\n"), 10)
        assert f'event: stop\ndata: {{"turn": "{stop.turn}"}}\n\n'.encode() in told
        assert b": alive\n\n" in await asyncio.wait_for(reader.readuntil(b": alive\n\n"), 10)
        app.desk.offers.close()
        assert (await asyncio.wait_for(reader.read(), 10)).endswith(b"0\r\n\r\n")
        writer.close()


async def test_a_reader_that_does_not_read_is_cut_and_costs_little(
    app: AppUnderTest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(events, "READ_WITHIN", 0.3)
    async with on_the_wire(app.app) as port:
        _, writer, listener = await open_stream(app, port)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        large = Offer("offer", TurnId(new_id()), TaskId("x" * 200_000), 1)  # so that the system's buffers are soon full
        async with asyncio.timeout(60):
            while len(app.desk.offers):
                if len(listener._waiting) < 10:
                    listener.tell(large)
                await asyncio.sleep(0.005)
        writer.transport.abort()
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
