"""Both wires, held to the bytes that real clients sent and to the ones that none ever should."""

import random
from collections.abc import Callable

import pytest

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.lib0 import varbytes, varstring, varuint
from crdt_docs.messages import (
    Authenticated,
    Awareness,
    Barrier,
    Close,
    Denied,
    Ping,
    Pong,
    QueryAwareness,
    Refused,
    Renew,
    Stateless,
    SyncStatus,
    SyncStep1,
    SyncStep2,
    Token,
    TokenRequest,
    Update,
    hocuspocus,
    ywebsocket,
)
from crdt_docs.messages.hocuspocus import FromClient, FromServer
from crdt_docs.messages.vocabulary import (
    MAX_AWARENESS_BYTES,
    MAX_AWARENESS_SENT,
    MAX_STATES_SENT,
    MAX_WHY,
    State,
    in_portions,
)

UPDATE = bytes.fromhex("0101050004010174017800")
"""yjs, client 5: getText('t').insert(0, 'x')."""

YWEBSOCKET = [
    ("00000100", SyncStep1(b"\x00")),
    ("0001020000", SyncStep2(b"\x00\x00")),
    ("00020b" + UPDATE.hex(), Update(UPDATE)),
    ("01060105 00027b7d", Awareness((State(5, 0, "{}"),))),
    ("01080105 00046e756c6c", Awareness((State(5, 0, None),))),
    ("03", QueryAwareness()),
    ("6407", Barrier(7)),
    ("64ac02", Barrier(300)),
    ("6603616263", Renew("abc")),
    ("6600", Renew("")),
]
YWEBSOCKET_SERVER = [
    ("0200026e6f", Denied("no")),
    ("65b122026e6f", Refused(4401, "no")),
]

HOCUSPOCUS_CLIENT = [
    ("03646f63 02 00 03746f6b 05342e382e30", Token("tok", "4.8.0")),
    ("03646f63 02 00 03746f6b", Token("tok", None)),
    ("03646f63 00 00 0100", SyncStep1(b"\x00")),
    ("03646f63 01 06 01 05 00 02 7b7d", Awareness((State(5, 0, "{}"),))),
    ("03646f63 00 01 02 0000", SyncStep2(b"\x00\x00")),
    ("03646f63 00 02 0b" + UPDATE.hex(), Update(UPDATE)),
    ("03646f63 05 026869", Stateless("hi")),
    ("03646f63 03", QueryAwareness()),
    ("03646f63 07", Close()),
]
HOCUSPOCUS_SERVER = [
    ("03646f63 02 02 0a726561642d7772697465", Authenticated(readonly=False)),
    ("03646f63 02 02 08726561646f6e6c79", Authenticated(readonly=True)),
    ("03646f63 02 01 117065726d697373696f6e2d64656e696564", Denied("permission-denied")),
    ("03646f63 00 00 0100", SyncStep1(b"\x00")),
    ("03646f63 00 01 02 0000", SyncStep2(b"\x00\x00")),
    ("03646f63 08 01", SyncStatus(applied=True)),
    ("03646f63 08 00", SyncStatus(applied=False)),
    ("03646f63 02 00", TokenRequest()),
    ("03646f63 07 026e6f", Close("no")),
]


@pytest.mark.parametrize(("frame", "message"), YWEBSOCKET, ids=lambda value: value if isinstance(value, str) else "")
def test_y_websocket_frames_read_and_write_alike(frame: str, message: ywebsocket.ClientMessage) -> None:
    assert ywebsocket.decode(bytes.fromhex(frame)) == message
    assert ywebsocket.decode_reply(bytes.fromhex(frame)) == message
    assert ywebsocket.encode(message) == bytes.fromhex(frame)


@pytest.mark.parametrize(("frame", "message"), YWEBSOCKET, ids=lambda value: value if isinstance(value, str) else "")
def test_a_frame_that_is_given_away_reads_the_same(frame: str, message: ywebsocket.ClientMessage) -> None:
    given = bytearray.fromhex(frame)
    assert ywebsocket.decode_long(given) == message
    if isinstance(message, Update | SyncStep2):
        assert given == message.update, "the update is what is left of it"
    for wrong in (bytes.fromhex(frame)[:-1], bytes.fromhex(frame) + b"x"):
        with pytest.raises(Malformed):
            ywebsocket.decode_long(bytearray(wrong))


