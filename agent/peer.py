"""The agent as a participant of one task: joins when there is something to answer, stays until told to leave.

Owns the connection to the task's document, and which turn is being answered over it. Must never join without a grant,
nor carry a document on after a turn that did not end well: what it holds was perhaps never admitted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import anyio
from pycrdt import Doc

from agent.answering import REVOKED, Answering
from agent.mind import Mind
from agent.pipe import Begin, Boundary, Ended, Proposed, ToHost
from crdt_docs.client import Client, connect
from crdt_docs.errors import ConnectionRefused, Malformed
from crdt_docs.ids import new_client_id
from crdt_docs.presence import Presence

SYNC_WITHIN: Final = 20.0
UNREADABLE_AFTER: Final = 2
"""Attempts to join."""
QUEUE_WITHIN: Final = 10.0
"""Seconds for the host to say what came meanwhile; else the next turn answers it."""


def _is_unreadable(client: Client) -> bool:
    """Whether the engine refuses what the server sends, and not for the first time."""
    return client.attempts >= UNREADABLE_AFTER and isinstance(client.trouble, Malformed)


class Peer:
    """``tell`` says a word to the host; ``server`` is its URL. One turn at a time, all of one task."""

    def __init__(self, server: str, mind: Mind, tell: Callable[[ToHost], None]) -> None:
        self._server = server
        self._mind = mind
        self._tell = tell
        self._grant = ""
        self._doc: Doc[Any] = Doc(client_id=new_client_id())  # not by the engine's dice, which a fork may share
        self._answering: Answering | None = None
        self._stopped = False
        self._joining = anyio.CancelScope()
        self._queue: tuple[str, ...] | None = None
        self._heard = anyio.Event()
        self._send_begin, self._begins = anyio.create_memory_object_stream[Begin](1)

    # -- what the host says

    def begin(self, begin: Begin) -> None:
        """Answer this next. Raises anyio.WouldBlock if there is a turn already."""
        self._send_begin.send_nowait(begin)

    def renew(self, grant: str) -> None:
        """Use this bearer from the next connection on."""
        self._grant = grant

    def hear(self, messages: tuple[str, ...]) -> None:
        """What came meanwhile, asked for by ``Boundary``."""
        self._queue = messages
        self._heard.set()

    def stop(self) -> None:
        """Not one character more."""
        self._stopped = True
        self._joining.cancel()
        if self._answering is not None:
            self._answering.stop()

    # -- what it does

    async def work(self) -> None:
        """Answer turns until one does not end well; then this participant is used up."""
        begin: Begin | None = await self._begins.receive()
        while begin is not None:
            begin = await self._attend(begin)

    async def _attend(self, begin: Begin) -> Begin | None:
        """Join, answer, stay; the next turn, None if there is to be no other."""
        self._grant = begin.grant
        reading = Presence(rest={"state": "reading", "turn": begin.turn, "queued": 0})
        try:
            async with connect(
                self._server,
                task=begin.task,
                token=self._credential,
                doc=self._doc,
                presence=reading,
                wait=None,
            ) as client:
                with anyio.fail_after(SYNC_WITHIN) as self._joining:
                    await client.until(lambda: client.synced or _is_unreadable(client))
                if _is_unreadable(client):
                    self._tell(Ended("failed", (), "the document can't be read"))
                    return None
                ended = await self._answer(Answering(client, self._mind, begin, self))
                self._tell(ended)
                if ended.outcome != "done":
                    return None
                return await self._begins.receive()
        except ConnectionRefused as refused:
            gone = refused.code in REVOKED
            why = "the grant is gone" if gone else f"the server closed the document ({refused.code})"
            self._tell(Ended("stopped" if gone else "failed", (), why))
        except TimeoutError:
            self._tell(Ended("released", (), "the document did not come"))
        return None

    async def _answer(self, answering: Answering) -> Ended:
        self._answering = answering
        if self._stopped:
            answering.stop()
        try:
            return await answering.run()
        finally:
            self._answering = None

    async def _credential(self) -> str:
        return self._grant

    # -- the desk of ``answering``

    def propose(self, name: Proposed) -> None:
        """Pass a name for the task on."""
        self._tell(name)

    async def ask_queue(self) -> tuple[str, ...]:
        """The messages that came since the turn began."""
        self._queue, self._heard = None, anyio.Event()
        self._tell(Boundary())
        with anyio.move_on_after(QUEUE_WITHIN):
            await self._heard.wait()
        return self._queue or ()
