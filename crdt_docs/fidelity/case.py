"""One summary held against one ledger: all that the judges of it share. Must never judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .items import VERBATIM, Row, Telling, rows, tell
from .ledger import Code, Finding, LedgerItem
from .reading import Passage, Reading, read
from .source import Source
from .verbatim import as_told, hide, hide_quotes
from .words import vocabulary

STANDING: Final = frozenset({"active", "open", "answered"})
LAPSED: Final = frozenset({"superseded", "retired"})
_READ: Final = 12_000
"""Characters of a summary that are read."""


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

    def __init__(self, text: str, ledger: tuple[LedgerItem, ...], source: str) -> None:
        self.text = text
        self.source = Source(source)
        self.rows = rows(ledger, self.source.names)
        self.standing = [row for row in self.rows if row.item.status in STANDING]
        self.lapsed = [row for row in self.rows if row.item.status in LAPSED]
        self.forgotten = [row for row in self.rows if row.item.status == "forgotten"]

    @cached_property
    def tellings(self) -> dict[str, Telling]:
        """How far each standing row is told, by its id."""
        return {
            row.item.id: VERBATIM if as_told(row.wording, self.text) else tell(row, self.summary, self.standing)
            for row in self.standing
        }

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
        return vocabulary(self.ledger_text)

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
    def summary(self) -> Reading:
        """All of the summary that can be a paraphrase."""
        return read(self.text, _READ)

    @cached_property
    def rest(self) -> str:
        """The summary's text without what it tells in a standing row's own words, or quotes from the source."""
        told = {as_told(row.wording, self.text) for row in self.standing}
        return hide_quotes(hide(self.text, told), self._may_be_quoted)

    @cached_property
    def bare(self) -> Reading:
        """The rest of it, read: of what is told verbatim there is nothing to judge."""
        return read(self.rest, _READ)

    def _may_be_quoted(self, words: str) -> bool:
        """Whether somebody wrote it: the task's name, a message; and it is nothing that holds no longer."""
        if not self.says(words):
            return False
        quoted = read(words, _READ).passages
        return not any(
            row.likeness(passage) >= 0.45 or any(map(row.has, passage.values))
            for row in [*self.lapsed, *self.forgotten]
            for passage in quoted
        )

    def row_of(self, passage: Passage) -> Row | None:
        """The standing row that the passage is most like, if it is like any."""
        best = max(self.standing, key=lambda row: row.likeness(passage), default=None)
        return best if best is not None and best.likeness(passage) >= 0.3 else None
