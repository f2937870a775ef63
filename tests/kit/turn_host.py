"""An agent's host by hand: a stream of offers, leases and ends, for tests of a running server.

Owns one bearer's stream. Must never be cleverer than the test that drives it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2

PATIENCE = 20.0


class TurnHost:
    """``heard`` is all that the stream said, as (event, data); ``ended`` is set when the server has ended it."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.comments = 0
        self.ended = asyncio.Event()
        self.status = 0
        self.trouble: Exception | None = None

    async def listen(self) -> None:
        """Hear the stream to its end."""
        try:
            async with self.client.stream("GET", "turns/offers", timeout=None) as answer:
                self.status = answer.status_code
                event = ""
                async for line in answer.aiter_lines():
                    if line.startswith(":"):
                        self.comments += 1
                    elif line.startswith("event: "):
                        event = line.removeprefix("event: ")
                    elif line.startswith("data: "):
                        self.heard.append((event, json.loads(line.removeprefix("data: "))))
        except httpx2.HTTPError as error:
            self.trouble = error
        finally:
            self.ended.set()

    async def until(self, event: str, turn: str | None = None, **fields: Any) -> dict[str, Any]:
        """Wait for an event, and take it and what came before it."""
        found = await self._await(lambda told: told[0] == event and _fits(told[1], turn, fields))
        del self.heard[: found + 1]
        return self.last

    async def _await(self, fits: Callable[[tuple[str, dict[str, Any]]], bool]) -> int:
        async with asyncio.timeout(PATIENCE):
            while True:
                for at, told in enumerate(self.heard):
                    if fits(told):
                        self.last = told[1]
                        return at
                if self.ended.is_set():
                    raise AssertionError(f"the stream has ended: {self.status} {self.trouble}")
                await asyncio.sleep(0.005)

    async def ask(self, verb: str, turn: str, body: dict[str, Any] | None = None) -> httpx2.Response:
        """``lease``, ``renew`` or ``end``."""
        return await self.client.post(f"turns/{turn}/{verb}", json=body or {})

    async def lease(self, turn: str) -> dict[str, Any]:
        """Take a turn."""
        answer = await self.ask("lease", turn)
        assert answer.status_code == 200, answer.text
        lease: dict[str, Any] = answer.json()
        return lease


@asynccontextmanager
async def turn_host(port: int, token: str, *, listen: bool = True) -> AsyncIterator[TurnHost]:
    """A host that listens for as long as the block lasts; leaving it cuts the stream."""
    headers = {"authorization": f"Bearer {token}"}
    base = f"http://127.0.0.1:{port}/api/v1/"
    async with (
        httpx2.AsyncClient(base_url=base, headers=headers, trust_env=False, timeout=PATIENCE) as client,
        asyncio.TaskGroup() as tasks,
    ):
        host = TurnHost(client)
        listening = tasks.create_task(host.listen()) if listen else None
        try:
            async with asyncio.timeout(PATIENCE):
                while listening is not None and not (host.comments or host.ended.is_set()):  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
            yield host
        finally:
            if listening is not None:
                listening.cancel()


def _fits(data: dict[str, Any], turn: str | None, fields: dict[str, Any]) -> bool:
    return (turn is None or data["turn"] == turn) and fields.items() <= data.items()
