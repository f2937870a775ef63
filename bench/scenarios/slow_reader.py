"""Readers that stop reading while 150 MB pass by: how far the server grows for them, and whether they come back."""

from __future__ import annotations

import threading

from bench.load import Load
from bench.scenarios.work import DidNotKeepUp, Measures, Work
from bench.servers.server import Server

ENOUGH = 3_000_000
"""kB of memory at which a server is stopped."""


def slow_reader(server: Server, work: Work, key: str, stalled: int) -> Measures:
    """MB that the server grew at most; how many in a hundred of the stalled then caught up on the same connection."""
    other, *names = server.names(3)
    with Load(server, "stall", [other], None, stalled=0, megabytes=work.short(50, 10)) as load:
        load.next()
        load.run()  # what the traffic itself makes it grow is not for those who do not read
    size = {"stalled": stalled, "megabytes": work.short(150, 20)}
    with Load(server, "stall", [names[stalled > 1]], None, **size) as load:
        load.next()
        server.tree.wait_until_quiet()
        with Gauge(server) as gauge:
            told = load.run()
        if gauge.has_overflown:
            raise DidNotKeepUp(f"over {ENOUGH / 1e6:g} GB")
        if not told["complete"]:
            raise DidNotKeepUp(f"{told['megabytes']:.0f} MB passed, then it stood still")
        drained = load.run()
    return {f"{key} growth": gauge.growth / 1000, f"{key} caught up": 100 * drained["caught_up"] / stalled}


class Gauge:
    """Watches a server's memory from its own thread, and kills a server that takes too much."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.growth = 0.0
        self.has_overflown = False

    def _watch(self) -> None:
        tree = self._server.tree
        start = tree.resident()
        while not self._done.wait(0.1):
            self.growth = max(self.growth, tree.resident() - start)
            if self.growth > ENOUGH and not self.has_overflown:
                self.has_overflown = True
                assert self._server.process is not None
                self._server.process.kill()

    def __enter__(self) -> Gauge:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()
