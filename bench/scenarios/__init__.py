"""What is done to each server. One is started for each group, over an empty folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bench.scenarios.fan_out import fan_out, lone_typist
from bench.scenarios.joins import feed_documents, joins, storms
from bench.scenarios.kill import kill
from bench.scenarios.many_documents import idle_connections, many_documents
from bench.scenarios.pair import pair
from bench.scenarios.size import cost_by_documents, cost_by_history
from bench.scenarios.slow_reader import slow_reader
from bench.scenarios.work import DidNotKeepUp, Measures, Work
from bench.servers.server import Server

__all__ = ["GROUPS", "DidNotKeepUp", "Group", "Measures", "Step", "Work"]

Run = Callable[[Server, Work], Measures]


@dataclass(frozen=True)
class Step:
    """``repeats``: at most so many, for what takes long and varies little."""

    name: str
    run: Run
    repeats: int = 9


Group = tuple[Step, ...]

GROUPS: tuple[Group, ...] = (
    (
        Step("lone-typist", lone_typist),
        Step("fan-out", partial(fan_out, key="fan-out 100 busy", readers=100, rate=500)),
        Step("fan-out", partial(fan_out, key="fan-out 500 busy", readers=500, rate=100)),
        Step("fan-out", partial(fan_out, key="fan-out 100 calm", readers=100, rate=20)),
        Step("pair", pair),
    ),
    (Step("many-documents", idle_connections),),
    (Step("many-documents", many_documents),),
    (Step("joins", feed_documents), Step("joins", joins), Step("storm", storms)),
    (
        Step("slow-reader", partial(slow_reader, key="slow one", stalled=1)),
        Step("slow-reader", partial(slow_reader, key="slow hundred", stalled=100), repeats=1),
    ),
    (Step("kill", kill),),
    (Step("size", cost_by_history, repeats=1),),
    (Step("size", cost_by_documents, repeats=1),),
)
