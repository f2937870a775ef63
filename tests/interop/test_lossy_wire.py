"""Stock Hocuspocus providers over a wire that loses messages and breaks off: what they show as unsaved goes away.

43 of ``docs/complaints.md``.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from kit.lossy_wire import lossy_wire
from kit.node_clients import node_clients
from kit.served import Served

pytestmark = pytest.mark.node


def settled(seen: dict[str, Any]) -> bool:
    return bool(seen["synced"]) and seen["unsynced"] == 0 and not seen["pending"]


@pytest.mark.parametrize(("lose", "cut"), [(0.15, 0.0), (0.1, 0.03)], ids=["messages lost", "broken off too"])
@pytest.mark.parametrize("version", [4, 3], ids=["provider 4.8", "provider 3.4"])
async def test_complaint_43_unsynced_changes_return_to_nothing_after_losses(
    served: Served, version: int, lose: float, cut: float
) -> None:
    task = served.new_task()
    async with node_clients("hocuspocus.mjs") as clients, lossy_wire(served.server.port, 7, lose, cut) as wire:
        for name, port in (("ann", wire.port), ("wei", served.server.port)):
            given = {"room": task, "version": version, "token": served.token}
            await clients.do("open", name, url=f"ws://127.0.0.1:{port}/hocuspocus", **given)
        words = "what is typed while the wire loses messages and breaks off "
        await asyncio.gather(
            clients.do("type", "ann", text=words, every=8), clients.do("type", "wei", text=words.upper(), every=8)
        )
        assert wire.lost + wire.cuts > 1
        wire.mend()
        await clients.until("ann", settled)
        await clients.until("wei", settled)
        assert sorted(await clients.same("ann", "wei")) == sorted(words + words.upper())
        assert (await clients.read("ann"))["unsynced"] == 0
