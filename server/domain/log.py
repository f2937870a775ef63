"""What the log holds. Owns the shapes that rooms write and read back; must never interpret an update's bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, NewType, Protocol, TypeVar

from crdt_docs.ids import AgentId, DeviceId, DocName, SessionId, TokenId, UserId
from crdt_docs.updates.parse import Id
from server.domain.access import Principal, PrincipalKey
from server.domain.errors import Unavailable


class LogFailed(Unavailable):
    """The server cannot store anything at the moment; what was confirmed is safe."""


class CorruptLog(Unavailable):
    """A stored row does not match its checksum; `clew verify` and `clew repair` say what can be saved."""


DocKey = NewType("DocKey", int)
"""The log's small integer for a document of one generation line."""


class Actor(NamedTuple):
    """Who made an update and through what: attribution, never permission.

    ``via`` is ``socket``, ``http``, ``sync`` for what was written without a connection and brought later, perhaps by a
    neighbour, or ``erasure``, which is nobody's edit.
    """

    principal: PrincipalKey
    user: UserId
    agent: AgentId | None
    device: DeviceId | None
    session: SessionId | None
    token: TokenId | None
    via: str

    @classmethod
    def of(cls, who: Principal, via: str) -> Actor:
        """Who is to be named for what comes from there."""
        return cls(who.key, who.user, who.agent, who.device, who.session, who.token, via)


class Entry(NamedTuple):
    """One admitted update on its way into the log.

    ``begun`` are the (client, clock) from which on a client id may be another actor's than before. ``cut`` are the
    ids of the Texts and Maps from which it deletes something, and of entries of roots that it deletes.
    """

    update: bytes
    actor: Actor
    at: float
    begun: tuple[Id, ...] = ()
    cut: tuple[Id, ...] = ()


class Claim(NamedTuple):
    """That a client id belongs to a principal (I4). A provisional one came by a Step2 and yields to an Update."""

    client: int
    principal: PrincipalKey
    provisional: bool
    composed: bool = False
    """Whether the server itself writes under this id, for what the principal says over HTTP."""


Span = tuple[int, int, int]
"""Clocks of a client: (client, first, first after)."""
AUTHOR_HOLDS: Final = 3600.0
"""Seconds after which the same actor is noted again, so that it is known about when something was written."""


class Author(NamedTuple):
    """Who wrote under a client id from that clock on, and when that began; Unix seconds."""

    clock: int
    actor: Actor
    at: float


class Cut(NamedTuple):
    """That the actor deleted something from the type with that id, or that entry itself; lastly at ``seq``."""

    client: int
    clock: int
    seq: int
    actor: Actor
    at: float


Who = TypeVar("Who")


def begins(last: tuple[int, Who, float] | None, clock: int, who: Who, at: float) -> bool:
    """Whether a new author is to be noted from that clock on, given the last one as (clock, who, at).

    A restore can take a client id back behind the clock of the last one, who then wrote nothing that is left.
    """
    return last is None or last[0] > clock or last[1] != who or at - last[2] >= AUTHOR_HOLDS


class Logged(NamedTuple):
    """One update as the log has it."""

    seq: int
    update: bytes
    actor: Actor
    at: float


