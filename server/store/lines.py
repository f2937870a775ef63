"""What the log keeps in memory of each document: its head, where its rows are, who wrote in it; never a payload.

Owns the map from documents to row ids, built by one scan at the start, since the table has no second index. Must be
changed only after the commit that it follows.
"""

from __future__ import annotations

import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from crdt_docs.ids import DocName, TaskId
from server.domain.log import DocKey

_NO_IDS: Final[Sequence[int]] = ()


class Line:
    """One document of one generation. ``stored`` is False until its own row is in the file."""

    __slots__ = (
        "key",
        "name",
        "generation",
        "head",
        "snapshot",
        "stored",
        "quarantined",
        "damage",
        "ids",
        "seqs",
        "left",
        "_clients",
        "_complete",
    )

    def __init__(self, key: DocKey, name: DocName, generation: int = 1, *, stored: bool = False) -> None:
        self.key = key
        self.name = name
        self.generation = generation
        self.head = 0
        self.snapshot: int | None = None
        self.stored = stored
        self.quarantined: str | None = None
        self.damage: str | None = None
        self.ids: array[int] | None = None
        self.seqs: array[int] | None = None
        self.left: list[int] = []  # rows that a snapshot covers and that are in the file still
        self._clients: array[int] | None = None
        self._complete = False

    def meet(self, clients: Iterable[int], *, all_there_are: bool = False) -> None:
        """The file says something of these client ids; they may come in any order, and again."""
        if all_there_are and self._complete:
            return
        known = self._clients
        if known is None:
            known = self._clients = array("Q")
        for client in clients:
            at = bisect_left(known, client)
            if at == len(known) or known[at] != client:
                known.insert(at, client)
        self._complete = self._complete or all_there_are

    def lacks(self, client: int) -> bool:
        """Whether it is known that the file says nothing of a client id, be it whose it is or who wrote under it."""
        known = self._clients
        if not self._complete or known is None:
            return False
        at = bisect_left(known, client)
        return at == len(known) or known[at] != client

    def add(self, row: int, seq: int, n: int) -> None:
        """A row with updates ``seq … seq + n - 1`` is in the file."""
        ids, seqs = self.ids, self.seqs
        if ids is None or seqs is None:
            ids, seqs = self.ids, self.seqs = array("q"), array("q")
        ids.append(row)
        seqs.append(seq)
        self.head = seq + n - 1

    def covered(self, seq: int) -> int:
        """How many of its first rows hold nothing after that seq."""
        if not self.seqs:
            return 0
        if seq >= self.head:
            return len(self.seqs)
        return max(0, bisect_right(self.seqs, seq + 1) - 1)

    def drop(self, count: int, *, later: bool = False) -> None:
        """Its first rows are gone from the file, or will be ``later``."""
        if self.ids is not None and self.seqs is not None:
            if later:
                self.left += self.ids[:count]
            del self.ids[:count], self.seqs[:count]
            if not self.ids:
                self.ids = self.seqs = None

    def holding(self, after: int) -> tuple[int, ...]:
        """The ids of the rows that hold updates after that seq; none if the row with the next one is not there."""
        if not self.seqs or self.ids is None or after >= self.head or self.seqs[0] > after + 1:
            return ()
        return tuple(self.ids[bisect_left(self.seqs, after + 2) - 1 :])


def spans(ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The runs of neighbouring ids, as (first, last): one statement reads or deletes each."""
    if not ids:
        return
    first = last = ids[0]
    for row in ids[1:]:
        if row != last + 1:
            yield first, last
            first = row
        last = row
    yield first, last


def scan(connection: sqlite3.Connection) -> tuple[dict[DocKey, Line], int, int]:
    """Read where everything is: the current lines, and the first free row id and document key."""
    lines: dict[DocKey, Line] = {}
    top = 0
    for key, task, part, generation, current, quarantined in connection.execute(
        "SELECT id, task, part, generation, current, quarantined FROM documents"
    ):
        top = max(top, key)
        if current:
            line = Line(DocKey(key), DocName(TaskId(task), part), generation, stored=True)
            line.quarantined = quarantined
            lines[line.key] = line
    for key, seq in connection.execute("SELECT doc, seq FROM snapshots"):
        if (found := lines.get(DocKey(key))) is not None:
            if isinstance(seq, int):
                found.snapshot = found.head = seq
            else:
                found.damage = "its snapshot's row is damaged"
    last = 0
    for last, key, seq, n in connection.execute("SELECT id, doc, seq, n FROM updates ORDER BY id"):
        if (found := lines.get(DocKey(key))) is not None:
            _place(found, last, seq, n)
    return lines, last + 1, top + 1


def _place(line: Line, row: int, seq: object, n: object) -> None:
    """Add a row as it was found in the file; what does not follow on the rows before is damage."""
    if not isinstance(seq, int) or not isinstance(n, int) or n < 1:
        line.damage = line.damage or f"the row after update {line.head} is damaged"
    elif seq + n - 1 > (line.snapshot or 0):
        if seq > line.head + 1 or (line.ids and seq != line.head + 1):
            line.damage = line.damage or f"the updates before {seq} do not reach up to it"
        line.add(row, seq, n)
    else:
        line.left.append(row)
