"""Everybody back at once: the server was restarted, and two thousand pages dial again in the same second.

They retry as y-websocket does: after 100 ms, 200 ms, 400 ms and so on up to 2.5 s, all alike, for it has no jitter.
Each comes with the state that it had, so that what it is sent is spliced from snapshot and tail.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from kit.large_document import edits, plant
from kit.running_server import RunningServer, free_port
from kit.served import Served
from kit.typists import PlainClient, Typist, come
from pycrdt import Doc, Map

from crdt_docs.updates.splice import state_vector

FIRST: Final = 0.1
LONGEST: Final = 2.5
PATIENCE: Final = 180.0
SHARED: Final = 311_000
"""Bytes of the document that half of them are in together."""


async def retry(make: Any, until: float) -> tuple[PlainClient, int]:
    """Dial as y-websocket does until it is synced; the client, and how often it had to try."""
    tries = 0
    while True:
        client: PlainClient = make()
        try:
            await client.connect()
            async with asyncio.timeout(until - time.monotonic()):
                await client.synced
            return client, tries + 1
        except OSError:
            client.close()
            tries += 1
            await asyncio.sleep(min(FIRST * 2**tries, LONGEST))


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_two_thousand_come_back_at_once_after_a_restart(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    number = pytestconfig.getoption("--clients") or 2000
    alone = pytestconfig.getoption("--typing") or 100
    port, random = free_port(), Random(3)
    settings = tmp_path / "clew.toml"  # they are all one person's here, and by one credential
    settings.write_text(f"user_connections = {4 * number + 1000}\n")
    options = ("--durability", "process", "--config", str(settings))
    server = RunningServer(tmp_path / "data", port, options, patience=180).start()
    try:
        served = Served(server, str(server.new_token("owner", "--role", "owner")["token"]))
        shared = served.new_task("Shared")
        tasks = [served.new_task(f"Alone {n}") for n in range(alone)]
        typists = [Typist(port, task, served.token, random) for task in tasks]
        await come(typists)
        for typist in typists:
            typist.type()
        async with asyncio.timeout(PATIENCE):
            while any(not typist.seen for typist in typists):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        for typist in typists:
            typist.close()
        server.stop()
        updates = list(edits(SHARED))
        plant(server.data, shared, updates)
        have = state_vector(updates[0])

        def back(at: int) -> PlainClient:
            return PlainClient(port, shared if at % 2 else tasks[at % alone], served.token, have if at % 4 == 1 else {})

        until = time.monotonic() + PATIENCE
        async with asyncio.TaskGroup() as group:
            storm = [group.create_task(retry(lambda at=at: back(at), until)) for at in range(number)]
            await asyncio.sleep(0.5)
            await asyncio.to_thread(server.start)
            began, cpu = time.monotonic(), server.cpu()
            done = await asyncio.gather(*storm)
        took, used = time.monotonic() - began, server.cpu() - cpu
        newcomer = Doc[Any]()
        async with served.join(shared, newcomer):
            assert len(newcomer.get("notes", type=Map)) == len(updates)
        _check(done, updates)
        tries = [tried for _, tried in done]
        print(
            f"{number} back in {took:.1f} s, {used:.2f} s of CPU ({used / number * 1e6:.0f} µs each), "
            f"{sum(tries) / number:.1f} tries each, {max(tries)} at most"
        )
        for client, _ in done:
            client.close()
        assert server.cpu() - cpu < 30 + number * 0.01
    finally:
        server.stop()


def _check(done: Sequence[tuple[PlainClient, int]], updates: Sequence[bytes]) -> None:
    """Newcomers to the shared document got all of it, who had something got the rest, and nobody got nothing."""
    sizes = [client.synced.result() for client, _ in done]
    whole = {size for at, size in enumerate(sizes) if at % 4 == 3}
    rest = {size for at, size in enumerate(sizes) if at % 4 == 1}
    assert len(whole) <= 2 and min(whole) > SHARED / 2, whole  # before and after a compaction
    assert max(rest) < max(whole), rest
    assert min(sizes) > 4
