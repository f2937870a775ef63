"""Who wrote which part of a document, in ``log.db``: it outlives the updates that a snapshot covers.

Owns the tables ``authors`` (from which clock on a client id was whose) and ``cuts`` (from what somebody deleted
last). Rows are written in the transaction of the updates that they speak of. Must never grow with typing: a row begins
where the actor changes, or where an hour has passed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from server.domain.log import Actor, Author, Cut, DocKey, Entry, Span, begins
from server.store import actors

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
_LAST: Final = "SELECT clock, actor, at FROM authors WHERE doc = ? AND client = ? ORDER BY clock DESC LIMIT 1"
_SPAN: Final = (
    "SELECT clock, actor, at FROM authors WHERE doc = ?1 AND client = ?2 AND clock < ?4 AND clock >= coalesce("
    "(SELECT max(clock) FROM authors WHERE doc = ?1 AND client = ?2 AND clock <= ?3), 0) ORDER BY clock"
)


class Authorship:
    """What one batch adds. ``note`` each entry, then ``insert`` within the batch's transaction."""

    def __init__(self) -> None:
        self._authors: dict[tuple[DocKey, int], list[tuple[int, int, float]]] = {}
        self._cuts: dict[tuple[DocKey, int, int, int], tuple[int, float]] = {}

    def __bool__(self) -> bool:
        return bool(self._authors or self._cuts)

    def note(self, connection: sqlite3.Connection, doc: DocKey, seq: int, number: int, entry: Entry) -> None:
        """Take an entry of the batch; ``number`` is its actor's."""
        for client, clock in entry.begun:
            mine = self._authors.get((doc, client))
            last = mine[-1] if mine else connection.execute(_LAST, (doc, client)).fetchone()
            if begins(last, clock, number, entry.at):
                self._authors.setdefault((doc, client), []).append((clock, number, entry.at))
        for client, clock in entry.cut:
            self._cuts[doc, client, clock, number] = (seq, entry.at)

    def insert(self, connection: sqlite3.Connection) -> None:
        """Write the rows."""
        for (doc, client), rows in self._authors.items():
            connection.execute(
                "DELETE FROM authors WHERE doc = ? AND client = ? AND clock >= ?", (doc, client, rows[0][0])
            )
            connection.executemany("INSERT INTO authors VALUES (?, ?, ?, ?, ?)", [(doc, client, *row) for row in rows])
        cuts = [(*key, *value) for key, value in self._cuts.items()]
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
