"""One replica's side of the conversation: frames in, frames and events out.

Owns the y-websocket client's state machine and its view of who else is here. Must never do I/O, read a clock, or hold
what the document holds: what was said while the connection was down travels in the next SyncStep2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from crdt_docs.errors import Malformed
from crdt_docs.messages.vocabulary import (
    Awareness,
    Barrier,
    Denied,
    Notice,
    QueryAwareness,
    Refused,
    Renew,
    State,
    SyncStep1,
    SyncStep2,
    Update,
)
from crdt_docs.messages.ywebsocket import decode_reply, encode, step1_frame, step2_frame, update_frame
from crdt_docs.presence import Presence, read_presence
from crdt_docs.updates.parse import parse
from crdt_docs.updates.vectors import decode_state_vector

CHECKED_BYTES: Final = 16 * 1024
"""Updates up to this size are looked at for gaps."""
RENEW_AFTER: Final = 15.0
OUTDATED_AFTER: Final = 30.0
"""Seconds, as in y-protocols: presence is renewed after the one and forgotten after the other."""


class Document(Protocol):
    """The CRDT document that a replica keeps in step, whatever engine holds it."""

    def state_vector(self) -> bytes:
        """What it has, encoded."""
        ...

    def diff(self, state_vector: bytes) -> bytes:
        """What somebody at that state vector lacks, as one v1 update with the whole delete set."""
        ...

    def apply(self, update: bytes) -> None:
        """Take in an update from elsewhere."""
        ...


@dataclass(frozen=True, slots=True)
class Synced:
    """The document holds all that the server had when it answered. Once per connection."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """All that was said before this barrier is durable, or was refused (then ``refusals`` tells)."""

    number: int
    refusals: tuple[Refused, ...]


@dataclass(frozen=True, slots=True)
class WriteRefused:
    """The server did not admit something, and the connection goes on."""

    code: int
    why: str


@dataclass(frozen=True, slots=True)
class GapSeen:
    """An update refers to what never came; the server was asked for it."""


@dataclass(frozen=True, slots=True)
class RenewalWanted:
    """The connection's lease runs out; answer with ``Replica.renew``."""


@dataclass(frozen=True, slots=True)
class PeersChanged:
    """Somebody came, went, or changed what they show."""

    clients: frozenset[int]


Event = Synced | Confirmed | WriteRefused | GapSeen | RenewalWanted | PeersChanged


