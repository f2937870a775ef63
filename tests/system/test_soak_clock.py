"""A machine whose clock is set back, a little or by days, under load and over restarts: nothing gets out of order."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from kit.returning import Device, agree, until
from kit.served import Served, serve
from kit.stepped_clock import stepped

HOUR = 3600.0
DAY = 24 * HOUR


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_steps_of_the_clock_under_load_lose_nothing_and_keep_the_log_in_order(tmp_path: Path) -> None:
    """Thirty steps, backwards on the whole, while devices write; then a start on a day before the first word."""
    with stepped(tmp_path / "clock") as step, serve(tmp_path) as served:
        task = served.new_task()
        devices = [Device(f"d{n}") for n in range(4)]
        away = 0.0
        async with asyncio.TaskGroup() as lives:
            for device in devices:
                lives.create_task(device.live(served.server.port, task, served.token))
            await until(lambda: all(device.confirmed for device in devices), 60)
            for _ in range(30):
                away -= random.choice([0.001, 1.0, 60.0, HOUR, -600.0])
                step(away)
                await asyncio.sleep(0.2)
            for device in devices:
                device.rest()
        assert all(device.joins == 1 for device in devices), "nobody was sent away for a clock"
        keys = await agree(devices, served.server.port, task, served.token)
        restart(served, step, away - 2 * DAY)
        assert await agree(devices, served.server.port, task, served.token) == keys
        later = served.new_task("After the clock was set back")
        assert served.api.json("GET", f"/tasks/{later}/working-set")["meta"]["name"] == "After the clock was set back"
        devices[0].edit()
        assert len(await agree(devices, served.server.port, task, served.token)) == len(keys) + 1
        assert json.loads(served.server.clew("verify", "--json"))["sound"]
        restart(served, step, 0)
        assert await agree(devices, served.server.port, task, served.token) >= keys


def restart(served: Served, step: Callable[[float], None], away: float) -> None:
    """Kill it, and start it at another time."""
    served.server.kill()
    step(away)
    served.server.start()
