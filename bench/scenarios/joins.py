"""Clients that come to what is already written: first after a start, then to a server that has it, then all at once."""

from __future__ import annotations

from bench.load import Load, Told
from bench.scenarios.work import DidNotKeepUp, Measures, Work
from bench.servers.server import Server

EDITS = 1000
"""Updates by which the paper is written, 260 edits each (``bench.streams.PAPER_STEP``)."""
PAPER_CLOCK = 182_315
"""Letters that were ever typed in the paper: who knows the writer up to here has all of it."""
SMALL = 20


def feed_documents(server: Server, work: Work) -> Measures:
    """Write the paper, and a few words into each of a thousand documents; measures nothing."""
    count = work.short(1000, 100)
    paper, *small = server.names(1 + count)
    size = {"writers": 1, "readers": 1, "updates": EDITS, "window": EDITS}
    with Load(server, "typing", [paper], work.streams["paper"], **size) as load:
        load.next()
        told = load.run()
        if told["seen_clock"] < PAPER_CLOCK:
            raise DidNotKeepUp(f"took the paper up to {told['seen_clock']} of {PAPER_CLOCK}")
    server.tree.wait_until_quiet(most=30)
    size = {"documents": count, "writers": 1, "updates": SMALL}
    with Load(server, "typing", small, work.streams["letters"], rate=2000.0, **size) as load:
        load.next()
        load.run()
        server.tree.wait_until_quiet(least=5, most=30)
    server.tree.wait_until_quiet(least=3)
    return {}


def joins(server: Server, work: Work) -> Measures:
    """ms from dialling until all of the paper is there: just started, in memory, while somebody types."""
    paper = server.names(1)[0]
    measured: Measures = {}
    firsts = []
    for _ in range(work.short(3, 1)):
        server.restart()
        server.tree.wait_until_quiet()
        firsts.append(_join(server, work, [paper], PAPER_CLOCK, repeat=1)["first_ms"])
    measured["cold open"] = sorted(firsts)[len(firsts) // 2]
    warm = _join(server, work, [paper], PAPER_CLOCK, repeat=20, writers=1)
    measured["warm join"] = warm["p50_ms"]
    busy = _join(server, work, [paper], PAPER_CLOCK, repeat=20, writers=1, rate=20.0)
    measured["warm join while typing"] = busy["p50_ms"]
    return measured


def storms(server: Server, work: Work) -> Measures:
    """s until everybody has everything, of 500 and 1,000 who dial at once; the documents not in memory."""
    measured: Measures = {}
    for count in (500, 1000) if not work.is_quick else (100,):
        paper, *small = server.names(1 + count)
        server.restart()
        server.tree.wait_until_quiet()
        together = {"together": 1, "repeat": count}
        measured[f"storm {count} one"] = _join(server, work, [paper], PAPER_CLOCK, writers=1, **together)["seconds"]
        measured[f"storm {count} many"] = _join(server, work, small, SMALL, **together)["seconds"]
    return measured


def _join(server: Server, work: Work, names: list[str], clock: int, **options: float) -> Told:
    with Load(server, "joins", names, work.streams["paper"], want=clock, **options) as load:
        load.next()
        told = load.run()
    if told["complete"] < options["repeat"]:
        raise DidNotKeepUp(f"{told['complete']} of {options['repeat']:g} got everything")
    return told
