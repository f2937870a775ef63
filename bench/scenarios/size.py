"""What an update costs as one document's history grows, and as there are more documents."""

from __future__ import annotations

import time

from bench.load import Load, LoadFailed
from bench.scenarios.work import DidNotKeepUp, Measures, Work
from bench.servers.server import Server

DOCUMENTS = (1, 10, 100, 1000, 10_000)
RATE = 2000.0
SETTLING = 2
"""Updates of each document before those that are measured: its first ones cost what a document costs, not an update."""
BREATH = 1.2
"""Seconds between two rounds of one document's history: Clew closes a socket that brings more than 7,000 messages a
second for long."""
REST = 5.0
"""Seconds in which nobody types: what those who are there cost all the same is not an update's."""


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
            if told["delivered"] < told["wanted"] or time.monotonic() - start > server.patience:
                break
            measured[f"history {done * step}"] = (after - before) / step * 1e6
            time.sleep(0 if work.is_quick else BREATH)
            before = server.tree.cpu()
    return measured


def cost_by_documents(server: Server, work: Work) -> Measures:
    """µs of CPU per update, by how many documents are open and typed into, one client each, 2,000 updates a second."""
    measured: Measures = {}
    at = 0
    for count in DOCUMENTS if not work.is_quick else DOCUMENTS[:3]:
        names = server.names(at + count)[at:]
        at += count
        try:
            measured[f"documents {count}"] = _cost(server, work, names)
        except (DidNotKeepUp, LoadFailed) as failed:
            raise DidNotKeepUp(f"{count} documents: {failed}", measured) from None
    return measured


def _cost(server: Server, work: Work, names: list[str]) -> float:
    updates = work.short(20_000, 2000) // len(names)
    size = {"documents": len(names), "writers": 1, "rounds": 2, "updates": updates + SETTLING}
    with Load(server, "typing", names, work.streams["letters"], rate=RATE, **size) as load:
        load.next(within=server.patience)
        load.run(RATE, SETTLING)
        before = server.tree.wait_until_quiet(least=3)
        time.sleep(REST)
        idle = (server.tree.cpu() - before) / REST
        before, start = server.tree.cpu(), time.monotonic()
        told = load.run(RATE, updates)
        spent = server.tree.wait_until_quiet(least=3) - before - idle * (time.monotonic() - start)
    if told["closed"]:
        raise DidNotKeepUp(f"closed {told['closed']} connections")
    return spent / float(told["sent"]) * 1e6
