"""What a minute does to connections: the idle are still there, and who stopped reading has been told to come back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from kit.node_clients import NodeClients, node_clients
from kit.served import Served, serve
from kit.stalled import overwrite, raw_socket, until_parked
from pycrdt import Doc, Map

IDLE = ("plain", "absent", "old", "together", "beside")
"""y-websocket 3 closes after 30 s without a message, and a client without presence sends none of its own."""
PROVIDERS = {"four": 4, "three": 3}
"""Hocuspocus providers do the same."""


async def open_idle(served: Served, clients: NodeClients) -> None:
    together = served.new_task()
    for name, task, version, extra in (
        ("plain", served.new_task(), 3, {}),
        ("absent", served.new_task(), 3, {"presence": None}),
        ("old", served.new_task(), 1, {"presence": None}),
        ("together", together, 3, {"presence": None}),
        ("beside", together, 3, {}),
    ):
        await clients.open(name, served.server.port, task, served.token, version, **extra)


async def open_providers(served: Served, clients: NodeClients) -> None:
    url = f"ws://127.0.0.1:{served.server.port}/hocuspocus"
    for name, version in PROVIDERS.items():
        given = {"url": url, "room": served.new_task(), "version": version, "token": served.token}
        await clients.do("open", name, **given)
        await clients.do("presence", name, state=None)


@pytest.mark.node
@pytest.mark.timeout(180)
async def test_after_a_minute_the_idle_are_there_and_who_stopped_reading_is_closed_1013(tmp_path: Path) -> None:
    doc = Doc[Any]()
    values = doc.get("free", type=Map)
    with serve(tmp_path) as served:
        task = served.new_task()
        async with (
            node_clients() as clients,
            node_clients("hocuspocus.mjs") as providers,
            served.join(task, doc) as writer,
            raw_socket(served, task) as stalled,
        ):
            await open_idle(served, clients)
            await open_providers(served, providers)
            await overwrite(writer, values, 200)
            await until_parked(served, 1)
            await asyncio.sleep(70)
            for name in IDLE:
                seen = await clients.read(name)
                assert (seen["connects"], seen["codes"], seen["connected"]) == (1, [], True), name
            for name in PROVIDERS:
                seen = await providers.read(name)
                assert (seen["opens"], seen["codes"], seen["synced"]) == (1, [], True), name
            assert await stalled.closing(10) == 1013
            await writer.barrier()
