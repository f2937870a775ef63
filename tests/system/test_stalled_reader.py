"""A reader that stops reading costs the server nothing, loses nothing and harms nobody."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from kit.served import serve
from kit.stalled import CLOSE, RawSocket, overwrite, parked, raw_socket, resident
from pycrdt import Doc, Map

from crdt_docs.messages.vocabulary import SyncStep1, SyncStep2, Update
from crdt_docs.messages.ywebsocket import EMPTY_STEP2, decode_reply

WARM = 100
VALUES = 3_000
STRETCH = 50
ALLOWED = 25_000
"""kB that the serving process may grow while 150 MB pass a socket that nobody reads."""
CROWD = 100
ALLOWED_FOR_A_CROWD = 40_000
"""The same for a hundred such sockets, all of them together."""


class ClosedAs(Exception):
    """The server ended it, with that code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


async def drain(stalled: RawSocket, until: str) -> str:
    """Read on, from where it stopped, until the key says that; what the document then holds."""
    doc = Doc[Any]()
    values = doc.get("free", type=Map)
    async with asyncio.timeout(60):
        while values.get("draft") != until:
            opcode, payload = await stalled.read()
            if opcode == CLOSE:
                raise ClosedAs(int.from_bytes(payload[:2], "big"))
            if opcode != 2:
                continue
            match decode_reply(payload):
                case SyncStep2(update) | Update(update):
                    doc.apply_update(update)
                case SyncStep1():
                    await stalled.send(EMPTY_STEP2)
    return str(values["draft"])


@pytest.mark.timeout(180)
async def test_a_stalled_reader_is_parked_at_no_cost_and_heals_when_it_drains(tmp_path: Path) -> None:
    """Attack 39."""
    with serve(tmp_path) as served:
        task = served.new_task()
        doc, read = Doc[Any](), Doc[Any]()
        values, seen = doc.get("free", type=Map), read.get("free", type=Map)
        async with served.join(task, doc) as writer, served.join(task, read) as reader:
            await overwrite(writer, values, WARM)  # caches, workers, the first compactions
            pid = served.server.pid
            before = most = resident(pid)
            async with raw_socket(served, task) as stalled, raw_socket(served, task):
                for done in range(0, VALUES, STRETCH):
                    await overwrite(writer, values, STRETCH)
                    most = max(most, resident(pid))
                    if done == VALUES // 2:
                        assert parked(served) == 2
                        assert await drain(stalled, values["draft"]) == values["draft"]
                assert most - before < ALLOWED
                assert parked(served) >= 1
            await reader.until(lambda: seen.get("draft") == values["draft"])
            assert not reader.closed.done() and not writer.closed.done()
        newcomer = Doc[Any]()
        async with served.join(task, newcomer):
            assert newcomer.get("free", type=Map)["draft"] == values["draft"]
    print(f"grew {(most - before) / 1000:.1f} MB over {before / 1000:.1f} MB")


async def heal_or_hear_why(stalled: RawSocket, until: str) -> str:
    """Read on, from where it stopped: "healed" once it has that value, "closed" if the server says 1013 instead.

    "cut" if it slept on even then: the close frame lay unread behind all else until the server had waited enough.
    """
    try:
        assert await drain(stalled, until) == until
    except (asyncio.IncompleteReadError, ConnectionResetError):
        return "cut"
    except ClosedAs as closed:
        assert closed.code == 1013, closed.code
        return "closed"
    return "healed"


@pytest.mark.soak
@pytest.mark.timeout(1200)
async def test_a_hundred_stalled_readers_cost_little_together_and_each_heals_or_is_told(tmp_path: Path) -> None:
    """150 MB pass; whoever reads gets all of it, and the process is bounded."""
    with serve(tmp_path) as served:
        task = served.new_task()
        doc, read = Doc[Any](), Doc[Any]()
        values, seen = doc.get("free", type=Map), read.get("free", type=Map)
        async with AsyncExitStack() as sockets:
            writer = await sockets.enter_async_context(served.join(task, doc))
            reader = await sockets.enter_async_context(served.join(task, read))
            await overwrite(writer, values, WARM)
            pid = served.server.pid
            before = most = resident(pid)
            crowd = [await sockets.enter_async_context(raw_socket(served, task)) for _ in range(CROWD)]
            most_parked = 0
            for _ in range(0, VALUES, STRETCH):
                await overwrite(writer, values, STRETCH)
                most = max(most, resident(pid))
                most_parked = max(most_parked, parked(served))
            ends = await asyncio.gather(*(heal_or_hear_why(stalled, values["draft"]) for stalled in crowd))
            after = resident(pid)
            await reader.until(lambda: seen.get("draft") == values["draft"])
            assert not reader.closed.done() and not writer.closed.done()
        found = Counter(ends)
        print(
            f"{CROWD} stalled: grew {(most - before) / 1000:.1f} MB over {before / 1000:.1f} MB,"
            f" {(after - before) / 1000:.1f} MB when all had drained; {most_parked} parked at once, then {dict(found)}"
        )
        assert most_parked == CROWD
        assert most - before < ALLOWED_FOR_A_CROWD
        assert found["healed"] + found["closed"] + found["cut"] == CROWD
        newcomer = Doc[Any]()
        async with served.join(task, newcomer):
            assert newcomer.get("free", type=Map)["draft"] == values["draft"]
