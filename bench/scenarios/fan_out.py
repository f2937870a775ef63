"""One who types, and many who read along; or one reader, and how long a letter takes to reach it."""

from __future__ import annotations

from bench.load import Load
from bench.scenarios.work import Measures, Work, check_delivered
from bench.servers.server import Server

DOCUMENT = {"fan-out 100 busy": 0, "fan-out 500 busy": 1, "fan-out 100 calm": 2, "typist": 3, "pair": 4}


def fan_out(server: Server, work: Work, key: str, readers: int, rate: int) -> Measures:
    """µs of CPU for each delivery to a reader, and the delay of deliveries in ms. ``rate``: updates a second."""
    updates = max(10, rate * work.short(6, 1) // 10 * 10)
    name = server.names(len(DOCUMENT))[DOCUMENT[key]]
    size = {"writers": 1, "readers": readers, "updates": updates, "presence": 1}
    with Load(server, "typing", [name], work.streams["typing"], rate=float(rate), **size) as load:
        load.next()
        before = server.tree.wait_until_quiet()
        told = load.run()
        spent = server.tree.wait_until_quiet(least=3) - before
    check_delivered(told)
    return {f"{key} cpu": spent / told["delivered"] * 1e6, f"{key} p50": told["p50_ms"], f"{key} p99": told["p99_ms"]}


def lone_typist(server: Server, work: Work) -> Measures:
    """Ten letters a second, a reader on another device: ms until it has each."""
    measured = fan_out(server, work, "typist", readers=1, rate=10)
    return {name: value for name, value in measured.items() if name != "typist cpu"}
