"""A thousand documents, two who type in each; and what a document and a connection hold in memory."""

from __future__ import annotations

from bench.load import Load
from bench.scenarios.fan_out import DOCUMENT
from bench.scenarios.work import DidNotKeepUp, Measures, Work, check_delivered
from bench.servers.server import Server

IDLE = 500
"""Readers of one document, by whom an idle connection is weighed."""


def many_documents(server: Server, work: Work) -> Measures:
    """µs of CPU per update at 2,000 and 8,000 a second, delays in ms, kB of memory after the first."""
    documents = work.short(1000, 100)
    names = server.names(len(DOCUMENT) + documents)[len(DOCUMENT) :]
    measured = _weigh_idle(server, server.names(1)[0])
    updates = {2 * documents: 10, 8 * documents: 40}
    size = {"documents": documents, "writers": 2, "rounds": 2, "updates": 40, "presence": 1}
    server.tree.wait_until_quiet()
    empty = server.tree.resident()
    with Load(server, "typing", names, work.streams["typing"], rate=1.0, **size) as load:
        load.next()
        for (rate, each), key in zip(updates.items(), ("many 2000", "many 8000"), strict=True):
            before = server.tree.wait_until_quiet()
            told = load.run(rate, each)
            try:
                check_delivered(told)
            except DidNotKeepUp as behind:
                raise DidNotKeepUp(f"{rate} updates a second: {behind}", measured) from None
            spent = server.tree.wait_until_quiet(least=3) - before
            measured |= {f"{key} cpu": spent / told["sent"] * 1e6}
            measured |= {f"{key} p50": told["p50_ms"], f"{key} p99": told["p99_ms"]}
            measured.setdefault("kB per document", (server.tree.resident() - empty) / documents)
    return measured


def _weigh_idle(server: Server, name: str) -> Measures:
    server.tree.wait_until_quiet()
    empty = server.tree.resident()
    with Load(server, "typing", [name], None, rounds=0, writers=0, readers=IDLE) as load:
        load.next()
        server.tree.wait_until_quiet()
        return {"kB per idle connection": (server.tree.resident() - empty) / IDLE}
