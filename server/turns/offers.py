"""Who waits for turns, and what each has been told. Owns the hosts' streams; must never decide who gets a turn.

Level-triggered: ``show`` is given all turns that can be leased, and each host hears of those that are news to it. So a
host that connects late, or a turn that comes back, needs no case of its own. What a host does not read is bounded: over
``MOST`` events its stream ends, and it hears everything again when it comes back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Literal, NamedTuple

import anyio

from crdt_docs.ids import DocName, TaskId, TokenId, TurnId, UserId
from server.domain.access import Principal, Role
from server.domain.clock import Clock
from server.domain.errors import Conflict
from server.domain.turn import AWAY, HEAD_START, Host, Turn
from server.rooms.revocations import Matches, Revocations

MOST: Final = 500
STREAMS: Final = 8
"""Streams that one bearer may have open at once."""
MEMORY: Final = 60.0


class Offer(NamedTuple):
    """That a turn can be leased, or (``stop``) that whoever has it must let it be."""

    event: Literal["offer", "stop"]
    turn: TurnId
    task: TaskId
    attempt: int


class Listener:
    """One host's stream."""

    def __init__(self, host: Host, principal: Principal) -> None:
        self.host = host
        self.principal = principal
        self.over = False
        self._told: dict[TurnId, int] = {}
        self._waiting: deque[Offer] = deque()
        self._woken = anyio.Event()

    async def next(self, patience: float) -> Offer | None:
        """What comes next; None after that many seconds without anything, or if the stream is ``over``."""
        with anyio.move_on_after(patience):
            while not self._waiting and not self.over:
                await self._woken.wait()
        return self._waiting.popleft() if self._waiting and not self.over else None

    def tell(self, offer: Offer) -> None:
        """Queue it, unless the stream is over."""
        if len(self._waiting) >= MOST:
            self.end()
        elif not self.over:
            self._waiting.append(offer)
            self._wake()

    def show(self, turns: Sequence[Turn]) -> None:
        """Tell of those that are news, of each task the first."""
        turns = list({turn.task: turn for turn in reversed(turns)}.values())[::-1]
        for turn in turns:
            if self._told.get(turn.id) != turn.attempt:
                self.tell(Offer("offer", turn.id, turn.task, turn.attempt))
        self._told = {turn.id: turn.attempt for turn in turns}

    def forget(self, turn: TurnId) -> None:
        """It could not be had: tell of it again when it can."""
        self._told.pop(turn, None)

    def end(self) -> None:
        """Nothing more comes."""
        self.over = True
        self._waiting.clear()
        self._wake()

    def _wake(self) -> None:
        self._woken.set()
        self._woken = anyio.Event()


class Offers:
    """All streams of this server. To ``Revocation`` it is one of the places where somebody may be connected."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._listeners: list[Listener] = []
        self._left: dict[TokenId, float] = {}
        self._revoked = Revocations()
        self._closed = False
        self.stirred: Callable[[], None] = lambda: None
        """Called when somebody's access changed: what they asked for may be over."""

    @contextmanager
    def listen(self, principal: Principal) -> Iterator[Listener]:
        """A stream for as long as the block lasts. Raises Forbidden if its bearer was revoked meanwhile, Conflict."""
        self._revoked.check(principal, _place(principal))
        host = host_of(principal)
        if self.streams(host.id) >= STREAMS:
            raise Conflict(f"A bearer has at most {STREAMS} streams of offers open.")
        listener = Listener(host, principal)
        if self._closed:
            listener.end()
        self._listeners.append(listener)
        self._left.pop(host.id, None)
        try:
            yield listener
        finally:
            self._listeners.remove(listener)
            if all(other.host.id != host.id for other in self._listeners):
                self._left[host.id] = self._clock.monotonic()

    def __len__(self) -> int:
        return len(self._listeners)

    def show(self, turns: Sequence[Turn], now: float) -> None:
        """These can be leased now. A user's own agents hear of them before the built-in one does."""
        for listener in self._listeners:
            mine = [turn for turn in turns if listener.host.may_take(turn)]
            if listener.host.user is None:
                mine = [turn for turn in mine if turn.queued_at + HEAD_START <= now or not self._has_own(turn)]
            listener.show(mine)

    def stop(self, turn: Turn) -> None:
        """Tell whoever has the turn to let it be."""
        for listener in self._listeners:
            if listener.host.id == turn.host:
                listener.tell(Offer("stop", turn.id, turn.task, turn.attempt))

    def declined(self, host: TokenId, turn: TurnId) -> None:
        """The host could not have the turn."""
        for listener in self._listeners:
            if listener.host.id == host:
                listener.forget(turn)

    def streams(self, host: TokenId) -> int:
        """How many streams a bearer has open."""
        return sum(listener.host.id == host for listener in self._listeners)

    def away(self) -> dict[TokenId, float]:
        """The hosts that left and did not come back in time, and when they left; until they are let go of."""
        late = self._clock.monotonic() - AWAY
        return {host: at for host, at in self._left.items() if at < late}

    def let_go(self, gone: Mapping[TokenId, float]) -> None:
        """What these had when they left was taken back. Who came and left again meanwhile is away anew."""
        for host, at in gone.items():
            if self._left.get(host) == at:
                del self._left[host]

    def sweep(self) -> None:
        """End the streams of bearers that have expired, and forget old revocations."""
        now = self._clock.now()
        for listener in self._listeners:
            if listener.principal.expires_at is not None and listener.principal.expires_at < now:
                listener.end()
        self._revoked.forget(self._clock.monotonic() - MEMORY)

    def close(self) -> None:
        """The server goes: end every stream, and each that still comes."""
        self._closed = True
        for listener in self._listeners:
            listener.end()

    async def revoke(self, matches: Matches, code: int, why: str) -> None:
        """End the streams of whom it matches, and hold it against who is on the way in."""
        self._revoked.add(self._clock.monotonic(), matches, why)
        for listener in self._listeners:
            if matches(listener.principal, _place(listener.principal)):
                listener.end()
        self.stirred()

    async def change_role(self, task: TaskId, user: UserId, role: Role, until: float | None) -> None:
        """A host has no role, but who asked has one."""
        self.stirred()

    async def delete(self, task: TaskId) -> None:
        """A host has no documents."""

    def _has_own(self, turn: Turn) -> bool:
        return any(other.host.user is not None and other.host.may_take(turn) for other in self._listeners)


def host_of(principal: Principal) -> Host:
    """The host that comes by this principal's bearer. Raises ValueError for another kind of principal."""
    if principal.kind != "host" or principal.token is None or principal.agent is None:
        raise ValueError("not a host's bearer")
    return Host(principal.token, principal.agent, principal.name, principal.user or None, principal.task)


def _place(principal: Principal) -> DocName:
    """What a revocation that names a task is held against; no task is called so where the bearer is bound to none."""
    return DocName(principal.task or TaskId(""))
