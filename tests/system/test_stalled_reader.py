"""A reader that stops reading costs the server nothing, loses nothing and harms nobody."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from kit.served import serve
from kit.stalled import RawSocket, overwrite, parked, raw_socket, resident
from pycrdt import Doc, Map

from crdt_docs.messages.vocabulary import SyncStep1, SyncStep2, Update
from crdt_docs.messages.ywebsocket import EMPTY_STEP2, decode_reply

WARM = 100
VALUES = 3_000
STRETCH = 50
ALLOWED = 25_000
"""kB that the serving process may grow while 150 MB pass a socket that nobody reads."""


async def drain(stalled: RawSocket, until: str) -> str:
    """Read on, from where it stopped, until the key says that; what the document then holds."""
    doc = Doc[Any]()
    values = doc.get("free", type=Map)
    async with asyncio.timeout(30):
        while values.get("draft") != until:
            opcode, payload = await stalled.read()
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
