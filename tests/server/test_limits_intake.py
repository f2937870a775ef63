"""Messages that begin and do not end: bounded in bytes over all sockets, and in time for each."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from kit.sockets import Ear, Wire, socket_on
from websockets.frames import Frame, Opcode

from server.sync.intake import SMALL, STRIDE, Intake
from server.sync.open_socket import OpenSocket

MANY = 4 * SMALL


class Sender:
    """Where a message comes in."""

    def __init__(self) -> None:
        self.unfinished = 0
        self.said: list[str] = []

    def hold_back(self) -> None:
        self.said.append("hold back")

    def go_on(self) -> None:
        self.said.append("go on")


def test_over_the_budget_all_wait_but_the_one_that_has_sent_most() -> None:
    intake = Intake(budget=MANY)
    first, second, third, small = Sender(), Sender(), Sender(), Sender()
    intake.note(first, 2 * SMALL)
    intake.note(second, 2 * SMALL - 1)
    assert not first.said and not second.said
    intake.note(small, 1_000)
    intake.note(third, SMALL + 1)
    intake.note(first, 2 * SMALL + 1)
    assert third.said == ["hold back"]
    assert not small.said and not first.said
    intake.note(first, 0)
    assert third.said == ["hold back", "go on"]
    for sender in (second, third, small):
        intake.note(sender, 0)
    assert intake.unfinished == 0
    assert not intake._sources


def test_who_holds_the_most_is_never_held_back() -> None:
    intake = Intake(budget=MANY)
    alone = Sender()
    for size in range(SMALL, 2 * MANY, SMALL):
        intake.note(alone, size)
    assert not alone.said


@pytest.fixture
async def protocol() -> OpenSocket:
    return socket_on(Wire(), intake=Intake())


def message(size: int) -> bytes:
    return Frame(Opcode.BINARY, bytes(size)).serialize(mask=True)


async def test_what_is_unfinished_is_counted_until_it_ends(protocol: OpenSocket) -> None:
    intake = cast(Intake, protocol._around.intake)
    whole = message(100_000)
    protocol.data_received(whole[:50_000])
    assert 49_900 < unfinished(protocol) == intake.unfinished <= 50_000
    protocol.data_received(whole[50_000:] + whole[:1_000])
    assert 900 < unfinished(protocol) == intake.unfinished <= 1_000
    protocol.connection_lost(None)
    assert intake.unfinished == 0


async def test_fragments_count_as_one_message(protocol: OpenSocket) -> None:
    for opcode in (Opcode.BINARY, Opcode.CONT, Opcode.CONT):
        protocol.data_received(Frame(opcode, bytes(1_000), fin=False).serialize(mask=True))
    assert unfinished(protocol) == 3_000
    protocol.data_received(Frame(Opcode.CONT, b"").serialize(mask=True))
    assert unfinished(protocol) == 0
    protocol.connection_lost(None)


async def test_a_message_that_does_not_go_on_ends_the_socket_and_one_that_does_stays(protocol: OpenSocket) -> None:
    """Attack 38."""
    ended = listen(protocol)
    whole = message(10 * STRIDE)
    protocol.data_received(whole[:100])
    await a_minute_passes(protocol)
    assert [code for code, _ in ended] == [1013]
    other = socket_on(Wire())
    ended = listen(other)
    other.data_received(whole[:100])
    for at in range(100, 3 * STRIDE, STRIDE):
        other.data_received(whole[at : at + STRIDE])
        await a_minute_passes(other)
    assert not ended
    other.hold_back()
    await a_minute_passes(other)
    assert not ended
    for each in (protocol, other):
        each.connection_lost(None)


async def test_short_messages_that_come_in_odd_pieces_are_no_slow_message() -> None:
    ear = Ear()
    protocol = socket_on(Wire(), ear, Intake())
    ended = listen(protocol)
    stream = message(100) * 20
    for at in range(0, len(stream), 77):
        protocol.data_received(stream[at : at + 77])
        await a_minute_passes(protocol, fully=False)
    assert not ended
    assert ear.heard == [bytes(100)] * 20
    protocol.connection_lost(None)


async def test_a_stranger_on_the_other_wire_may_send_no_long_message() -> None:
    ear = Ear()
    protocol = socket_on(Wire(), ear)
    ended = listen(protocol)
    protocol.bound(1_000)
    protocol.data_received(message(1_000))
    protocol.bound(None)
    protocol.data_received(message(2_000))
    assert not ended
    protocol.bound(1_000)
    protocol.data_received(message(1_001)[:20])
    assert ended == [(4413, "this frame is too long")], "its head is enough"
    assert ear.heard == [bytes(1_000), bytes(2_000)]
    protocol.connection_lost(None)


def unfinished(socket: OpenSocket) -> int:
    return socket.unfinished.unfinished if socket.unfinished is not None else 0


def listen(socket: OpenSocket) -> list[tuple[int, str]]:
    """The closes that are sent from here on."""
    ended: list[tuple[int, str]] = []
    transport = cast(Any, socket.transport)

    def write(data: bytes) -> None:
        if data[0] == 0x88:
            ended.append((int.from_bytes(data[2:4], "big"), data[4:].decode()))

    transport.write = write
    return ended


async def a_minute_passes(protocol: OpenSocket, *, fully: bool = True) -> None:
    """As the protocol's clock sees it."""
    await asyncio.sleep(0)
    message = protocol.unfinished
    if message is not None and message._clock is not None:
        message._clock.cancel()
        message._begun -= 60 if fully else 25
        message.look_at_the_clock()
