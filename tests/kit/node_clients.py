"""Stock y-websocket and Hocuspocus clients in Node, by name. Owns the Node process; what they do is theirs alone."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kit.yjs_oracle import require_node

NODE = Path(__file__).parents[1] / "interop" / "node"
PATIENCE = 20.0


class NodeError(Exception):
    """A client threw; carries its stack."""


class NodeClients:
    """``await clients.do("open", "ann", …)``: the ops of ``client.mjs`` or ``hocuspocus.mjs`` in tests/interop/node."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def listen(self) -> None:
        """Take replies until Node ends."""
        assert self._process.stdout
        while line := await self._process.stdout.readline():
            if not line.startswith(b'{"id"'):
                continue  # y-websocket writes to the console
            reply = json.loads(line)
            waiting = self._waiting.pop(reply["id"], None)
            if waiting and not waiting.done():
                waiting.set_result(reply)
        for waiting in self._waiting.values():
            waiting.set_exception(NodeError("node ended"))

    async def do(self, op: str, name: str, **rest: Any) -> dict[str, Any]:
        """One op, done. Raises NodeError."""
        assert self._process.stdin
        number = next(self._ids)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._process.stdin.write(json.dumps({"id": number, "op": op, "name": name, **rest}).encode() + b"\n")
        try:
            async with asyncio.timeout(60):  # less than a test is given, so that the op is named
                reply: dict[str, Any] = await waiting
        except TimeoutError:
            self._waiting.pop(number, None)
            raise NodeError(f"{op} of {name} was not done in a minute") from None
        if "error" in reply:
            raise NodeError(reply["error"])
        return reply

    async def open(self, name: str, port: int, task: str, token: str, version: int = 3, **rest: Any) -> int:
        """A client with a bearer, connecting; its client id."""
        url, protocols = f"ws://127.0.0.1:{port}/sync", ["clew.v1", f"token.{token}"]
        opened = await self.do("open", name, url=url, room=task, version=version, protocols=protocols, **rest)
        return int(opened["client"])

    async def read(self, name: str) -> dict[str, Any]:
        """What the client sees."""
        return await self.do("read", name)

    async def until(
        self, name: str, holds: Callable[[dict[str, Any]], bool], within: float = PATIENCE
    ) -> dict[str, Any]:
        """Read until something is so; the reading. Raises AssertionError with the last one if it never is."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while not holds(seen := await self.read(name)):
            assert loop.time() < deadline, f"{name} is still at {seen}"
            await asyncio.sleep(0.02)
        return seen

    async def same(self, *names: str, within: float = PATIENCE) -> str:
        """Wait until all of them hold the same with nothing pending, and all are synced; the text.

        Two who lack each other's last letter show the same text if the letter is one: hence the vectors.
        """
        deadline = asyncio.get_running_loop().time() + within
        while True:
            seen = [await self.read(name) for name in names]
            alike = all((one["text"], one["vector"]) == (seen[0]["text"], seen[0]["vector"]) for one in seen)
            if alike and all(one["synced"] and not one["pending"] for one in seen):
                return str(seen[0]["text"])
            assert asyncio.get_running_loop().time() < deadline, seen
            await asyncio.sleep(0.05)


@asynccontextmanager
async def node_clients(script: str = "client.mjs") -> AsyncIterator[NodeClients]:
    """Node, until the block ends. Skips the test where the clients are not installed, as the oracle does."""
    require_node()
    process = await asyncio.create_subprocess_exec(
        "node",
        script,
        cwd=NODE,
        limit=16 * 1024 * 1024,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin
    clients = NodeClients(process)
    listening = asyncio.ensure_future(clients.listen())
    try:
        yield clients
    finally:
        process.stdin.close()
        await asyncio.wait_for(process.wait(), PATIENCE)
        await listening
