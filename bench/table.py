"""From measures to the table: medians, ratios within one repeat, and whether a target is reached. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.rows import AtMost, Row, Target, Times

Measured = Mapping[str, float]


@dataclass
class Results:
    """``measured[server]`` has one entry for each repeat; ``notes[server]`` what went wrong, by what was tried."""

    measured: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    notes: dict[str, dict[str, str]] = field(default_factory=dict)

    def values(self, server: str, measure: str) -> list[float]:
        """Of all repeats that have it."""
        return [one[measure] for one in self.measured.get(server, []) if measure in one]


@dataclass(frozen=True)
class Ratio:
    """How many times better than the best peer, of the repeats that had both."""

    middle: float
    least: float
    most: float


def ratio_of(results: Results, server: str, row: Row, peers: Collection[str]) -> Ratio | None:
    """Beside the best of those peers in the same repeat; none if no repeat has both."""
    found = []
    for at, own in enumerate(results.measured.get(server, [])):
        others = [
            results.measured[peer][at][row.measure]
            for peer in peers
            if at < len(results.measured.get(peer, [])) and row.measure in results.measured[peer][at]
        ]
        if row.measure in own and others:
            found.append(_times(own[row.measure], others, row.is_more_better))
    return Ratio(median(found), min(found), max(found)) if found else None


def _times(own: float, others: list[float], is_more_better: bool) -> float:
    if is_more_better:
        return own / max(others) if max(others) else float("inf")
    return min(others) / own if own > 0 else float("inf")


def is_reached(results: Results, server: str, row: Row, target: Target) -> bool | None:
    """None if there is no target, or nothing to hold to it."""
    match target:
        case Times(least, peers):
            ratio = ratio_of(results, server, row, peers)
            return None if ratio is None else ratio.middle >= least
        case AtMost(most):
            values = results.values(server, row.measure)
            return median(values) <= most if values else None
    return None


def draw(results: Results, rows: Iterable[Row], clews: Sequence[tuple[str, str]], peers: Sequence[str]) -> str:
    """A Markdown table. ``clews`` are pairs of a server and its durability."""
    servers = [*(name for name, _ in clews), *peers]
    head = ["", *servers, *(f"{name}: times the best peer, target" for name, _ in clews)]
    lines = [_line(head), _line(["---", *["---:"] * len(servers), *["---"] * len(clews)])]
    for row in rows:
        if not any(results.values(server, row.measure) for server in servers):
            continue
        cells = [f"{row.title}, {row.unit}" if row.unit else row.title]
        cells += [_value(results, server, row) for server in servers]
        for name, durability in clews:
            cells.append(_verdict(results, name, row, row.full if durability == "full" else row.process, peers))
        lines.append(_line(cells))
    for server, notes in results.notes.items():
        lines += ["", *(f"{server}, {what}: {why}." for what, why in notes.items())]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _value(results: Results, server: str, row: Row) -> str:
    values = results.values(server, row.measure)
    return number(median(values)) if values else "–"


def _verdict(results: Results, server: str, row: Row, target: Target, peers: Collection[str]) -> str:
    against = target.peers if isinstance(target, Times) else row.peers
    ratio = ratio_of(results, server, row, [peer for peer in against if peer in peers])
    words = []
    if ratio is not None:
        spread = "" if ratio.least == ratio.most else f" ({number(ratio.least)}–{number(ratio.most)})"
        words.append(f"{number(ratio.middle)}×{spread}")
    if isinstance(target, Times):
        words.append(f"≥ {target.least:g}×")
    if isinstance(target, AtMost):
        words.append(f"≤ {target.most:g}")
    words.append({True: "reached", False: "**missed**", None: ""}[is_reached(results, server, row, target)])
    return ", ".join(word for word in words if word)


def number(value: float) -> str:
    """Three digits that mean something."""
    if value == float("inf"):
        return "∞"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
