"""The Hocuspocus wire, as providers 3 and 4 speak it: many documents on one socket.

Every frame is ``varString address, varUint type, body``; only Ping and Pong are a single byte without an address. The
address is the document's name, or the name, a zero byte and a session id (``sessionAwareness``); answers must repeat
it byte for byte.

    0  Sync               the body of y-websocket's type 0                           both ways
    1  Awareness          varBytes awareness                                         both ways
    2  Auth               0 varString token [varString version]                      client to server
                          0                       a request for the token            server to client
                          1 varString reason      denied; the socket stays           server to client
                          2 varString scope       "read-write" or "readonly"         server to client
    3  QueryAwareness                                                                both ways
    4  SyncReply          between servers only: refused
    5  Stateless          varString                                                  both ways
    6  BroadcastStateless inside the server only: refused
    7  Close              empty from the client, varString reason from the server    both ways
    8  SyncStatus         varUint 1 applied, 0 not                                   server to client
    9  Ping, 10 Pong      the whole frame is the byte                                server; client

``decode`` reads what a client may send, ``decode_reply`` what a server may.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.lib0 import Reader, varstring
from crdt_docs.messages.vocabulary import (
    LONGEST_OTHER,
    MAX_WHY,
    Authenticated,
    Awareness,
    Close,
    Denied,
    Ping,
    Pong,
    QueryAwareness,
    Stateless,
    SyncMessage,
    SyncStatus,
    SyncStep1,
    SyncStep2,
    Token,
    TokenRequest,
    Update,
    awareness_body,
    peek,
    read_awareness,
    read_sync,
    short,
    sync_body,
)

SYNC: Final = 0
AWARENESS: Final = 1
AUTH: Final = 2
QUERY_AWARENESS: Final = 3
SYNC_REPLY: Final = 4
STATELESS: Final = 5
BROADCAST_STATELESS: Final = 6
CLOSE: Final = 7
SYNC_STATUS: Final = 8

PING: Final = b"\x09"
PONG: Final = b"\x0a"

MAX_ADDRESS: Final = 256
MAX_TOKEN: Final = 4096
MAX_VERSION: Final = 64
MAX_STATELESS: Final = 16 * 1024

ClientBody = SyncMessage | Awareness | Token | QueryAwareness | Stateless | Close
ServerBody = (
    SyncMessage | Awareness | TokenRequest | Denied | Authenticated | QueryAwareness | Stateless | Close | SyncStatus
)
Body = ClientBody | ServerBody


class FromClient(NamedTuple):
    """A client's message and the address it is for."""

    address: str
    body: ClientBody


class FromServer(NamedTuple):
    """A server's message and the address it is for."""

    address: str
    body: ServerBody


def decode(frame: bytes) -> FromClient | Pong:
    """Read one frame from a client."""
    if frame == PONG:
        return Pong()
    reader = Reader(frame)
    address = _text(reader, MAX_ADDRESS)
    kind = reader.varuint()
    shared = _read_shared(kind, reader)
    body: ClientBody
    if shared is not None:
        body = shared
    elif kind == AUTH:
        if reader.varuint() != 0:
            raise Malformed("unknown auth message")
        token = _text(reader, MAX_TOKEN)
        body = Token(token, _text(reader, MAX_VERSION) if reader.at < len(frame) else None)
    elif kind == CLOSE:
        body = Close()
    else:
        raise Malformed(f"unknown message type {kind}")
    reader.finish()
    return FromClient(address, body)


def decode_long(frame: bytearray) -> FromClient | Pong:
    """``decode``, of a frame that goes on to y-websocket's ``decode_long``: an update is the whole frame still."""
    reader = Reader(frame)
    address = _text(reader, MAX_ADDRESS)
    said = peek(reader, frame)
    return decode(bytes(frame[:LONGEST_OTHER])) if said is None else FromClient(address, said[1])


def decode_reply(frame: bytes) -> FromServer | Ping:
    """Read one frame from a server."""
    if frame == PING:
        return Ping()
    reader = Reader(frame)
    address = _text(reader, MAX_ADDRESS)
    kind = reader.varuint()
    shared = _read_shared(kind, reader)
    body: ServerBody
    if shared is not None:
        body = shared
    elif kind == AUTH:
        body = _read_auth_reply(reader)
    elif kind == CLOSE:
        body = Close(_text(reader, MAX_WHY))
    elif kind == SYNC_STATUS:
        body = SyncStatus(_flag(reader))
    else:
        raise Malformed(f"unknown message type {kind}")
    reader.finish()
    return FromServer(address, body)


def encode(address: str, body: Body) -> bytes:
    """Write one frame, for either direction. A Close without a reason is the client's."""
    return varstring(address) + _encode_body(body)


def _encode_body(body: Body) -> bytes:
    match body:
        case SyncStep1() | SyncStep2() | Update():
            return b"\x00" + sync_body(body)
        case Awareness(states):
            return b"\x01" + awareness_body(states)
        case Token(token, version):
            return b"\x02\x00" + varstring(token) + (b"" if version is None else varstring(version))
        case TokenRequest():
            return b"\x02\x00"
        case Denied(reason):
            return b"\x02\x01" + varstring(short(reason))
        case Authenticated(readonly):
            return b"\x02\x02" + varstring("readonly" if readonly else "read-write")
        case QueryAwareness():
            return b"\x03"
        case Stateless(payload):
            return b"\x05" + varstring(payload)
        case Close(reason):
            return b"\x07" + (b"" if reason is None else varstring(short(reason)))
        case SyncStatus(applied):
            return b"\x08\x01" if applied else b"\x08\x00"


def _read_shared(kind: int, reader: Reader) -> SyncMessage | Awareness | QueryAwareness | Stateless | None:
    if kind == SYNC:
        return read_sync(reader)
    if kind == AWARENESS:
        return read_awareness(reader)
    if kind == QUERY_AWARENESS:
        return QueryAwareness()
    if kind == STATELESS:
        return Stateless(_text(reader, MAX_STATELESS))
    return None


def _read_auth_reply(reader: Reader) -> TokenRequest | Denied | Authenticated:
    kind = reader.varuint()
    if kind == 0:
        return TokenRequest()
    if kind == 1:
        return Denied(_text(reader, MAX_WHY))
    if kind == 2:
        scope = _text(reader, MAX_WHY)
        if scope in ("read-write", "readonly"):
            return Authenticated(readonly=scope == "readonly")
        raise Malformed("unknown scope")
    raise Malformed("unknown auth message")


def _text(reader: Reader, limit: int) -> str:
    start = reader.at
    text = reader.string()
    if reader.at - start > limit + 2:
        raise TooLarge(f"text over {limit} bytes")
    return text


def _flag(reader: Reader) -> bool:
    value = reader.varuint()
    if value > 1:
        raise Malformed("flag is neither 0 nor 1")
    return value == 1
