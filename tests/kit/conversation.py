"""People who talk in a task from their devices, and what an agent answers: real sockets, real turns."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from kit.running_server import PATIENCE
from kit.served import Served
from kit.wire import Api
from pycrdt import Map, Text

from crdt_docs.client import Client, connect
from crdt_docs.contents import Contents, read_contents
from crdt_docs.working_set import WorkingSet

Turn = dict[str, Any]
POLL = 0.1


class Device:
    """One socket of a person's."""

    def __init__(self, client: Client, who: str, api: Api, task: str) -> None:
        self.client = client
        self.task = task
        self.api = api
        self.working_set = WorkingSet(client.doc, who, lambda: time.time_ns() // 1_000_000)

    async def say(self, text: str) -> str:
        """Say something; its id once it is durable."""
        message = self.working_set.add_message(text)
        await self.client.barrier()
        return message

    @property
    def contents(self) -> Contents:
        return read_contents(self.client.doc)

    def words(self, message: str) -> str:
        """What stands in a message; empty if it is not there."""
        entry = self.client.doc.get("messages", type=Map).get(message)
        text = entry.get("text") if isinstance(entry, Map) else None
        return str(text) if isinstance(text, Text) else ""

    def agents(self) -> list[dict[str, Any]]:
        """What the agents here show, beside who they are."""
        shown = [
            peer.rest for peer in self.client.peers.values() if peer.user is not None and peer.user.kind == "agent"
        ]
        return [{key: value for key, value in rest.items() if key != "user"} for rest in shown]

    async def until(self, holds: Callable[[], bool], within: float = PATIENCE) -> None:
        with anyio.fail_after(within):
            await self.client.until(holds)

    async def turns(self) -> list[Turn]:
        """The task's turns, the oldest first."""
        answer = await anyio.to_thread.run_sync(self.api.json, "GET", f"/tasks/{self.task}/turns")
        turns: list[Turn] = answer["turns"]
        return turns[::-1]

    async def turn_of(self, message: str, *statuses: str, within: float = PATIENCE) -> Turn:
        """The turn that answers a message, once it has one of the statuses, and what was written until then is here."""
        with anyio.fail_after(within):
            while True:
                for turn in await self.turns():
                    if message in turn["messages"] and turn["status"] in statuses:
                        await self.client.barrier()
                        return turn
                await anyio.sleep(POLL)

    async def settle(self) -> None:
        """Wait until no turn is queued or running."""
        with anyio.fail_after(PATIENCE):
            while any(turn["status"] in ("queued", "running") for turn in await self.turns()):  # noqa: ASYNC110
                await anyio.sleep(POLL)

    async def stop(self, turn: str) -> Turn:
        """Stop a turn."""
        stopped: Turn = await anyio.to_thread.run_sync(self.api.json, "POST", f"/turns/{turn}/stop", {})
        return stopped


@asynccontextmanager
async def device(served: Served, task: str, who: str = "owner", token: str | None = None) -> AsyncIterator[Device]:
    """A person's device in a task, the owner's if no bearer is given."""
    token = token or served.token
    async with connect(served.server.url, task=task, token=token) as client:
        yield Device(client, who, Api(served.server.port, token), task)


def host_bearer(served: Served, user: str = "owner", *options: str) -> str:
    """A bearer for an agent that answers what that user says."""
    return str(served.server.new_token(user, "--agent", "Helper", *options)["token"])
