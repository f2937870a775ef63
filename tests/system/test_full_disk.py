"""A disk that takes nothing more: nothing confirmed is lost, clients are told to come back, and they can."""

from __future__ import annotations

import resource
from pathlib import Path

from kit.disk_faults import read_words, write_until_it_fails, write_when_taken
from kit.served import Served, serve


def set_room(served: Served, size: int) -> None:
    """No file of the server's may grow beyond so many bytes: what SQLite then sees is a failed write."""
    resource.prlimit(served.server.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


async def test_a_full_disk_loses_nothing_confirmed_and_the_server_recovers_with_it(tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        task = served.new_task()
        confirmed: list[str] = []
        wal = served.server.data / "log.db-wal"
        set_room(served, wal.stat().st_size + 60_000)
        closed = await write_until_it_fails(served, task, confirmed)
        assert closed.code == 1013
        assert confirmed
        assert await read_words(served, task) == "".join(confirmed), "reading goes on while nothing can be stored"
        set_room(served, resource.RLIM_INFINITY)
        await write_when_taken(served, task, "after")
        served.server.kill()
        served.server.start()
        assert await read_words(served, task) == "".join(confirmed) + "after"
