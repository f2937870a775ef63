"""One summary held against one ledger: all that the judges of it share. Must never judge."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .items import Row, Telling, own_words, rows, tell
from .ledger import Code, Finding, LedgerItem
from .reading import SUMMARY_LIMIT, Passage, Reading, read
from .source import Source
from .words import is_cjk, tokens

STANDING: Final = frozenset({"active", "open", "answered"})
LAPSED: Final = frozenset({"superseded", "retired"})


HIDDEN: Final = "\u25ab"
"""Stands for each character of what is told verbatim."""
_ENOUGH, _ENOUGH_ZH = 12, 6
"""Characters of a row that are no chance when they stand unquoted."""
_OPENS, _CLOSES = '"“「«⟦', '"”」»⟧'
_STARTS: Final = re.compile(r"(?:^|[.:;,!?。、()\n▫\"“「«⟦]|[-•*]\s|\band|[和与及])\s*$")
_STOPS: Final = re.compile(r"\s*(?:$|[.:;,!?。、()\n▫\"”」»⟧]|and\b|[和与及])")


def _hide(text: str, words: str, *, quoted: bool) -> str:
    """The text with the words hidden wherever they stand for themselves, with nothing that turns them right beside."""
    at = text.find(words)
    while at >= 0:
        before, end = text[max(0, at - 8) : at], at + len(words)
        inside = before[-1:] in _OPENS and text[end : end + 1] in _CLOSES if before and text[end:] else False
        if inside or (not quoted and _STARTS.search(before) and _STOPS.match(text, end)):
            text = text[:at] + HIDDEN * len(words) + text[end:]
        at = text.find(words, end)
    return text


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
        self.source = Source(source)
        self.rows = rows(ledger, self.source.names)
        self.standing = [row for row in self.rows if row.item.status in STANDING]
        self.lapsed = [row for row in self.rows if row.item.status in LAPSED]
        self.forgotten = [row for row in self.rows if row.item.status == "forgotten"]

    @cached_property
    def tellings(self) -> dict[str, Telling]:
        """How far each standing row is told, by its id."""
        return {row.item.id: tell(row, self.summary, self.standing) for row in self.standing}

    @cached_property
    def _told(self) -> list[Row]:
        return [row for row in self.rows if row.item.status != "forgotten"]

    @cached_property
    def ledger_text(self) -> str:
        """All rows but those that were to be forgotten, in lower case."""
        return " \n ".join(f"{row.reading.text} {row.item.topic}" for row in self._told).lower()

    @cached_property
    def ledger_words(self) -> frozenset[str]:
        """Its words, as they are written."""
        return frozenset(token.text for token in tokens(self.ledger_text))

    @cached_property
    def known_roots(self) -> frozenset[str]:
        """The words of the ledger and the source, as they count."""
        return self.source.roots | frozenset(root for row in self._told for root in row.reading.roots | row.topic)

    def says(self, text: str) -> bool:
        """Whether the ledger or the source has the text, whatever its case."""
        return text.lower() in self.ledger_text or text.lower() in self.source.lower

    def knows(self, word: str) -> bool:
        """Whether the ledger or the source has the lower case word."""
        return word in self.ledger_words or word in self.source.words

    @cached_property
    def bare(self) -> Reading:
        """The summary without what it tells in a standing row's own words: of that there is nothing to judge."""
        hidden = self.summary.text
        for text in sorted({own_words(row) for row in self.standing}, key=len, reverse=True):
            enough = len(text) >= (_ENOUGH_ZH if is_cjk(text) else _ENOUGH)
            hidden = _hide(hidden, text, quoted=not enough) if text else hidden
        return self.summary if hidden == self.summary.text else read(hidden, SUMMARY_LIMIT)

    def row_of(self, passage: Passage) -> Row | None:
        """The standing row that the passage is most like, if it is like any."""
        best = max(self.standing, key=lambda row: row.likeness(passage), default=None)
        return best if best is not None and best.likeness(passage) >= 0.3 else None
