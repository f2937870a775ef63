"""kill -9 while somebody types: what was confirmed, came back or was seen by another must be there afterwards."""

from __future__ import annotations

import random
import signal
import threading

from bench.load import Load, LoadFailed
from bench.scenarios.work import DidNotKeepUp, Measures, Work
from bench.servers.server import HOCUSPOCUS, Server

RATE = 400


def kill(server: Server, work: Work) -> Measures:
    """How many letters were lost that somebody had reason to believe in, over all kills, and how many in a hundred."""
    kills = work.short(3, 1)
    names = server.names(kills)
    lost = believed = 0
    for name in names:
        told = _type_until_killed(server, name, work)
        claims = [told["echoed_clock"], told["seen_clock"]]
        if server.wire == HOCUSPOCUS:
            claims.append(told["confirmed_clock"])
        server.start()
        found = _clock_of(server, name)
        lost += max(0, max(claims) - found)
        believed += max(claims)
    return {"kill lost": lost, "kill lost share": 100 * lost / max(believed, 1)}


def _type_until_killed(server: Server, name: str, work: Work) -> dict[str, int]:
    size = {"writers": 1, "readers": 1, "updates": 8000, "rate": float(RATE)}
    with Load(server, "typing", [name], work.streams["letters"], **size) as load:
        load.next()
        moment = threading.Timer(random.uniform(1, work.short(5, 2)), server.end, (signal.SIGKILL,))
        moment.start()
        told = load.run()
        moment.join()
    return told


def _clock_of(server: Server, name: str) -> int:
    """What a client is given that comes first after the restart, and waits a little for more."""
    try:
        with Load(server, "joins", [name], None, want=1 << 30, repeat=1, patience=2.0) as load:
            load.next()
            told = load.run()
    except LoadFailed as failed:
        raise DidNotKeepUp(f"after a kill: {failed}") from None
    return int(told["clock"])
