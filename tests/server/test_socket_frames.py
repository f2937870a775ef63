"""Frames of a socket: read as RFC 6455 has them, however they are cut, and as another implementation reads them."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from itertools import pairwise

import pytest
from websockets.frames import Close, Frame, Opcode
from websockets.protocol import SERVER, Protocol, State

from server.sync.framing import (
    BINARY,
    BROKEN,
    CLOSE,
    LONG,
    PING,
    PONG,
    TEXT,
    Event,
    FrameParser,
    close_code,
    close_payload,
    frame,
    framed,
)

MOST = 100_000


def masked(first: int, payload: bytes, *, length: bytes | None = None) -> bytes:
    """A client's frame with that first byte; ``length`` if another is to be claimed, in another spelling."""
    key = b"\x01\x80\xff\x37"
    size = len(payload)
    if length is None and size < 126:
        length = bytes((0x80 | size,))
    elif length is None and size < 1 << 16:
        length = b"\xfe" + size.to_bytes(2, "big")
    elif length is None:
        length = b"\xff" + size.to_bytes(8, "big")
    return bytes((first,)) + length + key + bytes(byte ^ key[at % 4] for at, byte in enumerate(payload))


def read(*pieces: bytes, most: int = MOST) -> list[Event]:
    parser = FrameParser(most)
    return [event for piece in pieces for event in parser.feed(piece)]


def broken(*pieces: bytes) -> int:
    """The code that it ends with, after nothing else."""
    ((kind, payload),) = read(*pieces)
    assert kind == BROKEN
    return close_code(payload)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 128, 65_535, 65_536, 65_537])
def test_every_length_is_read_in_one_piece_byte_by_byte_and_written_alike(size: int) -> None:
    payload = bytes(at % 251 for at in range(size))
    whole = masked(0x82, payload)
    assert read(whole) == [(BINARY, payload)]
    assert read(whole[:1], whole[1:3], whole[3:9], whole[9:]) == [(BINARY, payload)]
    assert framed(payload) == frame(0x82, payload) == Frame(Opcode.BINARY, payload).serialize(mask=False)
    if size < 200:
        assert read(*(whole[at : at + 1] for at in range(len(whole)))) == [(BINARY, payload)]


def test_a_length_may_be_spelled_longer_than_it_needs() -> None:
    assert read(masked(0x82, b"abc", length=b"\xfe\x00\x03")) == [(BINARY, b"abc")]
    assert read(masked(0x82, b"abc", length=b"\xff" + bytes(7) + b"\x03")) == [(BINARY, b"abc")]


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 2**32, MOST + 1])
def test_what_is_too_long_is_refused_by_its_head(length: int) -> None:
    assert broken(masked(0x82, b"", length=b"\xff" + length.to_bytes(8, "big"))[:10]) == 1009


