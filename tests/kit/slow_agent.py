"""An agent that answers a turn word by word, through the doors that every agent uses.

Owns one turn. Must never stop by itself before the server says so, but for a bound.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from kit.turn_host import turn_host
from pycrdt import Map, Text

from crdt_docs.client import Refusal, connect
from crdt_docs.errors import ConnectionRefused
from crdt_docs.presence import Presence

MOST: Final = 400


async def write_until_stopped(port: int, token: str, task: str, spoken: list[str]) -> None:
    """Answer the task's next turn until it is over; ``spoken`` grows by one for each word that the server took."""
    async with turn_host(port, token) as host:
        offer = await host.until("offer", task=task)
        lease = await host.lease(offer["turn"])
        async with connect(f"http://127.0.0.1:{port}", task=task, token=lease["grant"]["token"]) as peer:
            await peer.until(lambda: peer.synced)
            peer.show(Presence(rest={"state": "writing", "turn": offer["turn"], "queued": 2}))
            messages: Map[Any] = peer.doc.get("messages", type=Map)
            words = Text("")
            messages[lease["answer"]] = Map(
                {"author": "Helper", "role": "agent", "text": words, "at": time.time() * 1000.0, "turn": offer["turn"]}
            )
            try:
                while len(spoken) < MOST:
                    words += f"word{len(spoken)} "
                    await peer.barrier()
                    spoken.append("word")
                    await asyncio.sleep(0.1)
            except (ConnectionRefused, Refusal):
                return  # the grant was revoked
