"""Short ways to write down what goes into a log."""

from __future__ import annotations

from crdt_docs.ids import DeviceId, DocName, SessionId, TaskId, UserId, new_id
from server.domain.access import PrincipalKey
from server.domain.log import Actor, Append, Claim, DocKey, Entry, Opened

ANN = PrincipalKey("user:ann")
BOB = PrincipalKey("user:bob")


def new_name() -> DocName:
    return DocName(TaskId(new_id()))


def actor(who: PrincipalKey = ANN, via: str = "socket") -> Actor:
    return Actor(who, UserId(who.partition(":")[2]), None, DeviceId("phone"), SessionId("s1"), None, via)


def written(
    by: Actor, *begun: tuple[int, int], cut: tuple[tuple[int, int], ...] = (), at: float = 1000.25
) -> tuple[Entry, ...]:
    """One entry, with what is noted beside it."""
    return (Entry(b"u", by, at, begun, cut),)


def entries(*updates: bytes, by: Actor | None = None, at: float = 1000.25) -> tuple[Entry, ...]:
    return tuple(Entry(update, by or actor(), at) for update in updates)


def append(doc: DocKey, after: int, *updates: bytes, claims: tuple[Claim, ...] = (), by: Actor | None = None) -> Append:
    return Append(doc, after, entries(*updates, by=by), claims)


def updates(opened: Opened) -> list[tuple[int, bytes]]:
    return [(entry.seq, entry.update) for entry in opened.tail]
