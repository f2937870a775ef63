"""``make bench``: the same work on Clew and on a peer, in turn, with the ratio of their CPU time."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from bench.servers import Running, clew, y_websocket
from crdt_docs.lib0 import varstring, varuint
from crdt_docs.messages.ywebsocket import EMPTY_STEP1, EMPTY_STEP2, update_frame
from crdt_docs.updates.splice import encode_update

Start = Callable[[Path, int], AbstractContextManager[Running]]

SERVERS: dict[str, Start] = {
    "clew full": lambda folder, documents: clew(folder, "full", documents),
    "clew process": lambda folder, documents: clew(folder, "process", documents),
    "@y/websocket-server": y_websocket,
}
PEER = "@y/websocket-server"


def keystroke(client: int, clock: int) -> bytes:
    """One letter typed at the end of a text."""
    if clock == 0:
        body = b"\x04\x01" + varstring("t") + varstring("a")
    else:
        body = b"\x84" + varuint(client) + varuint(clock - 1) + varstring("a")
    return update_frame(encode_update([(client, clock, 1, body)], []))


async def open_peer(server: Running, url: str) -> ClientConnection:
    """A client that has synced."""
    socket = await connect(
        url, subprotocols=[Subprotocol(p) for p in server.protocols] or None, compression=None, max_size=None
    )
    await socket.send(EMPTY_STEP1)
    async for frame in socket:
        if frame[:2] == b"\x00\x01":
            break
    await socket.send(EMPTY_STEP2)
    return socket


async def hear(socket: ClientConnection, wanted: int, sent: dict[bytes, float], delays: list[float]) -> None:
    """Count updates until all are here, noting how long each took."""
    while wanted:
        frame = await socket.recv()
        assert isinstance(frame, bytes)
        if frame[:2] == b"\x00\x02" and frame in sent:
            delays.append(time.perf_counter() - sent[frame])
            wanted -= 1


async def type_into(server: Running, url: str, readers: int, updates: int, client: int) -> list[float]:
    """One writer, so many readers, one document; every reader's delays."""
    writer = await open_peer(server, url)
    listening = [await open_peer(server, url) for _ in range(readers)]
    sent: dict[bytes, float] = {}
    delays: list[float] = []
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(hear(writer, updates, sent, []))  # the echo
        for socket in listening:
            tasks.create_task(hear(socket, updates, sent, delays))
        for clock in range(updates):
            frame = keystroke(client, clock)
            sent[frame] = time.perf_counter()
            await writer.send(frame)
            await asyncio.sleep(0.02)
    for socket in (writer, *listening):
        await socket.close()
    return delays


async def many(server: Running) -> tuple[float, list[float]]:
    """Many documents, two clients each: CPU per update in µs, and delays."""
    before = server.cpu()
    async with asyncio.TaskGroup() as tasks:
        work = [tasks.create_task(type_into(server, url, 1, 40, 1000 + at)) for at, url in enumerate(server.documents)]
    return (server.cpu() - before) / (40 * len(work)) * 1e6, [delay for one in work for delay in one.result()]


async def fan_out(server: Running) -> tuple[float, list[float]]:
    """One document, many readers: CPU per delivery in µs, and delays."""
    before = server.cpu()
    delays = await type_into(server, server.documents[0], 50, 200, 77)
    return (server.cpu() - before) / len(delays) * 1e6, delays


SCENARIOS = {"many": (many, 50), "fan-out": (fan_out, 1)}


def main() -> None:
    """Run every scenario on every server, in turn, so often, and print medians and ratios."""
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    print(f"{'scenario':10}{'server':22}{'CPU us':>9}{'p50 ms':>9}{'p99 ms':>9}{'peer/it':>9}")
    for scenario, (work, documents) in SCENARIOS.items():
        costs: dict[str, list[float]] = {name: [] for name in SERVERS}
        delays: dict[str, list[float]] = {name: [] for name in SERVERS}
        for _ in range(repeats):
            for name, start in SERVERS.items():
                with tempfile.TemporaryDirectory() as folder, start(Path(folder), documents) as server:
                    cost, took = asyncio.run(work(server))
                    costs[name].append(cost)
                    delays[name] += took
        for name in SERVERS:
            cost = statistics.median(costs[name])
            marks = statistics.quantiles(delays[name], n=100)
            ratio = statistics.median(costs[PEER]) / cost
            print(f"{scenario:10}{name:22}{cost:9.0f}{marks[49] * 1e3:9.2f}{marks[98] * 1e3:9.2f}{ratio:9.2f}")


if __name__ == "__main__":
    main()
