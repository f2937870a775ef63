"""An open socket: what comes in is heard in order and in the same call, what goes out is written at once, and it ends.

The server hands sockets over; another ASGI server does not. What a document's peers may rely on holds for both.
"""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest
from kit.rooms import until
from kit.sockets import Ear, Reader, Wire, protocol_on, socket_on
from websockets.frames import Close, Frame, Opcode

from server.rooms.fanning import Fanned
from server.sync.backlog import HIGH, Backlog
from server.sync.framing import framed
from server.sync.open_socket import LATE, TURN


def said(message: bytes, opcode: Opcode = Opcode.BINARY, *, fin: bool = True) -> bytes:
    return Frame(opcode, message, fin=fin).serialize(mask=True)


def closes(wire: Wire) -> list[tuple[int, str]]:
    """The closes that were written; nothing else was."""
    at, found = 0, []
    while at < len(wire.written):
        end = at + 2 + wire.written[at + 1]
        if wire.written[at] == 0x88:
            close = Close.parse(bytes(wire.written[at + 2 : end]))
            found.append((close.code, close.reason))
        at = end
    return found


async def until_left(ear: Ear) -> None:
    await asyncio.wait_for(ear.left.wait(), 20)


async def test_a_message_is_heard_in_the_call_that_brought_it() -> None:
    ear = Ear()
    socket = socket_on(Wire(), ear)
    socket.data_received(said(b"short"))
    assert ear.heard == [b"short"]
    socket.data_received(said(b"two") + said(b"at once"))
    assert ear.heard[1:] == [b"two", b"at once"]
    long = said(bytes(70_000))
    socket.data_received(long[:50_000])
    more = said(b"and")
    socket.data_received(long[50_000:] + more[:4])
    socket.data_received(more[4:])
    assert ear.heard[3:] == [bytes(70_000), b"and"]
    socket.data_received(said(b"text", Opcode.TEXT))
    assert ear.heard[-1] is None
    socket.connection_lost(None)
    await until_left(ear)


async def test_what_one_message_waits_for_the_next_ones_wait_for_and_nothing_is_read_meanwhile() -> None:
    ear, wire = Ear(), Wire()
    socket = socket_on(wire, ear)
    done = asyncio.get_running_loop().create_future()
    ear.waits[b"slow"] = done
    socket.data_received(said(b"slow"))
    assert not wire.reading
    socket.data_received(said(b"next") + said(b"?", Opcode.PING) + said(b"last"))
    await asyncio.sleep(0)
    assert ear.heard == [b"slow"]
    assert not wire.written
    done.set_result(None)
    await until(lambda: len(ear.heard) == 3 and wire.reading)
    assert ear.heard == [b"slow", b"next", b"last"]
    assert wire.written == Frame(Opcode.PONG, b"?").serialize(mask=False)
    assert wire.reading
    socket.connection_lost(None)


async def test_last_words_are_heard_before_the_listener_leaves() -> None:
    ear = Ear()
    socket = socket_on(Wire(), ear)
    done = asyncio.get_running_loop().create_future()
    ear.waits[b"slow"] = done
    socket.data_received(said(b"slow") + said(b"last words"))
    socket.connection_lost(None)
    await asyncio.sleep(0.01)
    assert not ear.left.is_set()
    done.set_result(None)
    await until_left(ear)
    assert ear.heard == [b"slow", b"last words"]


async def test_a_flood_is_heard_so_much_at_a_turn_that_others_have_theirs() -> None:
    ear, wire = Ear(), Wire()
    socket = socket_on(wire, ear)
    socket.data_received(said(b"x") * (3 * TURN + 1))
    assert len(ear.heard) == TURN
    assert not wire.reading
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(ear.heard) == 3 * TURN + 1
    assert wire.reading
    socket.data_received(said(b"", Opcode.PING) * (3 * TURN + 1))
    assert len(wire.written) == 2 * TURN
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(wire.written) == 2 * (3 * TURN + 1)
    socket.connection_lost(None)


