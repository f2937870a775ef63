from __future__ import annotations

import anyio
from kit.running_server import free_port

from crdt_docs.client import connect
from crdt_docs.ids import new_id


async def test_a_server_that_is_away_for_hours_is_still_waited_for() -> None:
    async with connect(f"http://127.0.0.1:{free_port()}", task=new_id(), wait=None) as client:
        client.attempts = 5000
        with anyio.fail_after(10):
            while client.attempts == 5000:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert isinstance(client.trouble, OSError)
        assert client.refused is None
