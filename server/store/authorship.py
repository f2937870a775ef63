"""Who wrote which part of a document, in ``log.db``: it outlives the updates that a snapshot covers.

Owns the tables ``authors`` (from which clock on a client id was whose) and ``cuts`` (from what somebody deleted
last). Rows are written in the transaction of the updates that they speak of. Must never grow with typing: a row begins
where the actor changes, or where an hour has passed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from server.domain.log import Actor, Author, Cut, DocKey, Entry, Span, begins
from server.store import actors
from server.store.several import Several

SCHEMA: Final = """
CREATE TABLE authors (
  doc INTEGER NOT NULL,
  client INTEGER NOT NULL,
  clock INTEGER NOT NULL,
  actor INTEGER NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (doc, client, clock)
) WITHOUT ROWID;
CREATE TABLE cuts (
  doc INTEGER NOT NULL,
  client INTEGER NOT NULL,
  clock INTEGER NOT NULL,
  actor INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (doc, client, clock, actor)
) WITHOUT ROWID;
"""
_LAST: Final = Several(
    "WITH sought (doc, client) AS ({}) SELECT a.doc, a.client, a.clock, a.actor, a.at"
    " FROM sought s CROSS JOIN authors a ON a.doc = s.doc AND a.client = s.client"
    " AND a.clock = (SELECT max(clock) FROM authors WHERE doc = s.doc AND client = s.client)",
    columns=2,
)
_INSERT: Final = Several("INSERT INTO authors (doc, client, clock, actor, at) {}", columns=5)
_SPAN: Final = (
    "SELECT clock, actor, at FROM authors WHERE doc = ?1 AND client = ?2 AND clock < ?4 AND clock >= coalesce("
    "(SELECT max(clock) FROM authors WHERE doc = ?1 AND client = ?2 AND clock <= ?3), 0) ORDER BY clock"
)


Writer = tuple[DocKey, int]
"""A client id in a document."""
Note = tuple[int, int, float]
"""From which clock on it is whose, by number, and when that began."""


class Authorship:
    """What one batch adds. ``note`` each entry, then ``insert`` within the batch's transaction."""

    def __init__(self) -> None:
        self._begun: dict[Writer, list[Note]] = {}
        self._cuts: dict[tuple[DocKey, int, int, int], tuple[int, float]] = {}

    @property
    def writers(self) -> Iterable[Writer]:
        """Of whom something was noted."""
        return self._begun

    def note(self, doc: DocKey, seq: int, number: int, entry: Entry) -> None:
        """Take an entry of the batch; ``number`` is its actor's."""
        for client, clock in entry.begun:
            self._begun.setdefault((doc, client), []).append((clock, number, entry.at))
        for client, clock in entry.cut:
            self._cuts[doc, client, clock, number] = (seq, entry.at)

    def insert(self, connection: sqlite3.Connection, is_new: Callable[[Writer], bool]) -> None:
        """Write the rows. ``is_new`` says of whom there can be none yet: those are not looked for."""
        found: dict[Writer, Note] = {}
        for cursor in _LAST.run(connection, [writer for writer in self._begun if not is_new(writer)]):
            found.update({(doc, client): (clock, number, at) for doc, client, clock, number, at in cursor})
        rows: list[tuple[object, ...]] = []
        for writer, notes in self._begun.items():
            stored = last = found.get(writer)
            for note in notes:
                if begins(last, *note):
                    if stored is not None and stored[0] >= note[0]:
                        connection.execute(
                            "DELETE FROM authors WHERE doc = ? AND client = ? AND clock >= ?", (*writer, note[0])
                        )
                        stored = None
                    rows.append((*writer, *note))
                    last = note
        _INSERT.write(connection, rows)
        cuts = [(*key, *value) for key, value in self._cuts.items()]
        if cuts:
            connection.executemany("INSERT OR REPLACE INTO cuts VALUES (?, ?, ?, ?, ?, ?)", cuts)


def hand_on(connection: sqlite3.Connection, doc: DocKey, heir: DocKey) -> None:
    """A new generation keeps what is known of who wrote it."""
    connection.execute("INSERT INTO authors SELECT ?, client, clock, actor, at FROM authors WHERE doc = ?", (heir, doc))
    connection.execute("INSERT INTO cuts SELECT ?, client, clock, actor, seq, at FROM cuts WHERE doc = ?", (heir, doc))


def delete(connection: sqlite3.Connection, doc: int) -> None:
    """Remove all rows of a document."""
    connection.execute("DELETE FROM authors WHERE doc = ?", (doc,))
    connection.execute("DELETE FROM cuts WHERE doc = ?", (doc,))


def read_authors(connection: sqlite3.Connection, doc: DocKey, spans: Sequence[Span]) -> list[list[Author]]:
    """For each span its authors in order of their clocks; the first may have begun before it."""
    known = _Known(connection)
    return [
        [
            Author(clock, actor, at)
            for clock, number, at in connection.execute(_SPAN, (doc, *span))
            if (actor := known.actor(number)) is not None
        ]
        for span in spans
    ]


def read_cuts(connection: sqlite3.Connection, doc: DocKey, after: int) -> list[Cut]:
    """What was deleted from after that seq, in order."""
    known = _Known(connection)
    rows = connection.execute(
        "SELECT client, clock, actor, seq, at FROM cuts WHERE doc = ? AND seq > ? ORDER BY seq, client, clock",
        (doc, after),
    )
    return [
        Cut(client, clock, seq, actor, at)
        for client, clock, number, seq, at in rows.fetchall()
        if (actor := known.actor(number)) is not None
    ]


class _Known:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._actors: dict[int, Actor | None] = {}

    def actor(self, number: int) -> Actor | None:
        if number not in self._actors:
            self._actors[number] = actors.read(self._connection, number)
        return self._actors[number]
