"""What waits for readers: bounded for one and for all, and no reader is cut while it reads."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

from kit.rooms import enter, new_name, rooms_over, until
from kit.sockets import Reader, Wire, socket_on
from starlette.websockets import WebSocket, WebSocketState
from websockets.frames import Opcode

from crdt_docs.rope import Rope
from server.rooms.limits import Limits
from server.sync.backlog import HIGH, LOW, Backlog
from server.sync.direct import SLICE
from server.sync.transport import SocketTransport


class Socket:
    """An ASGI socket whose peer reads when it is told to."""

    def __init__(self) -> None:
        self.application_state = WebSocketState.CONNECTED
        self.reads = asyncio.Event()
        self.sent: list[bytes] = []

    async def send_bytes(self, frame: bytes) -> None:
        await self.reads.wait()
        self.sent.append(frame)


def transport_of(socket: Socket, backlog: Backlog) -> tuple[SocketTransport, Reader]:
    transport, reader = SocketTransport(cast(WebSocket, socket), backlog), Reader()
    transport.reader = reader
    return transport, reader


async def test_a_reader_is_paused_over_its_bound_and_resumed_when_all_is_taken() -> None:
    socket, backlog = Socket(), Backlog()
    transport, reader = transport_of(socket, backlog)
    pump = asyncio.ensure_future(transport.pump())
    for _ in range(5):
        transport.send(bytes(HIGH // 4))
    assert reader.said == ["pause"]
    assert backlog.waiting == transport.held == 5 * (HIGH // 4)
    socket.reads.set()
    await until(lambda: reader.said[-1] == "resume")
    assert reader.said == ["pause", *["progress"] * 5, "resume"]
    assert backlog.waiting == transport.held == 0
    pump.cancel()


async def test_over_the_budget_of_all_the_longest_queues_are_paused_and_the_others_early() -> None:
    backlog = Backlog(budget=4 * LOW)
    readers = []
    for times in (1, 2):
        transport, reader = transport_of(Socket(), backlog)
        backlog.queues.add(transport)
        readers.append((transport, reader))
        for _ in range(times):
            transport.send(bytes(LOW + LOW // 2 if times == 2 else LOW))
    (_, short), (_, longest) = readers
    assert backlog.waiting == 4 * LOW
    assert not short.said and not longest.said
    late, reader = transport_of(Socket(), backlog)
    late.send(b"one more")
    assert longest.said == ["pause"]
    assert not short.said
    late.send(bytes(LOW))
    assert reader.said == ["pause"]
    for transport, _ in readers:
        transport.discard()
    late.discard()
    assert backlog.waiting == 0
    assert backlog.high == HIGH


async def test_who_is_gone_leaves_nothing_behind_and_is_told_nothing_more() -> None:
    backlog = Backlog()
    transport, _ = transport_of(Socket(), backlog)
    transport.send(b"frame")
    transport.feed(Rope((bytes(1_000_000),)))
    assert backlog.waiting == 5
    transport.discard()
    transport.send(b"frame")
    assert backlog.waiting == transport.held == 0
    closed, _ = transport_of(Socket(), backlog)
    closed.send(b"frame")
    closed.close(1013, "")
    closed.discard()
    assert backlog.waiting == 0


async def test_a_long_frame_goes_out_in_fragments_of_one_message_with_pings_between_them() -> None:
    wire = Wire()
    socket = socket_on(wire)
    whole = bytes(range(256)) * 1_000
    socket.outgoing.feed(Rope((whole[:99], whole[99:])))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    socket.heartbeat.ask()
    socket.pause_writing()
    for _ in range(10):
        await asyncio.sleep(0)
    halted = len(wire.written)
    assert halted < len(whole)
    socket.resume_writing()
    await until(lambda: len(wire.written) > len(whole))
    frames = list(read_frames(bytes(wire.written)))
    opcodes = [opcode for opcode, _, _ in frames]
    assert opcodes.count(Opcode.PING) == 1
    assert 0 < opcodes.index(Opcode.PING) < len(opcodes) - 1, "between two of them"
    data = [frame for frame in frames if frame[0] != Opcode.PING]
    assert [opcode for opcode, _, _ in data] == [Opcode.BINARY, *[Opcode.CONT] * (len(data) - 1)]
    assert [final for _, final, _ in data] == [False] * (len(data) - 1) + [True]
    assert b"".join(payload for _, _, payload in data) == whole
    assert max(len(payload) for _, _, payload in data) == SLICE
    socket.connection_lost(None)


def read_frames(wire: bytes) -> list[tuple[int, bool, bytes]]:
    frames, at = [], 0
    while at < len(wire):
        size, head = wire[at + 1], 2
        if size == 126:
            size, head = int.from_bytes(wire[at + 2 : at + 4], "big"), 4
        elif size == 127:
            size, head = int.from_bytes(wire[at + 2 : at + 10], "big"), 10
        frames.append((wire[at] & 15, wire[at] >= 128, wire[at + head : at + head + size]))
        at += head + size
    return frames


async def test_a_pong_may_be_late_from_who_is_still_reading_and_from_nobody_else() -> None:
    wire = Wire()
    socket = socket_on(wire)
    socket.heartbeat.ask()
    socket.pause_writing()
    await asyncio.sleep(0.01)
    socket.resume_writing()
    socket.heartbeat.overdue()
    assert not wire.closed
    assert socket.heartbeat._timer is not None
    socket.heartbeat.overdue()
    assert wire.closed
    socket.connection_lost(None)


async def test_a_reader_that_takes_little_stays_and_one_that_takes_nothing_is_closed(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db", Limits(parked=2)) as rooms:
        name = new_name()
        slow, dead = await enter(rooms, name, 1), await enter(rooms, name, 2)
        for peer in (slow, dead):
            peer.connection.pause()
        async with asyncio.timeout(20):
            while dead.closed is None:
                await asyncio.sleep(0.05)
                slow.connection.progress()
        assert dead.closed == (1013, "slow reader")
        assert slow.closed is None