class Reaction(NamedTuple):
    """What a frame led to: frames to send, in order, and what is worth knowing."""

    frames: tuple[bytes, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(slots=True)
class _Peer:
    clock: int
    heard_at: float
    state: Presence | None = None


@dataclass(slots=True)
class Peers:
    """Who is here, by the clock rule of y-protocols (``awareness.js``); times in seconds of any monotonic clock."""

    client: int
    own: Presence | None = None
    _clock: int = 0
    _said_at: float = 0.0
    _known: dict[int, _Peer] = field(default_factory=dict)

    def visible(self) -> dict[int, Presence]:
        """The others, by client id."""
        return {client: peer.state for client, peer in self._known.items() if peer.state is not None}

    def show(self, own: Presence | None, now: float) -> tuple[State, ...]:
        """Change what is shown of oneself; the states to send."""
        self._clock += 1
        self._said_at = now
        self.own = own
        return self.introduction()

    def introduction(self) -> tuple[State, ...]:
        """One's own state, under the clock it has."""
        return (State(self.client, self._clock, None if self.own is None else self.own.to_json()),)

    def hear(self, states: Sequence[State], now: float) -> frozenset[int]:
        """Take what the server says of others; who changed. Raises Malformed for a state that is none."""
        changed = set()
        for client, clock, text in states:
            if client == self.client:
                continue  # nobody knows better what is shown of oneself
            peer = self._known.get(client)
            known = -1 if peer is None else peer.clock
            if known < clock or (known == clock and text is None):
                state = None if text is None else read_presence(text)
                if (None if peer is None else peer.state) != state:
                    changed.add(client)
                self._known[client] = _Peer(clock, now, state)
        return frozenset(changed)

    def tick(self, now: float) -> tuple[tuple[State, ...], frozenset[int]]:
        """Renew oneself and forget who has been silent: the states to send, and who is gone."""
        gone = set()
        for client, peer in self._known.items():
            if peer.state is not None and now - peer.heard_at >= OUTDATED_AFTER:
                peer.state = None
                gone.add(client)
        if self.own is not None and now - self._said_at >= RENEW_AFTER:
            return self.show(self.own, now), frozenset(gone)
        return (), frozenset(gone)

    def lost(self) -> frozenset[int]:
        """The connection is gone, and everybody with it; their clocks are kept."""
        gone = frozenset(self.visible())
        for client in gone:
            self._known[client].state = None
        return gone


class Replica:
    """A document's conversation with its server, over as many connections as it takes.

    R1  the server's SyncStep1 is answered at once, and open barriers are sent again after the answer: so a barrier
        covers what was done while there was no connection
    R2  a barrier is confirmed by its own number on the present connection, and with it all earlier ones
    R3  at most one SyncStep1 of our own is open
    """

    def __init__(self, document: Document, client: int) -> None:
        self.document = document
        self.peers = Peers(client)
        self.connected = False
        self.synced = False
        self._asked = False
        self._answered = False
        self._next = 0
        self._open: list[int] = []
        self._refusals: list[Refused] = []

    def connect(self) -> tuple[bytes, ...]:
        """A connection is open: what to send on it first."""
        self.connected = True
        self.synced = self._answered = False
        frames = [self._ask()]
        if self.peers.own is not None:
            frames.append(encode(Awareness(self.peers.introduction())))
        return tuple(frames)

    def disconnect(self) -> Reaction:
        """The connection is gone. What it has not confirmed stays open for the next one."""
        self.connected = self.synced = self._answered = self._asked = False
        gone = self.peers.lost()
        return Reaction((), (PeersChanged(gone),) if gone else ())

    def edit(self, update: bytes) -> tuple[bytes, ...]:
        """The document was changed here; what to send of it now."""
        return (update_frame(update),) if self.connected else ()

    def barrier(self) -> tuple[int, tuple[bytes, ...]]:
        """Ask for confirmation of all that was done so far: its number, and what to send now."""
        self._next += 1
        self._open.append(self._next)
        return self._next, (encode(Barrier(self._next)),) if self._answered else ()

    def show(self, presence: Presence | None, now: float) -> tuple[bytes, ...]:
        """Change what others see of us; what to send now."""
        states = self.peers.show(presence, now)
        return (encode(Awareness(states)),) if self.connected else ()

    def tick(self, now: float) -> Reaction:
        """Call this every few seconds: it renews our presence and forgets whoever has gone silent."""
        states, gone = self.peers.tick(now)
        frames = (encode(Awareness(states)),) if states and self.connected else ()
        return Reaction(frames, (PeersChanged(gone),) if gone else ())

    def renew(self, ticket: str) -> tuple[bytes, ...]:
        """Answer RenewalWanted with a new ticket."""
        return (encode(Renew(ticket)),) if self.connected else ()

    def receive(self, frame: bytes, now: float) -> Reaction:
        """Take one frame from the server. Raises Malformed if it is none."""
        message = decode_reply(frame)
        match message:
            case SyncStep1(vector):
                return self._answer(vector)
            case SyncStep2(update):
                return self._take_step2(update)
            case Update(update):
                return self._take(update)
            case Awareness(states):
                changed = self.peers.hear(states, now)
                return Reaction((), (PeersChanged(changed),) if changed else ())
            case QueryAwareness():
                return Reaction((encode(Awareness(self.peers.introduction())),))
            case Barrier(number):
                return Reaction((), self._confirm(number))
            case Refused(code, why):
                self._refusals.append(message)
                return Reaction((), (WriteRefused(code, why),))
            case Renew():
                return Reaction((), (RenewalWanted(),))
            case Denied(reason):
                return Reaction((), (WriteRefused(4403, reason),))
            case Notice():
                return Reaction(())  # for a person's page

    def _ask(self) -> bytes:
        self._asked = True
        return step1_frame(self.document.state_vector())

    def _answer(self, vector: bytes) -> Reaction:
        frames = [step2_frame(self.document.diff(vector))]
        if not self._answered:
            self._answered = True
            frames += [encode(Barrier(number)) for number in self._open]
        return Reaction(tuple(frames))

    def _take_step2(self, update: bytes) -> Reaction:
        if update != b"\x00\x00":
            self.document.apply(update)
        self._asked = False
        if self.synced:
            return Reaction()
        self.synced = True
        return Reaction((), (Synced(),))

    def _take(self, update: bytes) -> Reaction:
        self.document.apply(update)
        if not self.synced or self._asked or len(update) > CHECKED_BYTES or not self._leaves_gap(update):
            return Reaction()
        return Reaction((self._ask(),), (GapSeen(),))

    def _leaves_gap(self, update: bytes) -> bool:
        have: dict[int, Any] = decode_state_vector(self.document.state_vector())
        return any(have.get(section.client, 0) < section.end for section in parse(update).sections)

    def _confirm(self, number: int) -> tuple[Event, ...]:
        if number not in self._open:
            raise Malformed(f"the server answers barrier {number}, which is not open")
        done = [one for one in self._open if one <= number]
        self._open = [one for one in self._open if one > number]
        refusals, self._refusals = tuple(self._refusals), []
        return tuple(Confirmed(one, refusals) for one in done)
