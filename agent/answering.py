"""One turn, carried out: what ``turn`` wishes for, done on a joined document with a mind.

Owns the order of things within a turn: the document is read, the mind asked, its words written as they come, the queue
asked, everything made durable. Must never write after the turn is over: whatever ends it goes through ``happen``, and
what is written is asked of ``advance`` in the same breath.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from pycrdt import Map

from agent import filing, summary
from agent.clock import now_ms
from agent.context import build_brief, missing
from agent.mind import Mind, Thought
from agent.pen import Pen, Removed, find_place
from agent.pipe import Begin, Ended, Proposed
from agent.prose import heal
from agent.turn import (
    AskQueue,
    Broke,
    Consult,
    Dismissed,
    Entered,
    Event,
    File,
    Heard,
    Keep,
    Kept,
    Narrate,
    Propose,
    Quote,
    Read,
    Report,
    Silent,
    Stopped,
    Thinks,
    Turn,
    Waiting,
    Wish,
    Write,
    advance,
    showing,
)
from crdt_docs.client import Client, Refusal
from crdt_docs.contents import read_contents
from crdt_docs.errors import ConnectionRefused
from crdt_docs.presence import Presence

FLUSH_EVERY: Final = 0.05
"""Seconds between two flushes while words stream; the first goes at once."""
ARRIVES_WITHIN: Final = 5.0
"""Seconds for all to arrive that the server had sent when a message was named that is not here."""
COMES_WITHIN: Final = 0.5
"""Seconds more for a message that is long. One that does not come was taken away again."""
MAX_NAME: Final = 200
TURN_WITHIN: Final = 600.0
KEPT_WITHIN: Final = 60.0
REVOKED: Final = (4401, 4403)


class Desk(Protocol):
    """Whom a turn can turn to outside its document."""

    def propose(self, name: Proposed) -> None:
        """Pass a name for the task on."""
        ...

    async def ask_queue(self) -> tuple[str, ...]:
        """The messages that came since the turn began."""
        ...


class Answering:
    """One turn from its beginning to ``Ended``; ``stop`` may be called at any time from the same thread."""

    def __init__(self, client: Client, mind: Mind, begin: Begin, desk: Desk) -> None:
        self.turn = Turn(begin.turn, begin.answer, begin.messages)
        self._client = client
        self._doc = client.doc
        self._mind = mind
        self._begin = begin
        self._desk = desk
        self._pen: Pen | None = None
        self._wishes: deque[Wish] = deque()
        self._scope = anyio.CancelScope()
        self._said = anyio.Event()
        self._present: frozenset[str] = frozenset()
        self._ended: Ended | None = None

    def stop(self, why: str | None = None) -> None:
        """Not one character more."""
        self._happen(Stopped(why))
        self._scope.cancel()

    async def run(self) -> Ended:
        """Answer; how it went."""
        self._show()
        with self._scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._mind_the_door)
                tasks.start_soon(self._write_on)
                await self._carry_on(tasks)
                tasks.cancel_scope.cancel()
        if self._ended is None:  # cancelled from outside
            self._happen(Stopped())
        self._show()
        assert self._ended is not None
        return self._ended

    async def _carry_on(self, tasks: TaskGroup) -> None:
        try:
            with anyio.fail_after(TURN_WITHIN):
                await self._arrive(self.turn.asked)
                self._take_pen()
                tasks.start_soon(self._count_waiting)
                self._happen(Read())
                while self._wishes:
                    await self._do(self._wishes.popleft())
        except TimeoutError:
            self._happen(Broke("it took too long"))
        except Removed:
            self._happen(Dismissed())
        except ConnectionRefused as refused:
            self._refused(refused)
        except Refusal as refusal:
            self._happen(Broke(f"the server did not take what was written ({refusal})"))
        except Exception as error:  # a mind's or a reader's mistake must cost this turn only
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            self._happen(Broke(f"the agent made a mistake ({type(error).__name__}, {where})"))

    # -- what happens

    def _happen(self, event: Event) -> None:
        """Let it happen, and do at once what needs no waiting."""
        self.turn, wishes = advance(self.turn, event)
        for wish in wishes:
            match wish:
                case Write(text) if self._pen is not None:
                    self._pen.say(text)
                    self._said.set()
                case File(proposals):
                    asked = (*self.turn.asked, *self.turn.covered)
                    contents = read_contents(self._doc)
                    changes, refs = filing.file(proposals, contents, now_ms(), by=self._begin.user, asked=asked)
                    filing.enter(self._doc, changes)
                    self._happen(Entered(tuple(refs)))
                case Quote(unfiled):
                    self._happen(Entered(tuple(filing.quote(unfiled, read_contents(self._doc)))))
                case Propose(name):
                    self._desk.propose(Proposed(" ".join(heal(name).split())[:MAX_NAME]))
                case Narrate(text):
                    summary.replace(self._doc, heal(text), by=self._mind.name)
                case Report(outcome, covered, why):
                    elsewhere = self.turn.answer if self.turn.answer != self._begin.answer else None
                    self._ended = Ended(outcome, covered, why, elsewhere)
                case _:
                    self._wishes.append(wish)
        self._show()

    def _refused(self, refused: ConnectionRefused) -> None:
        if refused.code in REVOKED:
            self._happen(Stopped("the grant is gone"))
        else:
            self._happen(Broke(f"the server closed the document ({refused.code})"))

    # -- what takes time

    async def _do(self, wish: Wish) -> None:
        match wish:
            case Consult(asked, follows):
                await self._consult(asked, follows=follows)
            case AskQueue():
                self._happen(Heard(await self._desk.ask_queue()))
            case Keep():
                await self._keep()

    async def _consult(self, asked: tuple[str, ...], *, follows: bool) -> None:
        assert self._pen is not None
        if follows:
            await self._arrive(asked)
            self._pen.follow()
        contents = read_contents(self._doc)
        if len(missing(contents, asked)) < len(set(asked)):
            brief = build_brief(
                contents,
                asked,
                answer=self.turn.answer,
                now=now_ms(),
                begun="" if follows else self._pen.begun,
                named=self._begin.named,
                language=self._begin.language,
                user=self._begin.user,
            )
            async with _closing(self._mind.think(brief)) as thoughts:
                async for thought in thoughts:
                    self._happen(Thinks(thought))
                    if self._pen.full:
                        break
                    await anyio.lowlevel.checkpoint()  # a mind that never waits holds up no pipe, socket or stop
        self._happen(Silent())

    async def _keep(self) -> None:
        assert self._pen is not None
        self._pen.finish(self.turn.refs)
        with anyio.fail_after(KEPT_WITHIN):
            await self._client.barrier()
        self._happen(Kept())

    async def _arrive(self, asked: tuple[str, ...]) -> None:
        messages: Map[Any] = self._doc.get("messages", type=Map)

        def here() -> bool:
            return all(message in messages for message in asked)

        if not here():
            with anyio.move_on_after(ARRIVES_WITHIN):
                await self._client.barrier()
            with anyio.move_on_after(COMES_WITHIN):
                await self._client.until(here)

    def _take_pen(self) -> None:
        begin = self._begin
        answer = find_place(self._doc, begin.answer, turn=begin.turn, begun=begin.attempt > 1)
        self.turn = replace(self.turn, answer=answer)
        self._pen = Pen(self._doc, answer, turn=begin.turn, author=begin.agent, now=now_ms())
        self._present = frozenset(self._doc.get("messages", type=Map).keys())

    # -- beside it

    async def _mind_the_door(self) -> None:
        """A revoked grant ends the turn at once, whatever it is at."""
        try:
            await self._client.until(lambda: False)
        except ConnectionRefused as refused:
            self._refused(refused)
            self._scope.cancel()

    async def _write_on(self) -> None:
        """Flush while words come: the first at once, then one transaction each FLUSH_EVERY."""
        while True:
            await self._said.wait()
            if self._flush():
                await anyio.sleep(FLUSH_EVERY)
            else:
                self._said = anyio.Event()

    def _flush(self) -> int:
        """Write what may be shown; how many characters."""
        if self.turn.phase == "done" or self._pen is None:
            return 0
        try:
            return self._pen.flush()
        except Removed:
            self._happen(Dismissed())
            self._scope.cancel()
            return 0

    async def _count_waiting(self) -> None:
        """Show how many messages came since this began."""
        messages: Map[Any] = self._doc.get("messages", type=Map)
        size = len(messages)

        def grown() -> bool:
            return len(messages) != size

        try:
            while True:
                await self._client.until(grown)
                size = len(messages)
                known = {*self._present, *self.turn.asked, *self.turn.covered, self.turn.answer}
                self._happen(Waiting(sum(key not in known for key in messages.keys())))
        except ConnectionRefused:
            return  # told by the door

    def _show(self) -> None:
        shown = Presence(rest=showing(self.turn))
        if self._client.replica.peers.own != shown:
            self._client.show(shown)


@asynccontextmanager
async def _closing(thoughts: AsyncIterator[Thought]) -> AsyncIterator[AsyncIterator[Thought]]:
    """A generator of thoughts is closed here and now, not by the garbage collector."""
    try:
        yield thoughts
    finally:
        close: Callable[[], Awaitable[None]] | None = getattr(thoughts, "aclose", None)
        if close is not None:
            await close()
