"""What one batch of appends will write to ``log.db``: worked out before anything is written, then written at once.

Owns that a lone keystroke costs one statement, which is a transaction of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from server.domain.log import Append, Claim, DocKey
from server.store import actors, rows
from server.store import log_writing as write
from server.store.authorship import Authorship
from server.store.claims import settle
from server.store.lines import Line
from server.store.log_reading import read_claim
from server.store.vault import Vault


class Plan:
    """Answers for the batch, new heads, and the rows to be."""

    __slots__ = ("answers", "heads", "lines", "rows", "claims", "authorship", "_all", "_actors", "_vault", "_first")

    def __init__(self, lines: Mapping[DocKey, Line], numbers: actors.Actors, vault: Vault, first: int) -> None:
        self._all = lines
        self._actors = numbers
        self._vault = vault
        self._first = first
        self.answers: list[int | None] = []
        self.heads: dict[DocKey, int] = {}
        self.lines: dict[DocKey, Line] = {}
        self.rows: list[write.Planned] = []
        self.claims: dict[tuple[DocKey, int], Claim] = {}
        self.authorship = Authorship()

    def take(self, connection: sqlite3.Connection, append: Append) -> None:
        """Answer one more append."""
        self.answers.append(self._answer(connection, append))

    def _answer(self, connection: sqlite3.Connection, append: Append) -> int | None:
        doc = append.doc
        line = self._all.get(doc)
        if line is None or self.heads.get(doc, line.head) != append.after:
            return None
        claims = self.settle(connection, append)
        if claims is None:
            return None
        self.claims.update(claims)
        self.lines[doc] = line
        n = len(append.entries)
        if n:
            seq = append.after + 1
            numbered = []
            for at, entry in enumerate(append.entries, seq):
                number = self._actors.number(connection, entry.actor)
                numbered.append((number, entry.at, entry.update))
                if entry.begun or entry.cut:
                    self.authorship.note(connection, doc, at, number, entry)
            kid, data = self._vault.seal(line.name.task, rows.place(doc, seq, n), rows.pack(numbered))
            crc = rows.checksum(doc, seq, n, data)
            self.rows.append((self._first + len(self.rows), doc, seq, n, crc, kid, data))
        self.heads[doc] = append.after + n
        return append.after + n

    def settle(self, connection: sqlite3.Connection, append: Append) -> dict[tuple[DocKey, int], Claim] | None:
        """The append's claims as they will stand; None if one is finally another's."""
        settled: dict[tuple[DocKey, int], Claim] = {}
        for claim in append.claims:
            place = (append.doc, claim.client)
            present = settled.get(place) or self.claims.get(place) or read_claim(connection, *place)
            stands = settle(present, claim)
            if stands is None:
                return None
            if stands != present:
                settled[place] = stands
        return settled

    def write(self, connection: sqlite3.Connection, fresh: list[tuple[int, *actors.Columns]]) -> None:
        """Write everything in one transaction, ``fresh`` actors included."""
        new = [line for line in self.lines.values() if not line.stored]
        if not (fresh or new or self.claims or self.authorship or len(self.rows) > write.ROWS_AT_ONCE):
            write.insert_rows(connection, self.rows)
            return
        connection.execute("BEGIN IMMEDIATE")
        actors.insert(connection, fresh)
        for line in new:
            write.insert_document(connection, line)
        for (doc, _), claim in self.claims.items():
            write.insert_claim(connection, doc, claim)
        self.authorship.insert(connection)
        write.insert_rows(connection, self.rows)
        connection.execute("COMMIT")
