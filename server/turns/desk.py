"""The desk: hears what people say in rooms, makes turns of it, gives them to hosts and watches over who has one.

Owns the order of it all: SQL decides, then live connections are ended, then others are told. Must never look into a
document: a message is a key that a user set under ``messages``, as the room tells.

One task does what need not be awaited by anybody: filing what was said, leases and queues that age, hosts that are
gone. It beats once a second while there is something to watch, and at once when something was said.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import TracebackType
from typing import Final, Protocol, Self

import anyio

from crdt_docs.ids import DocName, MessageId, TaskId, TokenId, TurnId, UserId
from server.domain.access import Principal, Role
from server.domain.clock import Clock
from server.domain.errors import ClewError, Conflict, NotFound
from server.domain.turn import REST, Leased, Outcome, Renewed, Said, Turn, clean_why
from server.rooms.hearing import KeySet
from server.store.turns import Turns
from server.turns.offers import Listener, Offers, host_of

ROOT: Final = "messages"
LONGEST_KEY: Final = 64
BEAT: Final = 1.0
MARKS_EVERY: Final = 5.0
GRANTS_EVERY: Final = 3600.0
GRANTS_KEPT: Final = 86400.0


class Ends(Protocol):
    """How an agent's grant is ended, also on live connections."""

    async def grant(self, user: UserId, grant: TokenId, why: str) -> None:
        """Once this returns, nothing more of it is admitted (I5)."""
        ...


class Regrants(Protocol):
    """How a live connection learns that its grant has another role and life."""

    def regrant(self, task: TaskId, token: TokenId, role: Role, expires_at: float) -> None:
        """From the next frame on."""
        ...


def messages_of(keys: Iterable[KeySet]) -> list[Said]:
    """The messages of people among the keys that were set."""
    return [
        Said(MessageId(key.key), key.actor.user)
        for key in keys
        if key.root == ROOT and key.actor.agent is None and 0 < len(key.key) <= LONGEST_KEY
    ]