class Append(NamedTuple):
    """What one room adds in one transaction. Refused as a whole if the log's head is not ``after`` any more."""

    doc: DocKey
    after: int
    entries: tuple[Entry, ...]
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A document as one trimmed update that covers the log up to and including ``seq``.

    ``state`` is the gate's own state (state vector, delete set, type table, runs) as it encodes itself, ``index`` the
    splice index; both may be empty and are then rebuilt by parsing ``update``. One that is long lies in ``pieces``, and
    ``update`` is empty then: tens of megabytes are nothing to be copied at once where others wait.
    """

    seq: int
    update: bytes
    state: bytes = b""
    index: bytes = b""
    pieces: tuple[bytes, ...] = ()

    @property
    def parts(self) -> tuple[bytes, ...]:
        """The update as it lies."""
        return self.pieces or (self.update,)

    @property
    def size(self) -> int:
        """Bytes of the update."""
        return sum(map(len, self.parts))

    def whole(self) -> Snapshot:
        """The same in one piece, for where nobody waits."""
        return Snapshot(self.seq, b"".join(self.parts), self.state, self.index)


@dataclass(frozen=True, slots=True)
class Opened:
    """All that a room starts from: snapshot, tail after it, who owns which client id."""

    doc: DocKey
    generation: int
    head: int
    quarantined: str | None
    snapshot: Snapshot | None
    tail: tuple[Logged, ...]
    claims: tuple[Claim, ...] = field(default=())

    @property
    def snapshot_size(self) -> int:
        """Bytes of the snapshot's update, 0 without one."""
        return 0 if self.snapshot is None else self.snapshot.size

    @property
    def tail_size(self) -> int:
        """Bytes of the updates after it."""
        return sum([len(logged.update) for logged in self.tail])


class UpdateLog(Protocol):
    """The append-only truth. Every method is synchronous and may block: call it from a thread that may wait.

    Several rooms, in one process or in many, may stand over one log: order and closure (I1, I2) hold because an
    append names the head that it was admitted against, and is refused when that head has moved.
    """

    def open(self, name: DocName) -> Opened:
        """Read a document, making it if need be. Verifies checksums; raises CorruptLog."""
        ...

    def exists(self, name: DocName) -> bool:
        """Whether anything was ever logged, or a document made, under that name."""
        ...

    def append(self, batch: Sequence[Append]) -> list[int | None]:
        """Commit the batch in one transaction, durably by the log's own rule, and answer each append's new head.

        None for an append whose ``after`` was not the head: it wrote nothing, the rest of the batch is not affected.
        Raises OSError or LogFailed if the commit itself failed: then nothing of the batch is in the log.
        """
        ...

    def tail(self, doc: DocKey, after: int) -> list[Logged]:
        """What was logged after that seq, in order. Empty if nothing was, or if a snapshot covers it."""
        ...

    def replace(self, doc: DocKey, snapshot: Snapshot) -> bool:
        """Store the snapshot and drop the rows it covers, in one transaction. False if the present one is newer."""
        ...

    def stage(self, doc: DocKey, snapshot: Snapshot) -> Sequence[Callable[[], None]]:
        """What to do, one after the other, before ``replace`` by a snapshot in pieces. Each is a short commit."""
        ...

    def drop_covered(self, doc: DocKey) -> bool:
        """Remove some of what ``replace``, or one cut short, left: a short commit. Whether there may be more."""
        ...

    def fork(self, name: DocName, snapshot: Snapshot, reason: str) -> Opened:
        """Begin the next generation of a document from a snapshot; the old one is kept aside."""
        ...

    def quarantine(self, doc: DocKey, reason: str | None) -> None:
        """Mark or clear that projections of this document fail. Never stops its syncing."""
        ...

    def delete(self, name: DocName, *more: DocName) -> None:
        """Remove documents, their rows, snapshots and claims, and leave no bytes of them in the file or its WAL.

        May take long, and nothing is written meanwhile: name all that are to go at once. Bytes that somebody is
        reading at that moment may stay for as long as that lasts.
        """
        ...

    def authors(self, doc: DocKey, spans: Sequence[Span]) -> list[list[Author]]:
        """For each span its authors in order of their clocks; the first may have begun before it. None are unknown."""
        ...

    def cuts(self, doc: DocKey, after: int) -> list[Cut]:
        """What was deleted from after that seq, in order; of each actor and place the last time."""
        ...

    def names(self) -> list[tuple[DocName, DocKey, int]]:
        """Every document with its key and generation."""
        ...

    def watch(self, heard: Callable[[DocKey, int], None]) -> Callable[[], None]:
        """Be told (from any thread) of each append's document and new head, by whomever; returns how to stop."""
        ...
