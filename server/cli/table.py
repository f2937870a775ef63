"""Rows as text for people: aligned columns, one header. Must never let a stored name drive the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

JOINERS: Final = "\u200c\u200d"
"""They hold emoji of several parts together and shape letters; alone of their kind they turn and hide nothing."""


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print aligned columns; None is shown as a dash."""
    cells = [[_cell(value) for value in row] for row in (header, *rows)]
    widths = [max(_width(row[at]) for row in cells) for at in range(len(header))]
    for row in cells:
        print("  ".join(text + " " * (width - _width(text)) for text, width in zip(row, widths, strict=True)).rstrip())


def counted(number: int, noun: str) -> str:
    """``1 task``, ``2 tasks``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def plain(text: str) -> str:
    """The text without what would move the cursor, colour the terminal or turn its direction."""
    return "".join(
        char
        if char in "\n\t" + JOINERS or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co")
        else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


def _cell(value: object) -> str:
    return "-" if value is None else plain(str(value)).replace("\n", " ").replace("\t", " ")


def _width(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) or char in JOINERS else 1
        for char in text
    )
