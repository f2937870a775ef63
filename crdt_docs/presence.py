"""Who is here: the shape of a presence state, and the table by which a room keeps everybody's.

Owns the clock rules that make people visible at once through stock clients. Must never send anything itself, wait, or
trust what a state says of its author: ``user`` comes from the connection.

Stock clients (y-protocols ``awareness.js``) apply a state only if its clock is above the one they know, keep that
clock after a removal, and send the *same* clock again when they reconnect. So a server that passes clocks on hides a
returning client for up to 15 s (y-websocket#122), and one that removes by ``clock + 1`` hides it as well (ygo#226).
Here everyone else hears a client under a clock of the table's own, which only grows; the client itself hears its own.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final, Generic, Literal, NamedTuple, NoReturn, TypeVar

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.messages.vocabulary import State

MAX_STATE_BYTES: Final = 4096
MAX_STATE_DEPTH: Final = 16
MAX_CLIENT_CLOCK: Final = 2**32 - 2**24
"""Some implementations count clocks in 32 bits; what is left above is the table's own room to grow."""
DEPARTED_KEPT: Final = 1024
REPEATED_WITHIN: Final = 5.0
"""Seconds in which the same state again is no news. Far below the 15 s after which clients renew theirs."""
CATCHES_UP: Final = 600.0
"""Seconds in which a client's clock keeps up with the time: a table that was lost in a crash may have told higher ones.

Later it only counts, and so gathers what it may run ahead of time when its client moves for long.
"""
TOLD_KEPT: Final = 64
"""Of so many clocks it is remembered what was told under them: more than can be on their way through other tabs."""

_EPOCH: Final = 1_767_225_600
_STEPS: Final = 8

Kind = Literal["user", "agent"]


@dataclass(frozen=True, slots=True)
class Person:
    """Whom a presence state belongs to, as its ``user`` field shows it. ``id`` is the user's, ``device`` a name."""

    id: str
    name: str
    kind: Kind = "user"
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Presence:
    """One client's state. ``cursor`` is what the editor binding put there; ``rest`` is kept and shown as it came."""

    user: Person | None = None
    cursor: Any = None
    status: str | None = None
    rest: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """The state as a client sends it, without the fields that are None."""
        state = dict(self.rest)
        if self.user is not None:
            state["user"] = _user_field(state.get("user"), self.user)
        if self.cursor is not None:
            state["cursor"] = self.cursor
        if self.status is not None:
            state["status"] = self.status
        return write_state(state)


def read_presence(text: str) -> Presence:
    """Read a state that anybody may have written: fields of the wrong shape are None, other fields are ``rest``."""
    rest = read_state(text)
    status = rest.pop("status", None)
    return Presence(
        _person(rest.get("user")), rest.pop("cursor", None), status if isinstance(status, str) else None, rest
    )


def read_state(text: str) -> dict[str, Any]:
    """Read a state's JSON: an object of at most MAX_STATE_BYTES, nested at most MAX_STATE_DEPTH deep."""
    if len(text) > MAX_STATE_BYTES or len(text.encode()) > MAX_STATE_BYTES:
        raise TooLarge(f"presence over {MAX_STATE_BYTES} bytes")
    try:
        state = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise TooLarge("presence nested too deep") from None
    except ValueError:
        raise Malformed("presence is not JSON") from None
    if not isinstance(state, dict):
        raise Malformed("presence is not an object")
    if _depth(state) > MAX_STATE_DEPTH:
        raise TooLarge("presence nested too deep")
    return state