@pytest.mark.parametrize(("frame", "body"), HOCUSPOCUS_CLIENT)
def test_a_frame_of_a_provider_that_is_given_away_reads_the_same(frame: str, body: hocuspocus.ClientBody) -> None:
    given = bytearray.fromhex(frame)
    if not isinstance(body, Update | SyncStep2):
        assert hocuspocus.decode_long(given) == FromClient("doc", body)
        return
    assert hocuspocus.decode_long(given) == FromClient("doc", type(body)(bytes(given)))
    del given[:4]
    assert ywebsocket.decode_long(given) == body
    with pytest.raises(Malformed):
        hocuspocus.decode_long(bytearray.fromhex(frame) + b"x")


@pytest.mark.parametrize(("frame", "message"), YWEBSOCKET_SERVER)
def test_what_only_a_server_says_is_refused_from_a_client(frame: str, message: ywebsocket.ServerMessage) -> None:
    assert ywebsocket.decode_reply(bytes.fromhex(frame)) == message
    assert ywebsocket.encode(message) == bytes.fromhex(frame)
    with pytest.raises(Malformed):
        ywebsocket.decode(bytes.fromhex(frame))


@pytest.mark.parametrize(("frame", "body"), HOCUSPOCUS_CLIENT)
def test_hocuspocus_frames_of_a_provider_read_and_write_alike(frame: str, body: hocuspocus.ClientBody) -> None:
    assert hocuspocus.decode(bytes.fromhex(frame)) == FromClient("doc", body)
    assert hocuspocus.encode("doc", body) == bytes.fromhex(frame)


@pytest.mark.parametrize(("frame", "body"), HOCUSPOCUS_SERVER)
def test_hocuspocus_frames_of_a_server_read_and_write_alike(frame: str, body: hocuspocus.ServerBody) -> None:
    assert hocuspocus.decode_reply(bytes.fromhex(frame)) == FromServer("doc", body)
    assert hocuspocus.encode("doc", body) == bytes.fromhex(frame)


def test_ping_and_pong_are_one_byte_without_an_address() -> None:
    assert hocuspocus.decode(hocuspocus.PONG) == Pong()
    assert hocuspocus.decode_reply(hocuspocus.PING) == Ping()
    for frame in (hocuspocus.PING, b"\x0a\x0a"):
        with pytest.raises(Malformed):
            hocuspocus.decode(frame)
    with pytest.raises(Malformed):
        hocuspocus.decode_reply(hocuspocus.PONG)


def test_an_address_with_a_session_comes_back_byte_for_byte() -> None:
    frame = varstring("doc\0s-1") + b"\x03"
    read = hocuspocus.decode(frame)
    assert isinstance(read, FromClient)
    assert read.address == "doc\0s-1"
    assert hocuspocus.encode(read.address, read.body) == frame


@pytest.mark.parametrize("kind", [4, 6, 8, 9, 10, 11, 127, 255])
def test_no_client_may_send_what_servers_say_among_themselves(kind: int) -> None:
    with pytest.raises(Malformed):
        hocuspocus.decode(b"\x03doc" + varuint(kind) + b"\x00\x01\x00")


@pytest.mark.parametrize("kind", [k for k in range(256) if k not in (0, 1, 3, 100, 102)])
def test_unknown_types_are_malformed(kind: int) -> None:
    for body in (b"", b"\x00", b"\x00\x00", b"\x02hi"):
        with pytest.raises(Malformed):
            ywebsocket.decode(varuint(kind) + body)


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "8000000100",  # type 0 in two bytes
        "8200",  # 2 in two bytes
        "0000810000",  # length 1 in two bytes
        "0080000100",  # kind 0 in two bytes
        "0003020000",  # sync message 3
        "00020cffff",  # shorter than it says
        "000102000000",  # a byte too many
        "0300",
        "640700",
        "64ffffffffffffffff7f",  # over 53 bits
        "64ffffffffffffffffffffffff01",
        "01",
        "0106010500027b",
        "01050105000 27b7d".replace(" ", ""),  # the inner length is one short
        "0107010500027b7d00",  # a byte too many inside
        "0106020500027b7d",  # two states promised
        "010601050002c328",  # not UTF-8
    ],
)
def test_bytes_that_no_client_writes_are_malformed(frame: str) -> None:
    with pytest.raises(Malformed):
        ywebsocket.decode(bytes.fromhex(frame))
    if frame:
        with pytest.raises(Malformed):
            hocuspocus.decode(b"\x03doc" + bytes.fromhex(frame))


