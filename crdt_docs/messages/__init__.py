"""What is said on a socket, as values, in two wires: ``ywebsocket`` and ``hocuspocus``.

This is the face for those outside the package; the codecs are ``crdt_docs.messages.ywebsocket`` and
``crdt_docs.messages.hocuspocus``. Both are pure: bytes in, values out, or Malformed.
"""

from crdt_docs.messages.vocabulary import (
    Authenticated,
    Awareness,
    Barrier,
    Close,
    Denied,
    Notice,
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
)

__all__ = [
    "Authenticated",
    "Awareness",
    "Barrier",
    "Close",
    "Denied",
    "Notice",
    "Ping",
    "Pong",
    "QueryAwareness",
    "Refused",
    "Renew",
    "Stateless",
    "SyncStatus",
    "SyncStep1",
    "SyncStep2",
    "Token",
    "TokenRequest",
    "Update",
]