def write_state(state: dict[str, Any]) -> str:
    """Write a state as compact JSON that every ``JSON.parse`` takes. Raises Malformed for numbers that it would not."""
    try:
        text = json.dumps(state, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: only its escape can travel
        return json.dumps(state, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError):
        raise Malformed("presence is not JSON") from None
    return text


class Heard(NamedTuple):
    """What a message led to: states for the one who sent it, and states for everyone else in the room."""

    to_sender: tuple[State, ...]
    to_others: tuple[State, ...]


class _Entry:
    """One client id that live connections speak for; more than one while a dead one has not been noticed.

    ``heard`` is the client's own clock, ``out`` the one that others know; ``text`` is None once it left.
    ``since`` is when it came, in Unix seconds, and ``base`` was ``out`` then. ``told`` has the hashes of what was told
    lately, by clock, once the client has taken over a clock of ours: a tab beside it repeats to it what it hears.
    """

    __slots__ = (
        "base", "connections", "heard", "out", "principal", "sent_at", "since", "speaker", "text", "told"
    )  # fmt: skip

    def __init__(self, principal: Hashable, out: int, since: float) -> None:
        self.connections: tuple[Hashable, ...] = ()
        self.principal = principal
        self.speaker: Hashable = None
        self.heard = -1
        self.out = self.base = out
        self.since = since
        self.text: str | None = None
        self.sent_at = 0.0
        self.told: dict[int, int] | None = None

    def tell(self, client: int, clock: int, text: str) -> State:
        """The state as others are told it, under that clock."""
        self.out = clock
        if self.told is not None:
            self.told[clock] = hash(text)
            if len(self.told) > TOLD_KEPT:
                del self.told[next(iter(self.told))]
        return State(client, clock, text)

    def says(self, state: dict[str, Any], text: str) -> bool:
        """Whether that is what it said last."""
        return text == self.text or self.text is not None and bool(state == json.loads(self.text))

    def is_told(self, clock: int, text: str) -> bool:
        """Whether others were told that lately, under that clock."""
        return self.told is not None and self.told.get(clock) == hash(text)


class _Departed(NamedTuple):
    """A client id that nobody speaks for any more, as long as it is remembered."""

    out: int
    principal: Hashable


C = TypeVar("C", bound=Hashable)


class AwarenessTable(Generic[C]):
    """Everybody's presence in one room, keyed by connection.

    A1  one client id per connection; states of other ids, which stock clients send back, change nothing
    A2  an id that another principal's live connection holds, or held last, cannot be taken
    A3  under one id, what others are told has a clock that only grows, also across absences and restarts
    A4  nobody is told their own state under another clock than their own: it would overwrite the live one
    A5  a removal bears the last clock told to anybody, so that the next state is news to everyone
    """

    __slots__ = ("_above", "_seats", "_entries", "_departed")

    def __init__(self, above: int = 0) -> None:
        self._above = above
        self._seats: dict[C, int] = {}
        self._entries: dict[int, _Entry] = {}
        self._departed: dict[int, _Departed] = {}  # the oldest first

    @property
    def highest(self) -> int:
        """No clock that this table told was above: a table that follows it for the same clients begins here."""
        here = (entry.out for entry in self._entries.values())
        return max(self._above, *here, *(departed.out for departed in self._departed.values()), 0)

    def known(self) -> tuple[State, ...]:
        """All who are here, as others know them."""
        return tuple(State(client, e.out, e.text) for client, e in self._entries.items() if e.text is not None)

    def welcome(self, connection: C, principal: Hashable) -> tuple[State, ...]:
        """All who are here, for this connection to see at once even if it knows their clocks from before.

        Until it has said which id is its own, those of its own principal are kept back: one of them may be its own,
        from a connection not yet missed (A4). They follow when it has said so. Whoever asks later, or was told nothing
        for a while, may have missed that somebody left, and hears of that too.
        """
        seat = self._seats.get(connection)
        if seat is None:
            return self._again(e for e in self._entries.items() if e[1].principal != principal)
        gone = [State(client, departed.out, None) for client, departed in self._departed.items()]
        gone += [State(client, e.out, None) for client, e in self._entries.items() if e.text is None]
        return (*gone, *self._again(e for e in self._entries.items() if e[0] != seat))

    def principal_of(self, client: int) -> Hashable | None:
        """Whose client id that is, as far as presence tells: theirs who speaks for it, or did until they left."""
        entry = self._entries.get(client) or self._departed.get(client)
        return None if entry is None else entry.principal

    def client_of(self, connection: C) -> int | None:
        """The client id that the connection speaks for, once it has said so."""
        return self._seats.get(connection)

    def hear(self, connection: C, states: Sequence[State], person: Person, principal: Hashable, now: float) -> Heard:
        """Take what a connection says. ``now`` in Unix seconds.

        Raises Malformed or TooLarge if the connection's own state is none or over its bound; nothing has changed then.
        """
        client = self._own(connection, states, principal)
        if client is None:
            return Heard((), ())
        mine = [
            (said, None if said.json is None else read_state(said.json)) for said in states if said.client == client
        ]
        if any(said.clock > MAX_CLIENT_CLOCK for said, _ in mine):
            raise Malformed("presence clock out of range")
        sender: list[State] = []
        others: list[State] = []
        if self._seats.get(connection) != client:
            sender += self._sit(connection, client, principal, now)
        entry = self._entries[client]
        for said, state in mine:
            if said.clock > entry.heard or (said.clock == entry.heard and state is None and entry.text is not None):
                entry.speaker = connection
                others += self._take(entry, said, state, person, now)
                if entry.text is not None:  # a client that hears its own removal contradicts it
                    sender.append(State(client, said.clock, entry.text))
        return Heard(tuple(sender), tuple(others))

    def leave(self, connection: C) -> tuple[State, ...]:
        """Forget a connection. What everyone else is to be told: nothing if another one speaks for the same id."""
        client = self._seats.pop(connection, None)
        if client is None:
            return ()
        entry = self._entries[client]
        entry.connections = tuple(one for one in entry.connections if one != connection)
        if entry.connections:
            return ()
        del self._entries[client]
        self._departed[client] = _Departed(entry.out, entry.principal)
        if len(self._departed) > DEPARTED_KEPT:
            self._above = max(self._above, self._departed.pop(next(iter(self._departed))).out)
        return () if entry.text is None else (State(client, entry.out, None),)

    def _own(self, connection: C, states: Sequence[State], principal: Hashable) -> int | None:
        """Which of the ids in a message is the connection's own (A1).

        A client without a state of its own may have been seated under the id of the tab beside it, whose state it sent
        back. Once that tab has spoken again, it may move, when it speaks for itself.
        """
        seat = self._seats.get(connection)
        if seat is not None and any(said.client == seat for said in states):
            return seat
        if seat is not None and self._entries[seat].speaker == connection:
            return None
        for client, _, text in states:
            if text is not None and self._may_take(client, principal) and (seat is None or client not in self._entries):
                return client
        return None

    def _may_take(self, client: int, principal: Hashable) -> bool:
        """A2: not if it is another's, or was until it left."""
        entry = self._entries.get(client)
        if entry is not None:
            return entry.principal == principal
        departed = self._departed.get(client)
        return departed is None or departed.principal == principal

    def _sit(self, connection: C, client: int, principal: Hashable, now: float) -> tuple[State, ...]:
        """Seat a connection; the states that ``welcome`` withheld from it."""
        self.leave(connection)
        entry = self._entries.get(client)
        if entry is None:
            departed = self._departed.pop(client, None)
            entry = self._entries[client] = _Entry(
                principal, departed.out if departed else max(floor(now), self._above), now
            )
        entry.connections += (connection,)
        entry.heard = -1
        self._seats[connection] = client
        return self._again(e for e in self._entries.items() if e[0] != client and e[1].principal == principal)

    def _again(self, entries: Iterable[tuple[int, _Entry]]) -> tuple[State, ...]:
        """States under clocks that nobody knows yet."""
        return tuple(
            entry.tell(client, entry.out + 1, entry.text) for client, entry in entries if entry.text is not None
        )

    def _take(
        self, entry: _Entry, said: State, state: dict[str, Any] | None, person: Person, now: float
    ) -> tuple[State, ...]:
        """Store a state; what the others are to be told.

        Nothing if they were told the same a moment ago, be it the last thing or under that very clock of ours: then the
        client heard its own state from a tab beside it, and took it over. Passing that on would send it round in
        circles; and two states, when the client moves, one after the other for ever.
        """
        first = entry.heard < 0
        entry.heard = said.clock
        if state is None:
            told = entry.text is not None
            entry.text = None
            return (State(said.client, entry.out, None),) if told else ()
        state["user"] = _user_field(state.get("user"), person)
        text = write_state(state)
        recent = 0 <= now - entry.sent_at < REPEATED_WITHIN
        if entry.told is None and said.clock > entry.base:
            entry.told = {}
        again = recent and not first and said.clock <= entry.out
        if again and (entry.says(state, text) or entry.is_told(said.clock, text)):
            return ()
        entry.text, entry.sent_at = text, now
        least = floor(now) if now < entry.since + CATCHES_UP else 0
        return (entry.tell(said.client, max(said.clock, entry.out + 1, least), text),)


def floor(now: float) -> int:
    """A clock above any that a server before this one told for an id now unknown: eighths of a second since 2026.

    A server forgets as it ends, but the clients keep the clocks. 32 bits of eighths last until 2043.
    """
    return max(0, int((now - _EPOCH) * _STEPS))


def _user_field(theirs: Any, person: Person) -> dict[str, Any]:
    """What they wrote of themselves (a colour, say), with what is known of them written over it."""
    user = dict(theirs) if isinstance(theirs, dict) else {}
    user.update(id=person.id, name=person.name, kind=person.kind)
    if person.device is None:
        user.pop("device", None)
    else:
        user["device"] = person.device
    return user


def _person(value: Any) -> Person | None:
    if not isinstance(value, dict):
        return None
    id_, name, kind, device = (value.get(key) for key in ("id", "name", "kind", "device"))
    if not isinstance(id_, str) or not isinstance(name, str) or kind not in ("user", "agent"):
        return None
    return Person(id_, name, kind, device if isinstance(device, str) else None)


def _depth(value: Any) -> int:
    """How deep containers nest: 0 for a scalar."""
    depth = 0
    level = [value]
    while level := [v for v in level if isinstance(v, dict | list)]:
        depth += 1
        level = [child for v in level for child in (v.values() if isinstance(v, dict) else v)]
    return depth


def _finite(text: str) -> float:
    """A number that JSON can hold again: ``1e999`` would be written as ``Infinity``, at which every client throws."""
    number = float(text)
    if not isfinite(number):
        raise ValueError(text)
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
