"""The rows of the table: what is shown, in what unit, and what Clew has set itself. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from bench.servers import PEERS

NODE_PEERS = ("y-websocket", "hocuspocus")


@dataclass(frozen=True)
class Times:
    """So many times better than the best of some peers in the same repeat."""

    least: float
    peers: Collection[str] = tuple(PEERS)


@dataclass(frozen=True)
class AtMost:
    """A value that must not be passed, whatever the peers do."""

    most: float


Target = Times | AtMost | None


@dataclass(frozen=True)
class Row:
    """``measure`` is the scenarios' name for it. ``full`` and ``process`` are the targets of the two durabilities."""

    title: str
    measure: str
    unit: str
    full: Target = None
    process: Target = None
    is_more_better: bool = False
    peers: Collection[str] = tuple(PEERS)


ROWS = (
    Row("one typist to one reader, median", "typist p50", "ms", AtMost(1.5), AtMost(0.8)),
    Row("one typist to one reader, 99 %", "typist p99", "ms"),
    Row("fan-out to 100, 500/s: CPU a delivery", "fan-out 100 busy cpu", "µs", Times(1.9), Times(2.2)),
    Row("fan-out to 500, 100/s: CPU a delivery", "fan-out 500 busy cpu", "µs", Times(1.9), Times(2.2)),
    Row("fan-out to 100, 20/s (no delay added): CPU a delivery", "fan-out 100 calm cpu", "µs", Times(1.3), Times(1.4)),
    Row("fan-out to 100, 500/s, 99 %", "fan-out 100 busy p99", "ms"),
    Row("fan-out to 500, 100/s, 99 %", "fan-out 500 busy p99", "ms"),
    Row("1,000 documents, 2,000/s: CPU an update", "many 2000 cpu", "µs", Times(2.5), Times(3)),
    Row("1,000 documents, 8,000/s: CPU an update", "many 8000 cpu", "µs", Times(2.5), Times(3)),
    Row("1,000 documents, 2,000/s, median", "many 2000 p50", "ms"),
    Row("1,000 documents, 2,000/s, 99 %", "many 2000 p99", "ms", Times(1), Times(1)),
    Row("1,000 documents, 8,000/s, 99 %", "many 8000 p99", "ms"),
    Row("two writers: updates a second", "pair rate", "/s", Times(1.3), Times(2.5), is_more_better=True),
    Row("two writers: CPU an update", "pair cpu", "µs"),
    Row("cold open of 260,000 edits, beside pycrdt", "cold open", "ms", Times(2, ("pycrdt-websocket",)),
        peers=("pycrdt-websocket",)),
    Row("cold open of 260,000 edits, beside Node", "cold open", "ms", Times(15, NODE_PEERS), peers=NODE_PEERS),
    Row("warm join of it", "warm join", "ms", Times(6), Times(6)),
    Row("warm join while somebody types", "warm join while typing", "ms", Times(6), Times(6)),
    Row("500 back at once, one document", "storm 500 one", "s", Times(2.5), Times(2.5)),
    Row("1,000 back at once, one document", "storm 1000 one", "s", Times(2.5), Times(2.5)),
    Row("500 back at once, a document each", "storm 500 many", "s", Times(2.5), Times(2.5)),
    Row("1,000 back at once, a document each", "storm 1000 many", "s", Times(2.5), Times(2.5)),
    Row("memory: a document with two connections", "kB per document", "kB", Times(3.5), Times(3.5)),
    Row("memory: an idle connection", "kB per idle connection", "kB", AtMost(8), AtMost(8)),
    Row("150 MB past one stalled reader: growth", "slow one growth", "MB", AtMost(25), AtMost(25)),
    Row("150 MB past 100 stalled readers: growth", "slow hundred growth", "MB", AtMost(40), AtMost(40)),
    Row("stalled reader, in the end it has all", "slow one caught up", "%"),
    Row("100 stalled readers, in the end they have all", "slow hundred caught up", "%"),
    Row("kill -9: letters lost", "kill lost", "", AtMost(0), AtMost(0)),
)  # fmt: skip
