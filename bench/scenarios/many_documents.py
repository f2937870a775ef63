"""A thousand documents, two who type in each; and what a document and a connection hold in memory."""

from __future__ import annotations

from bench.load import Load
from bench.scenarios.work import DidNotKeepUp, Measures, Work, check_delivered
from bench.servers.server import Server

IDLE = (500, 2000)
"""Readers of one document between whom an idle connection is weighed: what the first bring along is not theirs."""


def idle_connections(server: Server, work: Work) -> Measures:
    """kB of memory that each further idle reader adds.

    To be weighed first: what a process has used before and let go of, it takes again, or hands back in the middle.
    """
    few, many = (work.short(usual, usual // 10) for usual in IDLE)
    name = server.names(1)
    with Load(server, "typing", name, None, rounds=0, writers=0, readers=few) as first:
        first.next()
        server.tree.wait_until_quiet(least=3)
        before = server.tree.resident()
        with Load(server, "typing", name, None, rounds=0, writers=0, readers=many - few) as further:
            further.next()
            server.tree.wait_until_quiet(least=3)
            return {"kB per idle connection": (server.tree.resident() - before) / (many - few)}


def many_documents(server: Server, work: Work) -> Measures:
    """µs of CPU per update at 2,000 and 8,000 a second, delays in ms, kB of memory after the first."""
    documents = work.short(1000, 100)
    names = server.names(documents + documents // 5)
    server.restart()  # who made them may still hold them, and they would not be weighed
    with _typing(server, work, names[documents:], rounds=1) as others:  # what the first bring along is not theirs
        others.next()
        others.run(2.0 * documents, 10)
        return _type(server, work, names[:documents])


def _typing(server: Server, work: Work, names: list[str], rounds: int) -> Load:
    size = {"documents": len(names), "writers": 2, "rounds": rounds, "updates": 40, "presence": 1}
    return Load(server, "typing", names, work.streams["typing"], rate=1.0, **size)


def _type(server: Server, work: Work, names: list[str]) -> Measures:
    documents = len(names)
    measured: Measures = {}
    updates = {2 * documents: 10, 8 * documents: 40}
    server.tree.wait_until_quiet(least=3)
    empty = server.tree.resident()
    with _typing(server, work, names, rounds=2) as load:
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
