"""What the log holds. Owns the shapes that rooms write and read back; must never interpret an update's bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NewType, Protocol

from crdt_docs.ids import AgentId, DeviceId, DocName, SessionId, TokenId, UserId
from server.domain.access import PrincipalKey
from server.domain.errors import Unavailable


class LogFailed(Unavailable):
    """The server cannot store anything at the moment; what was confirmed is safe."""


class CorruptLog(Unavailable):
    """A stored row does not match its checksum; `clew verify` and `clew repair` say what can be saved."""


DocKey = NewType("DocKey", int)
"""The log's small integer for a document of one generation line."""


class Actor(NamedTuple):
    """Who made an update and through what: attribution, never permission. ``via`` is ``socket``, ``sync``, ``http``."""

    principal: PrincipalKey
    user: UserId
    agent: AgentId | None
    device: DeviceId | None
    session: SessionId | None
    token: TokenId | None
    via: str


class Entry(NamedTuple):
    """One admitted update on its way into the log."""

    update: bytes
    actor: Actor
    at: float


class Claim(NamedTuple):
    """That a client id belongs to a principal (I4). A provisional one came by a Step2 and yields to an Update."""

    client: int
    principal: PrincipalKey
    provisional: bool
    composed: bool = False
    """Whether the server itself writes under this id, for what the principal says over HTTP."""


class Logged(NamedTuple):
    """One update as the log has it."""

    seq: int
    update: bytes
    actor: Actor
    at: float


@dataclass(frozen=True, slots=True)
class Append:
    """What one room adds in one transaction. Refused as a whole if the log's head is not ``after`` any more."""

    doc: DocKey
    after: int
    entries: tuple[Entry, ...]
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A document as one trimmed update that covers the log up to and including ``seq``.

    ``state`` is the gate's own state (state vector, delete set, type table, runs) as it encodes itself, ``index`` the
    splice index; both may be empty and are then rebuilt by parsing ``update``.
    """

    seq: int
    update: bytes
    state: bytes = b""
    index: bytes = b""


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

    def fork(self, name: DocName, snapshot: Snapshot, reason: str) -> Opened:
        """Begin the next generation of a document from a snapshot; the old one is kept aside."""
        ...

    def quarantine(self, doc: DocKey, reason: str | None) -> None:
        """Mark or clear that projections of this document fail. Never stops its syncing."""
        ...

    def delete(self, name: DocName, *more: DocName) -> None:
        """Remove documents, their rows, snapshots and claims, and leave no bytes of them in the file or its WAL.

        May take long, and nothing is written meanwhile: name all that are to go at once.
        """
        ...

    def names(self) -> list[tuple[DocName, DocKey, int]]:
        """Every document with its key and generation."""
        ...

    def watch(self, heard: Callable[[DocKey, int], None]) -> Callable[[], None]:
        """Be told (from any thread) of each append's document and new head, by whomever; returns how to stop."""
        ...