class Desk:
    """Turns, from what was said to what came of it. An async context manager."""

    def __init__(self, turns: Turns, offers: Offers, rooms: Regrants, revocation: Ends, clock: Clock) -> None:
        self.offers = offers
        self._turns = turns
        self._rooms = rooms
        self._revocation = revocation
        self._clock = clock
        self._said: dict[TaskId, list[Said]] = {}
        self._heard: dict[TaskId, int] = {}
        self._wake = asyncio.Event()
        self._wake.set()
        offers.stirred = self._wake.set
        self._filing = anyio.Lock()
        self._beating = anyio.Lock()
        self._group = asyncio.TaskGroup()
        self._work: asyncio.Task[None] | None = None
        self._marked_at = self._swept_at = clock.monotonic()
        self.counts: Mapping[str, int] = {"queued": 0, "running": 0}

    async def __aenter__(self) -> Self:
        await self._settle(await self._turns.abandon_strays(self._clock.now()))
        await self._group.__aenter__()
        self._work = self._group.create_task(self._beat(), name="turns: beat")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.offers.close()
        if self._work is not None:
            self._work.cancel()
        await self._group.__aexit__(kind, error, trace)
        with suppress(ClewError):  # what can't be stored now is found at the next start
            await self.file()
            await self._mark()

    # -- what people say

    def hear(self, name: DocName, seq: int, edited: bool, keys: Sequence[KeySet]) -> None:
        """A room released something."""
        if name.part != "main":
            return
        self._heard[name.task] = seq
        said = messages_of(keys)
        if said:
            self._said.setdefault(name.task, []).extend(said)
            self._wake.set()

    async def file(self) -> None:
        """Make turns of all that was heard so far. Raises Unavailable; then it is tried again later."""
        async with self._filing:
            while self._said:
                task = next(iter(self._said))
                said, seq = tuple(self._said[task]), self._heard[task]
                await self._turns.file(task, said, seq, self._clock.now())
                rest = self._said[task][len(said) :]
                if rest:
                    self._said[task] = rest
                else:
                    del self._said[task]

    # -- what hosts do

    @asynccontextmanager
    async def listen(self, principal: Principal) -> AsyncIterator[Listener]:
        """The host's stream of offers: what can be leased now, and what comes."""
        with self.offers.listen(principal) as listener:
            await self._show()
            yield listener

    async def lease(self, principal: Principal, turn: TurnId) -> Leased:
        """Give the turn to a host; anew if it has it and did not hear so. Raises NotFound and Conflict."""
        host = host_of(principal)
        alone = self.offers.streams(host.id) <= 1  # else another process of the same bearer may be at it
        try:
            leased = await self._turns.lease(turn, host, self._clock.now(), again=alone)
        except Conflict:
            self.offers.declined(host.id, turn)
            self._wake.set()
            raise
        given = leased.given
        self._rooms.regrant(leased.turn.task, given.id, given.role, given.expires_at)
        self._wake.set()
        return leased

    async def renew(self, principal: Principal, turn: TurnId) -> Renewed:
        """Lengthen a lease. Raises NotFound and Conflict."""
        await self.file()
        renewed = await self._turns.renew(turn, host_of(principal), self._clock.now())
        if renewed.given is None:
            await self._end_grant(renewed.turn, "this turn has ended")
            self._wake.set()
        else:
            given = renewed.given
            self._rooms.regrant(renewed.turn.task, given.id, given.role, given.expires_at)
        return renewed

    async def end(
        self,
        principal: Principal,
        turn: TurnId,
        outcome: Outcome,
        covered: Iterable[MessageId],
        why: str | None,
        answer: MessageId | None = None,
    ) -> None:
        """Take the turn back from its host. Raises NotFound and Conflict."""
        await self.file()
        now = self._clock.now()
        before, after = await self._turns.end(turn, host_of(principal), outcome, covered, clean_why(why), now, answer)
        if before.status != "running":
            return
        if after.status == "done" and after.grant is not None:
            self._rooms.regrant(after.task, after.grant, Role.VIEWER, now + REST)
        else:
            await self._end_grant(before, "this turn has ended")
        self._wake.set()

    # -- what people do

    async def find(self, turn: TurnId) -> Turn:
        """The turn, whoever asks. Raises NotFound."""
        found = await self._turns.get(turn)
        if found is None:
            raise NotFound
        return found

    async def of_task(self, task: TaskId) -> list[Turn]:
        """The task's turns, the newest first."""
        await self.file()
        return await self._turns.of_task(task)

    async def stop(self, turn: TurnId) -> Turn:
        """Stop a turn: once this returns, not one character more of it is admitted."""
        before, after = await self._turns.stop(turn, self._clock.now())
        if before.status == "running":
            self.offers.stop(after)
            await self._end_grant(after, "this turn was stopped")
        self._wake.set()
        return after

    async def agents_allowed(self, task: TaskId) -> bool:
        """Whether agents have a way into the task."""
        return await self._turns.agents_allowed(task)

    async def stop_agents(self, task: TaskId) -> int:
        """Turn agents off: once this returns, nothing of theirs is admitted there. How many turns that ended."""
        await self.file()
        changed, ended = await self._turns.stop_agents(task, self._clock.now())
        await self._settle(changed, "agents were stopped in this task")
        for user, grant in ended:
            await self._revocation.grant(user, grant, "agents were stopped in this task")
        self._wake.set()
        return len(changed)

    async def allow_agents(self, task: TaskId) -> None:
        """Let agents in again, from the next message on."""
        await self.file()
        await self._turns.allow_agents(task)

    # -- what time does

    async def abandon(self, host: TokenId) -> None:
        """A host is known to be gone: what it has is queued again."""
        await self._settle(await self._turns.abandon([host], self._clock.now()))
        self._wake.set()

    async def beat(self) -> None:
        """Do what is due; once this returns, it is done. Raises Unavailable; then the next beat does the rest."""
        async with self._beating:
            await self.file()
            now = self._clock.now()
            await self._settle(await self._turns.dismiss(now), "who asked may not write here any more")
            await self._settle(await self._turns.age(now))
            gone = self.offers.away()
            await self._settle(await self._turns.abandon(gone.keys(), now))
            self.offers.let_go(gone)
            await self._show()

    async def _tidy(self) -> None:
        self.offers.sweep()
        if self._clock.monotonic() - self._marked_at >= MARKS_EVERY:
            await self._mark()
        if self._clock.monotonic() - self._swept_at >= GRANTS_EVERY:
            self._swept_at = self._clock.monotonic()
            await self._turns.forget_grants(self._clock.now() - GRANTS_KEPT)

    async def _beat(self) -> None:
        while True:
            with anyio.move_on_after(BEAT):
                await self._wake.wait()
            try:
                if self._wake.is_set() or any(self.counts.values()):
                    self._wake.clear()
                    await self.beat()
                await self._tidy()
            except ClewError:
                await anyio.sleep(BEAT)  # the store is out of order for a while; what was said waits
                self._wake.set()

    async def _settle(self, changed: Iterable[tuple[Turn, Turn]], why: str = "this turn's lease was lost") -> None:
        """End what lost turns were given, and tell who had them: all of them, for nobody finds them lost again."""
        async with AsyncExitStack() as rest:
            for before, _ in changed:
                if before.status == "running":
                    self.offers.stop(before)
                    rest.push_async_callback(self._end_grant, before, why)

    async def _end_grant(self, turn: Turn, why: str) -> None:
        if turn.grant is not None:
            await self._revocation.grant(turn.user, turn.grant, why)

    async def _show(self) -> None:
        self.counts = await self._turns.counts()
        now = self._clock.now()
        self.offers.show(await self._turns.queued(now) if self.counts["queued"] else [], now)

    async def _mark(self) -> None:
        """Note how far documents were searched, so that a start after a crash has little to read."""
        self._marked_at = self._clock.monotonic()
        heard, self._heard = self._heard, {}
        marks = {task: seq for task, seq in heard.items() if task not in self._said}
        for task in self._said:
            self._heard.setdefault(task, heard[task])
        try:
            if marks:
                await self._turns.heard(marks)
        except BaseException:
            self._heard = {**marks, **self._heard}
            raise