async def test_what_came_before_the_socket_was_taken_over_is_heard_first() -> None:
    wire, ear = Wire(), Ear()
    protocol = protocol_on(wire)
    early = said(b"early")
    protocol.data_received(early[:5])
    protocol.data_received(early[5:] + said(b"earlier than us"))
    socket = protocol.take_over(Backlog())
    socket.data_received(said(b"now"))
    assert not ear.heard
    socket.begin(ear)
    assert ear.heard == [b"early", b"earlier than us", b"now"]
    await asyncio.sleep(0.01)
    assert not wire.closed, "the application's return ends nothing"
    socket.connection_lost(None)


async def test_a_peer_that_takes_its_leave_is_answered_with_its_own_code() -> None:
    for code, farewells in ((1000, 1), (1001, 1), (4000, 0)):
        ear, wire = Ear(), Wire()
        socket = socket_on(wire, ear)
        socket.data_received(said(b"a") + said(Close(code, "bye").serialize(), Opcode.CLOSE) + said(b"b"))
        assert ear.heard == [b"a"]
        assert ear.farewells == farewells
        assert closes(wire) == [(code, "bye")]
        assert wire.closed
        await until_left(ear)
        socket.connection_lost(None)


async def test_who_was_told_to_go_is_heard_no_more_and_cut_when_talking_on() -> None:
    ear, wire = Ear(), Wire()
    socket = socket_on(wire, ear)
    socket.end(4400, "go")
    await until_left(ear)
    socket.data_received(said(b"but"))
    assert not ear.heard
    assert not wire.closed
    socket.data_received(said(bytes(LATE)))
    assert wire.closed
    assert closes(wire) == [(4400, "go")]
    socket.connection_lost(None)


async def test_the_answering_close_ends_the_wire_also_while_something_is_waited_for() -> None:
    ear, wire = Ear(), Wire()
    socket = socket_on(wire, ear)
    ear.waits[b"slow"] = asyncio.get_running_loop().create_future()
    socket.data_received(said(b"slow"))
    socket.end(1013, "")
    assert wire.reading
    socket.data_received(said(b"\x03\xf5", Opcode.CLOSE))
    assert wire.closed
    socket.connection_lost(None)
    ear.waits[b"slow"].cancel()  # type: ignore[attr-defined]


async def test_after_a_fragment_that_holds_nothing_a_message_is_not_begun_anew() -> None:
    ear, wire = Ear(), Wire()
    socket = socket_on(wire, ear)
    socket.data_received(said(b"", fin=False))
    socket.data_received(said(b"another"))
    assert not ear.heard
    assert [close for close, _ in closes(wire)] == [1002]
    await until_left(ear)
    socket.connection_lost(None)


@pytest.mark.parametrize(
    "stream, code",
    [
        (b"\x82\x03abc", 1002),
        (said(b"\xff", Opcode.TEXT), 1007),
        (b"\xc2\x83\0\0\0\0abc", 1002),
        (b"\x82\xff\x7f" + bytes(7), 4413),
    ],
    ids=["not masked", "not UTF-8", "a bit that nobody agreed on", "too long"],  # a mask is random
)
async def test_broken_bytes_end_it_with_a_code_and_a_long_frame_with_one_that_is_not_sent_again(
    stream: bytes, code: int
) -> None:
    ear, wire = Ear(), Wire()
    socket = socket_on(wire, ear)
    socket.data_received(said(b"fine") + stream)
    assert ear.heard == [b"fine"]
    assert [close for close, _ in closes(wire)] == [code]
    assert wire.closed
    await until_left(ear)
    socket.connection_lost(None)


async def test_pings_of_who_does_not_read_are_not_answered() -> None:
    wire = Wire()
    socket = socket_on(wire)
    wire.unread = 1 << 20
    socket.data_received(said(b"?", Opcode.PING) * 50)
    assert not wire.written
    wire.unread = 0
    socket.data_received(said(b"?", Opcode.PING))
    assert wire.written == b"\x8a\x01?"
    socket.connection_lost(None)


