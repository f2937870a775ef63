"""What an update costs does not depend on how many there were before, nor on how many documents are open beside it.

CPU of the serving process, for stretches of the same work within one run; latencies of a shared machine mean little.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from random import Random
from typing import Final

import pytest
from kit.running_server import RunningServer, free_port
from kit.served import Served
from kit.typists import Typist, come, type_on

STRETCHES: Final = 10
AT_ONCE: Final = 100
"""Letters under way at a time."""
DEARER: Final = 1.3
RATE: Final = 300
SECONDS: Final = 8.0


async def type_fast(typist: Typist, letters: int) -> None:
    """Type that many, some of them under way all the time."""
    async with asyncio.timeout(3600):
        target = typist.sent + letters
        while typist.seen < target:
            while typist.sent < target and typist.sent - typist.seen < AT_ONCE:
                typist.type()
            await asyncio.sleep(0.001)
            assert not typist.lost


def start(folder: Path) -> tuple[RunningServer, Served]:
    settings = folder / "clew.toml"
    settings.write_text("user_connections = 100000\n")
    options = ("--durability", "process", "--config", str(settings))
    server = RunningServer(folder / "data", free_port(), options, patience=180).start()
    return server, Served(server, str(server.new_token("owner", "--role", "owner")["token"]))


@pytest.mark.soak
@pytest.mark.timeout(0)
async def test_a_letter_costs_as_much_after_a_million_as_at_first(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    letters = (pytestconfig.getoption("--updates") or 1_000_000) // STRETCHES
    server, served = start(tmp_path)
    try:
        typist = Typist(server.port, served.new_task(), served.token, Random(1))
        await come([typist])
        await type_fast(typist, 200)
        costs = []
        for stretch in range(STRETCHES):
            cpu = server.cpu()
            await type_fast(typist, letters)
            costs.append((server.cpu() - cpu) / letters * 1e6)
            print(f"{(stretch + 1) * letters:9} letters: {costs[-1]:6.1f} µs each", flush=True)
        typist.close()
    finally:
        server.stop()
    assert sum(costs[-3:]) <= DEARER * sum(costs[:3])


@pytest.mark.soak
@pytest.mark.timeout(0)
async def test_a_letter_costs_as_much_beside_ten_thousand_documents(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    most = pytestconfig.getoption("--typing") or 10_000
    server, served = start(tmp_path)
    typists: list[Typist] = []
    random, costs = Random(2), []
    try:
        for number in sorted({max(1, most // 1000), max(1, most // 100), max(1, most // 10), most}):
            more = [
                Typist(server.port, await asyncio.to_thread(served.new_task), served.token, random)
                for _ in range(number - len(typists))
            ]
            await come(more)
            typists += more
            for typist in more:
                typist.type()
            idle = server.cpu()
            await asyncio.sleep(SECONDS)
            cpu, sent = server.cpu(), sum(typist.sent for typist in typists)
            until = time.monotonic() + SECONDS
            await type_on(typists, RATE, lambda until=until: time.monotonic() < until)  # type: ignore[misc]
            typed = sum(typist.sent for typist in typists) - sent
            costs.append((server.cpu() - cpu - (cpu - idle)) / typed * 1e6)
            print(
                f"{number:6} documents: {costs[-1]:6.1f} µs a letter, {(cpu - idle) / SECONDS * 100:.1f} % idle",
                flush=True,
            )
    finally:
        for typist in typists:
            typist.close()
        server.stop()
    assert costs[-1] <= DEARER * max(costs[:-1])
