"""What an update costs as one document's history grows, and as there are more documents."""

from __future__ import annotations

import time

from bench.load import Load
from bench.scenarios.work import Measures, Work
from bench.servers.server import Server

PATIENCE = 60.0
"""Seconds after which a server that has not come to a million updates is let off."""
DOCUMENTS = (1, 10, 100, 1000, 10_000)


def cost_by_history(server: Server, work: Work) -> Measures:
    """µs of CPU per update, by how many updates the document had had: typed as fast as the one reader takes it."""
    step = work.short(10_000, 1000)
    rounds = work.short(100, 10)
    measured: Measures = {}
    start = time.monotonic()
    with Load(
        server, "typing", server.names(1), work.streams["letters"], writers=1, readers=1, rounds=rounds, updates=step
    ) as load:
        load.next()
        before = server.tree.wait_until_quiet()
        for done in range(1, rounds + 1):
            told = load.run()
            after = server.tree.cpu()
            if told["delivered"] < told["wanted"] or time.monotonic() - start > PATIENCE:
                break
            measured[f"history {done * step}"] = (after - before) / step * 1e6
            before = after
    return measured


def cost_by_documents(server: Server, work: Work) -> Measures:
    """µs of CPU per update, by how many documents are open and typed into, one client each, 2,000 updates a second."""
    measured: Measures = {}
    at = 0
    for count in DOCUMENTS if not work.is_quick else DOCUMENTS[:3]:
        names = server.names(at + count)[at:]
        at += count
        updates = work.short(10_000, 2000) // count
        size = {"documents": count, "writers": 1, "updates": updates}
        with Load(server, "typing", names, work.streams["letters"], rate=2000.0, **size) as load:
            load.next()
            before = server.tree.wait_until_quiet()
            load.run()
            spent = server.tree.wait_until_quiet(least=3) - before
        measured[f"documents {count}"] = spent / (count * updates) * 1e6
    return measured