async def test_a_pong_must_be_the_answer_to_our_ping() -> None:
    socket = socket_on(Wire())
    socket.heartbeat.ask()
    asked = socket.heartbeat._asked
    assert asked is not None
    socket.data_received(said(b"none of yours", Opcode.PONG))
    assert socket.heartbeat._asked == asked
    socket.data_received(said(asked, Opcode.PONG))
    assert socket.heartbeat._asked is None
    socket.connection_lost(None)


async def test_an_error_behind_a_socket_ends_that_socket(capfd: pytest.CaptureFixture[str]) -> None:
    class Deaf(Ear):
        async def leave(self) -> None:
            raise RuntimeError("what leave could not do")

    wire = Wire()
    socket = socket_on(wire, Deaf())
    socket.end(1000, "")
    told = ""
    async with asyncio.timeout(10):
        while "what leave could not do" not in told:
            await asyncio.sleep(0.005)
            told += capfd.readouterr().err
    assert wire.closed
    socket.connection_lost(None)


# -- the way out


async def test_what_is_sent_is_written_at_once_and_queued_only_for_who_is_behind() -> None:
    wire, backlog = Wire(), Backlog()
    socket = protocol_on(wire).take_over(backlog)
    reads = socket.outgoing.reader = Reader()
    socket.outgoing.send(b"a")
    assert wire.written == framed(b"a")
    assert socket.outgoing.held == 0
    wire.written.clear()
    socket.pause_writing()
    for _ in range(5):
        socket.outgoing.send(bytes(HIGH // 4))
    assert not wire.written
    assert reads.said == ["pause"]
    assert backlog.waiting == socket.outgoing.held == 5 * (HIGH // 4)
    socket.resume_writing()
    assert wire.written == framed(bytes(HIGH // 4)) * 5
    assert reads.said == ["pause", *["progress"] * 6, "resume"]
    assert backlog.waiting == socket.outgoing.held == 0
    assert not backlog.queues or socket.outgoing in backlog.queues
    socket.connection_lost(None)
    assert not backlog.queues


async def test_many_are_handed_the_same_bytes_and_who_is_behind_the_same_messages() -> None:
    fanned = Fanned([b"one", bytes(200)])
    written: list[Any] = []
    for _ in range(3):
        wire = Wire()
        wire.write = written.append  # type: ignore[method-assign, assignment]
        protocol_on(wire).take_over(Backlog()).outgoing.fan(fanned)
    assert len(written) == 3
    assert all(data is written[0] for data in written)
    assert written[0] == framed(b"one") + framed(bytes(200))
    wire = Wire()
    behind = protocol_on(wire).take_over(Backlog())
    behind.pause_writing()
    behind.outgoing.fan(fanned)
    behind.resume_writing()
    assert wire.written == written[0]


async def test_a_close_drops_what_is_queued_and_nothing_is_written_after_it() -> None:
    wire, backlog = Wire(), Backlog()
    socket = protocol_on(wire).take_over(backlog)
    socket.pause_writing()
    socket.outgoing.send(b"queued")
    socket.outgoing.close(4403, "revoked")
    socket.outgoing.send(b"late")
    socket.outgoing.fan(Fanned([b"late"]))
    socket.resume_writing()
    assert closes(wire) == [(4403, "revoked")]
    assert backlog.waiting == 0
    socket.connection_lost(None)


async def test_nothing_of_the_handshake_is_left_for_a_search_for_garbage() -> None:
    wire = Wire()
    protocol = protocol_on(wire)
    socket = protocol.take_over(Backlog())
    gone = weakref.ref(protocol), weakref.ref(protocol.conn)
    gc.disable()
    try:
        del protocol
        await until(lambda: all(one() is None for one in gone))  # the application returns
    finally:
        gc.enable()
    socket.connection_lost(None)
