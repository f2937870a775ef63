"""One summary held against one ledger: all that the judges of it share. Must never judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .items import Row, Telling, own_words, rows, tell
from .ledger import Code, Finding, LedgerItem
from .names import Name
from .reading import SUMMARY_LIMIT, Passage, Reading, read, read_source
from .words import is_cjk, tokens

STANDING: Final = frozenset({"active", "open", "answered"})
LAPSED: Final = frozenset({"superseded", "retired"})


HIDDEN: Final = "\u25ab"
"""Stands for each character of what is told verbatim."""
_ENOUGH, _ENOUGH_ZH = 12, 6
"""Characters of a row that are no chance when they stand unquoted."""
_QUOTES: Final = ('""', "「」", "«»")


@dataclass(frozen=True)
class Fault:
    """A finding, and whether a summary that has it may be shown at all."""

    finding: Finding
    blocks: bool = True


def fault(code: Code, detail: str, item: str = "", *, blocks: bool = True) -> Fault:
    """A fault, in one line."""
    return Fault(Finding(code, item, detail), blocks)


class Case:
    """A summary, the rows that it must tell and must not tell, and what it may draw on besides."""

    def __init__(self, summary: Reading, ledger: tuple[LedgerItem, ...], source: str) -> None:
        self.summary = summary
        self.source = read_source(source)
        self.rows = rows(ledger, self._spoken(summary))
        self.standing = [row for row in self.rows if row.item.status in STANDING]
        self.lapsed = [row for row in self.rows if row.item.status in LAPSED]
        self.forgotten = [row for row in self.rows if row.item.status == "forgotten"]

    def _spoken(self, summary: Reading) -> frozenset[str]:
        return frozenset(
            part for reading in (self.source, summary) for name in reading.names if not name.head for part in name.parts
        )

    @cached_property
    def tellings(self) -> dict[str, Telling]:
        """How far each standing row is told, by its id."""
        return {row.item.id: tell(row, self.summary, self.standing) for row in self.standing}

    @cached_property
    def known_text(self) -> str:
        """All that may be drawn on, in lower case; what was to be forgotten is only in it if the source says it."""
        told = [row for row in self.rows if row.item.status != "forgotten"]
        parts = [row.reading.text + " " + row.item.topic for row in told]
        return " \n ".join([*parts, self.source.text]).lower()

    @cached_property
    def known_words(self) -> frozenset[str]:
        """Its words, as they are written."""
        return frozenset(token.text for token in tokens(self.known_text))

    @cached_property
    def known_roots(self) -> frozenset[str]:
        """Its words, as they count."""
        told = [row for row in self.rows if row.item.status != "forgotten"]
        topics = frozenset(root for row in told for root in row.topic)
        return self.source.roots | topics | frozenset(root for row in told for root in row.reading.roots)

    @cached_property
    def known_names(self) -> tuple[Name, ...]:
        """Every name that may be drawn on."""
        told = [name for row in self.rows if row.item.status != "forgotten" for name in row.reading.names]
        return (*told, *self.source.names)

    @cached_property
    def bare(self) -> Reading:
        """The summary without what it tells in a standing row's own words: of that there is nothing to judge."""
        hidden = self.summary.text
        for text in sorted({own_words(row) for row in self.standing}, key=len, reverse=True):
            enough = len(text) >= (_ENOUGH_ZH if is_cjk(text) else _ENOUGH)
            for words in (text,) if enough else (f"{a}{text}{b}" for a, b in _QUOTES):
                hidden = hidden.replace(words, HIDDEN * len(words)) if text else hidden
        return self.summary if hidden == self.summary.text else read(hidden, SUMMARY_LIMIT)

    def row_of(self, passage: Passage) -> Row | None:
        """The standing row that the passage is most like, if it is like any."""
        best = max(self.standing, key=lambda row: row.likeness(passage.roots), default=None)
        return best if best is not None and best.likeness(passage.roots) >= 0.3 else None
