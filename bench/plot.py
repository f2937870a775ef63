"""Cost against size, as SVG. Pure: measures in, text out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from bench.table import Results, number

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 460, 320, 56, 44, 34
COLOURS = ("#0b6e4f", "#59b38c", "#c0392b", "#d68910", "#2e6da4", "#7d3c98")
Points = Sequence[tuple[float, float]]
SMOOTHED = 5
"""Neighbours of whose costs the median is drawn: a round lasts a few ticks of the clock by which CPU is counted."""


def curves(results: Results, kind: str) -> dict[str, Points]:
    """Of each server, the measures named ``KIND SIZE``, by size."""
    found: dict[str, Points] = {}
    for server, repeats in results.measured.items():
        points = sorted(
            (float(name.split()[1]), value)
            for repeat in repeats[:1]
            for name, value in repeat.items()
            if name.startswith(f"{kind} ")
        )
        if points:
            found[server] = points
    return found


def smooth(points: Points) -> Points:
    """Each value by the median of itself and those around it, if there are many."""
    if len(points) < 4 * SMOOTHED:
        return points
    half = SMOOTHED // 2
    values = [value for _, value in points]
    return [(x, median(values[max(0, at - half) : at + half + 1])) for at, (x, _) in enumerate(points)]


def draw(results: Results) -> str:
    """Two panels: by the length of one document's history, and by the number of documents."""
    panels = [
        ("CPU of an update, by updates before it in the document", curves(results, "history")),
        ("CPU of an update, by documents that are typed into", curves(results, "documents")),
    ]
    body = [_panel(title, lines, at * WIDTH) for at, (title, lines) in enumerate(panels)]
    names = list(dict.fromkeys(name for _, lines in panels for name in lines))
    legend = [
        f'<text x="{LEFT + at * 140}" y="{HEIGHT + 24}" fill="{COLOURS[at % len(COLOURS)]}">● {name}</text>'
        for at, name in enumerate(names)
    ]
    size = f'width="{2 * WIDTH}" height="{HEIGHT + 40}" viewBox="0 0 {2 * WIDTH} {HEIGHT + 40}"'
    style = 'font-family="sans-serif" font-size="12"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>',
        '<rect width="100%" height="100%" fill="white"/>', *body, *legend, "</svg>", "",
    ])  # fmt: skip


def _panel(title: str, lines: Mapping[str, Points], shift: int) -> str:
    values = [value for points in lines.values() for _, value in points if value > 0]
    sizes = [size for points in lines.values() for size, _ in points]
    if not values:
        return ""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    first, last = math.log10(min(sizes)), math.log10(max(sizes)) + 1e-9

    def x(size: float) -> float:
        return shift + LEFT + (math.log10(size) - first) / (last - first) * (WIDTH - LEFT - 24)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(max(value, 10**low)) - low) / (high - low) * (HEIGHT - BOTTOM - TOP)

    parts = [f'<text x="{shift + LEFT}" y="18">{title}, µs</text>']
    for power in range(low, high + 1):
        for digit in (1, 2, 5) if power < high else (1,):
            at = y(digit * 10**power)
            parts.append(f'<path d="M{shift + LEFT} {at:.1f}H{shift + WIDTH - 24}" stroke="#ddd"/>')
            parts.append(
                f'<text x="{shift + LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{digit * 10**power:g}</text>'
            )
    for power in range(math.ceil(first - 1e-9), math.floor(last) + 1):
        parts.append(f'<text x="{x(10**power):.1f}" y="{HEIGHT - 24}" text-anchor="middle">{number(10**power)}</text>')
    for at, points in enumerate(lines.values()):
        path = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in smooth(points))
        colour = COLOURS[at % len(COLOURS)]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    return "\n".join(parts)