def test_a_long_run_of_continuation_bytes_costs_nothing() -> None:
    for frame in (b"\xff" * 1_000_000, b"\x64" + b"\xff" * 1_000_000, b"\x00\x00" + b"\x80" * 1_000_000):
        with pytest.raises(Malformed):
            ywebsocket.decode(frame)


def test_awareness_is_bounded_in_bytes_and_in_states() -> None:
    crowd = b"".join(varuint(n) + b"\x00\x04null" for n in range(1024))
    read = ywebsocket.decode(b"\x01" + varbytes(varuint(1024) + crowd))
    assert isinstance(read, Awareness)
    assert len(read.states) == 1024
    with pytest.raises(TooLarge):
        ywebsocket.decode(b"\x01" + varbytes(varuint(1025) + crowd + b"\x05\x00\x04null"))
    with pytest.raises(TooLarge):
        ywebsocket.decode(b"\x01" + varbytes(b"\x01\x05\x00" + varstring("x" * MAX_AWARENESS_BYTES)))


def test_a_count_without_bytes_behind_it_is_malformed() -> None:
    with pytest.raises(Malformed):
        ywebsocket.decode(b"\x01" + varbytes(varuint(1000)))


def test_portions_fit_what_a_client_may_send_back() -> None:
    states = [State(2**32 - n, 2**31, '"' + "é" * 2000 + '"') for n in range(200)] + [
        State(n, 1, None) for n in range(500)
    ]
    frames = [ywebsocket.encode(Awareness(portion)) for portion in in_portions(states)]
    back: list[State] = []
    for frame in frames:
        assert len(frame) <= MAX_AWARENESS_SENT + 4096
        message = ywebsocket.decode(frame)
        assert isinstance(message, Awareness)
        assert len(message.states) <= MAX_STATES_SENT
        back += message.states
    assert back == states
    assert list(in_portions([])) == []


def test_reasons_are_cut_at_a_character() -> None:
    long = "é" * MAX_WHY
    for code in (4400, 4413):
        read = ywebsocket.decode_reply(ywebsocket.encode(Refused(code, long)))
        assert isinstance(read, Refused)
        assert read.why == "é" * (MAX_WHY // 2)
    assert hocuspocus.decode_reply(hocuspocus.encode("d", Close(long))) == FromServer("d", Close("é" * (MAX_WHY // 2)))


@pytest.mark.parametrize(
    "frame",
    [
        varstring("d" * 400) + b"\x03",
        b"\x01d\x02\x00" + varstring("t" * 5000),
        b"\x01d\x02\x00\x01t" + varstring("v" * 100),
        b"\x01d\x05" + varstring("s" * 20_000),
    ],
)
def test_hocuspocus_texts_are_bounded(frame: bytes) -> None:
    with pytest.raises(TooLarge):
        hocuspocus.decode(frame)


def test_a_ticket_is_bounded() -> None:
    with pytest.raises(TooLarge):
        ywebsocket.decode(b"\x66" + varstring("t" * 600))


def test_ready_made_frames_equal_encoded_ones() -> None:
    assert ywebsocket.update_frame(UPDATE) == ywebsocket.encode(Update(UPDATE))
    assert ywebsocket.step1_frame(b"\x00") == ywebsocket.encode(SyncStep1(b"\x00")) == ywebsocket.EMPTY_STEP1
    assert ywebsocket.step2_frame(b"\x00\x00") == ywebsocket.encode(SyncStep2(b"\x00\x00")) == ywebsocket.EMPTY_STEP2


@pytest.mark.parametrize(
    "decode", [ywebsocket.decode, ywebsocket.decode_reply, hocuspocus.decode, hocuspocus.decode_reply]
)
def test_mutated_frames_are_read_or_malformed_and_nothing_else(decode: Callable[[bytes], object]) -> None:
    draw = random.Random(7)
    seeds = [bytes.fromhex(frame) for frame, _ in [*YWEBSOCKET, *YWEBSOCKET_SERVER]]
    seeds += [bytes.fromhex(frame) for frame, _ in [*HOCUSPOCUS_CLIENT, *HOCUSPOCUS_SERVER]]
    read = 0
    for _ in range(20_000):
        frame = bytearray(draw.choice(seeds))
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(frame) + 1)
            match draw.randrange(3):
                case 0:
                    frame[at : at + 1] = bytes((draw.randrange(256),))
                case 1:
                    del frame[at : at + draw.randint(1, 3)]
                case _:
                    frame[at:at] = draw.randbytes(draw.randint(1, 3))
        try:
            decode(bytes(frame))
            read += 1
        except Malformed:
            pass
    assert 500 < read < 19_000
