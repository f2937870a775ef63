"""Two people who write one text together, as fast as what each builds upon has come."""

from __future__ import annotations

from bench.load import Load
from bench.scenarios.fan_out import DOCUMENT
from bench.scenarios.work import DidNotKeepUp, Measures, Work
from bench.servers.server import Server


def pair(server: Server, work: Work) -> Measures:
    """26,078 real updates; how many a second, and µs of CPU for each."""
    name = server.names(len(DOCUMENT))[DOCUMENT["pair"]]
    with Load(server, "pair", [name], work.streams["friends"]) as load:
        load.next()
        before = server.tree.wait_until_quiet()
        told = load.run()
        spent = server.tree.wait_until_quiet(least=3) - before
    if not told["complete"]:
        raise DidNotKeepUp(f"stood still after {told['updates']} updates")
    return {"pair rate": told["updates"] / told["seconds"], "pair cpu": spent / told["updates"] * 1e6}
