"""A server that stands still for longer than any client waits, and then goes on as if nothing had been: SIGSTOP."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from kit.disk_faults import read_words, text_of, write_word
from kit.served import serve
from kit.wire import Closed
from pycrdt import Doc
from websockets.exceptions import WebSocketException

STILL = 40.0
GONE = (Closed, OSError, WebSocketException)


@pytest.mark.soak
@pytest.mark.timeout(300)
async def test_forty_seconds_of_standing_still_lose_nothing_and_let_everybody_go_on(tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        task = served.new_task()
        await write_word(served, task, "before ")
        doc = Doc[Any]()
        async with served.join(task, doc) as peer:
            await asyncio.wait_for(peer.synced.wait(), 20)
            served.server.freeze()
            text_of(doc).__iadd__("said into the silence ")
            await peer.push()
            began = time.monotonic()
            with pytest.raises(TimeoutError):
                await peer.barrier()
            await asyncio.sleep(began + STILL - time.monotonic())
            served.server.thaw()
            try:
                await peer.barrier()
                confirmed = "said into the silence "
            except GONE:
                confirmed = ""
        words = await read_words(served, task)
        assert words.startswith("before ") and words.removeprefix("before ") in (confirmed, "said into the silence ")
        await write_word(served, task, "after")
        served.server.kill()
        served.server.start()
        assert await read_words(served, task) == words + "after"
        assert "all is sound" in served.server.clew("verify")