def test_fragments_are_too_long_together() -> None:
    half = bytes(MOST // 2)
    assert read(masked(0x02, half), masked(0x80, half)) == [(BINARY, half + half)]
    assert broken(masked(0x02, half), masked(0x00, half), masked(0x80, b"x")) == 1009


def test_control_frames_come_between_fragments() -> None:
    pieces = masked(0x02, b"a"), masked(0x89, b"?"), masked(0x00, b""), masked(0x8A, b"!"), masked(0x80, b"b")
    assert read(*pieces) == read(b"".join(pieces)) == [(PING, b"?"), (PONG, b"!"), (BINARY, b"ab")]


def test_a_close_between_fragments_is_a_close() -> None:
    assert read(masked(0x02, b"a"), masked(0x88, b"\x03\xe9")) == [(CLOSE, b"\x03\xe9")]


def test_a_million_tiny_fragments_cost_what_they_carry() -> None:
    parser = FrameParser(MOST)
    parser.feed(masked(0x02, b"x"))
    for _ in range(20):
        parser.feed(masked(0x00, b"") * 1_000 + masked(0x00, b"y") * 100)
    assert parser.unfinished == 2_001
    assert list(parser.feed(masked(0x80, b""))) == [(BINARY, b"x" + b"y" * 2_000)]
    assert parser.unfinished == 0


def test_a_long_message_is_taken_in_as_it_comes_and_handed_over_in_the_buffer_it_came_into() -> None:
    payload = bytes(at * 7 % 251 for at in range(3 * LONG + 1))
    whole = masked(0x82, payload) + masked(0x82, b"next")
    for cuts in ([*range(1, 20), 50_000, 150_001], range(4_099, len(whole), 4_099), [LONG, 2 * LONG + 3]):
        parser = FrameParser(len(payload))
        ends = [0, *cuts, len(whole)]
        events: list[Event] = []
        for at, end in pairwise(ends):
            assert parser.between == (not parser.unfinished)
            events += parser.feed(whole[at:end])
        assert events == [(BINARY, payload), (BINARY, b"next")]
        assert isinstance(events[0][1], bytearray)
        assert parser.between
    half = len(payload) // 2
    pieces = [masked(0x02, payload[:half]), masked(0x89, b"?"), masked(0x80, payload[half:])]
    stream = b"".join(pieces)
    assert read(*pieces, most=len(payload)) == [(PING, b"?"), (BINARY, payload)]
    odd = (stream[at : at + 9_999] for at in range(0, len(stream), 9_999))
    assert read(*odd, most=len(payload)) == [(PING, b"?"), (BINARY, payload)]


def test_no_piece_of_a_long_message_costs_more_than_its_share() -> None:
    size, step = 16 << 20, 1 << 18
    whole = Frame(Opcode.BINARY, bytes(size)).serialize(mask=True)
    parser = FrameParser(size)
    costs: list[float] = []
    events: list[Event] = []
    for at in range(0, len(whole), step):
        before = time.thread_time()
        events += parser.feed(whole[at : at + step])
        costs.append(time.thread_time() - before)
    assert [len(payload) for _, payload in events] == [size]
    assert costs[-1] < sum(costs) / 5, "what was done when all of it was there took long"


@pytest.mark.parametrize("first", [0xC2, 0xA2, 0x92, 0xF2, 0xC9, 0xA8, 0x42])
def test_reserved_bits_are_refused(first: int) -> None:
    assert broken(masked(first, b"abc")) == 1002


@pytest.mark.parametrize("opcode", [3, 4, 5, 6, 7, 11, 12, 13, 14, 15])
def test_reserved_opcodes_are_refused_with_and_without_payload(opcode: int) -> None:
    assert broken(masked(0x80 | opcode, b"")) == broken(masked(0x80 | opcode, b"abc")) == 1002


def test_an_unmasked_frame_is_refused() -> None:
    assert broken(b"\x82\x03abcdefgh") == 1002
    assert broken(b"\x89\x00\x00\x00\x00\x00") == 1002


def test_control_frames_are_short_and_whole() -> None:
    assert read(masked(0x89, bytes(125))) == [(PING, bytes(125))]
    assert broken(masked(0x89, bytes(126))) == broken(masked(0x09, b"a")) == broken(masked(0x08, b"")) == 1002


def test_only_what_has_begun_is_continued_and_only_that() -> None:
    assert broken(masked(0x80, b"a")) == broken(masked(0x00, b"a")) == 1002
    assert broken(masked(0x02, b"a"), masked(0x82, b"b")) == broken(masked(0x01, b"a"), masked(0x81, b"b")) == 1002
    (whole, (kind, _)) = read(masked(0x02, b"a") + masked(0x80, b"b") + masked(0x80, b"c"))
    assert whole == (BINARY, b"ab")
    assert kind == BROKEN


def test_text_is_utf_8_also_across_fragments() -> None:
    word = "κόσμε🜨".encode()
    assert read(masked(0x81, word)) == [(TEXT, word)]
    for at in range(len(word)):
        assert read(masked(0x01, word[:at]), masked(0x80, word[at:])) == [(TEXT, word)]
    for bad in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", word[:-1]):
        assert broken(masked(0x81, bad)) == broken(masked(0x01, bad), masked(0x80, b"")) == 1007


@pytest.mark.parametrize("code", [1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 3999, 4000, 4999])
def test_a_close_is_given_back_as_it_came_and_nothing_is_read_after_it(code: int) -> None:
    payload = close_payload(code, "done: κ")
    assert read(masked(0x88, payload) + masked(0x82, b"abc"), masked(0x82, b"abc")) == [(CLOSE, payload)]
    assert read(masked(0x88, payload[:2])) == [(CLOSE, payload[:2])]


def test_an_empty_close_has_no_code() -> None:
    assert read(masked(0x88, b"")) == [(CLOSE, b"")]
    assert close_code(b"") == 1005


@pytest.mark.parametrize("code", [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535])
def test_close_codes_that_are_none_are_refused(code: int) -> None:
    assert broken(masked(0x88, code.to_bytes(2, "big"))) == 1002


def test_a_cut_close_code_and_a_reason_that_is_no_text_are_refused() -> None:
    assert broken(masked(0x88, b"\x03")) == 1002
    assert broken(masked(0x88, b"\x03\xe8\xff")) == 1007


def test_nothing_is_held_or_read_after_what_is_broken() -> None:
    parser = FrameParser(MOST)
    assert [kind for kind, _ in parser.feed(masked(0x02, b"abc") + masked(0x83, b"a") + bytes(1_000))] == [BROKEN]
    assert not parser.feed(masked(0x82, b"a"))
    assert parser.unfinished == 0


def test_a_reason_is_cut_to_what_a_close_frame_holds() -> None:
    payload = close_payload(4400, "é" * 100)
    assert len(payload) == 124
    assert Close.parse(payload).reason == "é" * 61


# -- the same bytes, read by the websockets library


def theirs(stream: bytes) -> tuple[list[Event], bool]:
    """What it makes of them, and whether it stops at something."""
    parser = Protocol(SERVER, state=State.OPEN, max_size=MOST)
    parser.debug = False
    parser.receive_data(stream)
    events: list[Event] = []
    parts: list[bytes] = []
    opcode = 0
    for event in parser.events_received():
        assert isinstance(event, Frame)
        if event.opcode in (Opcode.CLOSE, Opcode.PING, Opcode.PONG):
            events.append((int(event.opcode), bytes(event.data)))
            continue
        if event.opcode is not Opcode.CONT:
            parts, opcode = [], int(event.opcode)
        parts.append(bytes(event.data))
        if event.fin:
            events.append((opcode, b"".join(parts)))
    return events, parser.parser_exc is not None


def some_frames(dice: random.Random) -> bytes:
    """Mostly what a client may say, in an order in which it may; here and there a bit is wrong."""
    stream = bytearray()
    for _ in range(dice.randint(1, 12)):
        parts = dice.choice([1, 1, 1, 2, 4])
        for at in range(parts):
            last = at == parts - 1
            size = dice.choice([0, 1, 5, 20, 124, 125, 126, 127, 300, 65_535, 65_536] if dice.random() < 0.1 else [3])
            opcode = 0 if at else dice.choice([2, 2, 2, 1])
            stream += masked((0x80 if last else 0) | opcode, bytes(dice.choices(b"abc", k=size)))
            if dice.random() < 0.3:
                stream += masked(dice.choice([0x89, 0x8A]), bytes(dice.choices(b"abc", k=dice.choice([0, 4, 125]))))
    if dice.random() < 0.3:
        stream += masked(0x88, dice.choice([b"", b"\x03\xe8", b"\x03\xe8bye", b"\x0f\xa0", b"\x03\xed", b"\x03"]))
    if dice.random() < 0.4:
        stream[dice.randrange(min(len(stream), 200))] ^= 1 << dice.randrange(8)
    return bytes(stream)


def cut(dice: random.Random, stream: bytes) -> Iterable[bytes]:
    at = 0
    while at < len(stream):
        size = dice.choice([1, 2, 3, 7, 100, 5_000, len(stream)])
        yield stream[at : at + size]
        at += size


@pytest.mark.parametrize("seed", range(8))
def test_the_websockets_library_reads_the_same_of_any_bytes_however_they_are_cut(seed: int) -> None:
    dice = random.Random(seed)
    stopped = 0
    for _ in range(100):
        stream = some_frames(dice)
        expected, stops = theirs(stream)
        events = read(*cut(dice, stream))
        assert events == read(stream)
        ours_stop = bool(events) and events[-1][0] == BROKEN
        events = [event for event in events if event[0] != BROKEN]
        stopped += stops
        if stops:  # we stop as early as at the head, and then it is another reason at times; nothing more is heard
            assert ours_stop or events[-1][0] == CLOSE, "a close amid fragments is the one thing taken more kindly"
            assert [event for event in events if event[0] != CLOSE] == expected[: len(events)]
        elif ours_stop:  # they leave text to the application, and wait for the rest of a frame that is wrong already
            assert events == expected[: len(events)]
        else:
            assert events == expected
    assert stopped
