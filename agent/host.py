"""The host: hears what waits to be answered, leases it, and has it answered by a worker.

Owns leases and their renewal, and who works on what. Must never touch a document: what a document can do to whoever
reads it, it does to a worker.

H1  a turn is worked on only while its lease is ours; once it is lost or stopped, its worker is stopped or killed
H2  a worker that ends, hangs or babbles costs its own turn; the server hears of it at once
H3  at most one worker a task
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final, Literal

import anyio
from anyio.abc import TaskGroup

from agent.door import Door, Offer, StopTurn, delay
from agent.errors import AgentError, Declined, Unreachable, Unwelcome, WorkerLost, first_of
from agent.pipe import Begin, Boundary, Ended, Grant, Proposed, Queued, Stop
from agent.process import Worker
from agent.workers import Workers

RENEW_EVERY: Final = 10.0
LEASE: Final = 30.0
"""Seconds that a lease lasts by the protocol; not heard of for so long, it is lost."""
OBEYS_WITHIN: Final = 0.1
"""Seconds for a worker to say that it stopped."""
AT_ONCE: Final = 8
"""Turns that are worked on at the same time."""
LAST_WORDS: Final = 2.0

log = logging.getLogger("clew.agent")


class Host:
    """Answers the offers that come through ``door``, of one ``task`` only if it is named."""

    def __init__(self, door: Door, workers: Workers, task: str | None = None) -> None:
        self._door = door
        self._workers = workers
        self._task = task
        self._held: dict[str, _Held] = {}
        self._offered_again: set[str] = set()
        self._places = anyio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """Answer until cancelled. Raises Unwelcome if the server does not want us."""
        try:
            async with anyio.create_task_group() as tasks:
                await self._listen(tasks)
        except BaseExceptionGroup as several:
            raise first_of(several) from None

    async def _listen(self, tasks: TaskGroup) -> None:
        """Hear offers, and again whenever they end. What keeps us from them is told once, not at each attempt."""
        attempt, told, heard = 0, "", False
        while True:
            try:
                async with self._door.offers() as offers:
                    attempt, told, heard = 0, "", True
                    async for news in offers:
                        self._hear(news, tasks)
            except Unwelcome:
                raise
            except (Unreachable, Declined) as error:
                is_news = str(error) != told and (isinstance(error, Declined) or not heard)
                log.log(logging.WARNING if is_news else logging.INFO, "%s; it is tried again", error)
                told = str(error)
            attempt += 1
            await anyio.sleep(delay(attempt))

    def _hear(self, news: Offer | StopTurn, tasks: TaskGroup) -> None:
        match news:
            case Offer(turn, task) if self._task in (None, task):
                if turn in self._held:  # its next attempt, before we are through with this one
                    self._offered_again.add(turn)
                else:
                    self._held[turn] = _Held(self._door, turn)
                    tasks.start_soon(self._attend, turn, task)
            case StopTurn(turn) if turn in self._held:
                self._held[turn].stop()

    async def _attend(self, turn: str, task: str) -> None:
        try:
            async with self._places:
                await self._try(self._held[turn], task)
                while turn in self._offered_again:
                    self._offered_again.discard(turn)
                    self._held[turn] = held = _Held(self._door, turn)
                    await self._try(held, task)
        finally:
            del self._held[turn]

    async def _try(self, held: _Held, task: str) -> None:
        try:
            if await held.lease():
                await self._work(held, task)
        except AgentError as error:
            log.warning("turn %s: %s", held.turn, error)

    async def _work(self, held: _Held, task: str) -> None:
        try:
            async with self._workers.lend(task) as worker:
                ended = await held.answer(worker)
                if ended.outcome != "done":
                    worker.kill()  # what it holds was perhaps never admitted
                    level = logging.INFO if ended.outcome == "stopped" else logging.WARNING
                    log.log(level, "turn %s is %s: %s", held.turn, ended.outcome, ended.why)
        except WorkerLost as lost:
            log.warning("turn %s: %s", held.turn, lost)
            await held.give_back(str(lost), "failed" if held.tried else "released")
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(LAST_WORDS, shield=True):
                await held.give_back("the agent was ended")
            raise


class _Held:
    """One turn that is ours, or may become so."""

    def __init__(self, door: Door, turn: str) -> None:
        self.turn = turn
        self._door = door
        self._begin: Begin | None = None
        self._worker: Worker | None = None
        self._over = False
        self.tried = False
        """Whether a worker has been at it: if that one is lost, the turn may be why."""
        self._stopping = anyio.Event()

    def stop(self) -> None:
        """It is no longer ours: no more of it."""
        self._over = True
        if self._worker is not None:
            self._worker.tell(Stop())
        self._stopping.set()

    async def lease(self) -> bool:
        """Take it; whether it is ours."""
        if self._over:
            return False
        try:
            self._begin = await self._door.lease(self.turn)
        except Declined as declined:
            if declined.status != 409:
                raise
            return False
        return not self._over

    async def answer(self, worker: Worker) -> Ended:
        """Have it answered, and tell the server how it went. Raises WorkerLost."""
        assert self._begin is not None
        if self._over:
            return Ended("stopped")
        self._worker, self.tried = worker, True
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep)
                tasks.start_soon(self._enforce, worker)
                worker.tell(self._begin)  # its messages are all that wait: what came after the first attempt is in it
                ended = await self._follow(worker)
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as several:
            raise first_of(several) from None
        finally:
            self._worker = None
        if not self._over:
            self._over = True
            outcome = "released" if ended.outcome == "stopped" else ended.outcome
            await self._door.end(self.turn, outcome, ended.covered, ended.why, ended.answer)
        return ended

    async def give_back(self, why: str, outcome: Literal["failed", "released"] = "released") -> None:
        """Tell the server that it is not answered, unless it knows better."""
        if self._over or self._begin is None:
            return
        self._over = True
        try:
            await self._door.end(self.turn, outcome, (), why)
        except AgentError as error:
            log.info("turn %s: %s", self.turn, error)  # its lease runs out

    async def _follow(self, worker: Worker) -> Ended:
        """Hear what the worker says to its last word; names are proposed while the grant still may."""
        async with anyio.create_task_group() as proposals:
            while True:
                match await worker.hear():
                    case Ended() as ended:
                        break
                    case Boundary():
                        worker.tell(Queued(await self._renew()))
                    case Proposed(name):
                        proposals.start_soon(self._propose, name)
        return ended

    async def _propose(self, name: str) -> None:
        assert self._begin is not None
        try:
            await self._door.propose_name(self._begin.task, name, self._begin.grant)
        except AgentError as error:
            log.info("task %s keeps its name: %s", self._begin.task, error)

    async def _keep(self) -> None:
        """Renew the lease for as long as it is ours."""
        while not self._over:
            await anyio.sleep(RENEW_EVERY)
            await self._renew()

    async def _renew(self) -> tuple[str, ...]:
        """Renew once; what waits for an answer. A lease that is lost, or may be, stops the work."""
        try:
            renewal = await self._door.renew(self.turn, within=LEASE - RENEW_EVERY)
        except (Declined, Unreachable) as error:
            log.info("turn %s: %s", self.turn, error)
            self.stop()
            return ()
        if renewal.stop:
            self.stop()
        elif renewal.grant is not None and self._begin is not None and self._worker is not None:
            self._begin = replace(self._begin, grant=renewal.grant)
            self._worker.tell(Grant(renewal.grant))
        return renewal.messages

    async def _enforce(self, worker: Worker) -> None:
        """A worker that does not stop when told is killed."""
        await self._stopping.wait()
        await anyio.sleep(OBEYS_WITHIN)
        worker.kill()
