"""What one batch of appends will write to ``log.db``: worked out before anything is written, then written at once.

Owns that a lone keystroke costs one statement, which is a transaction of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final
from zlib import crc32

from server.domain.log import Append, Claim, DocKey, Entry
from server.store import actors, rows
from server.store import log_writing as write
from server.store.authorship import Authorship
from server.store.claims import settle
from server.store.lines import Line
from server.store.log_reading import read_claim
from server.store.vault import Vault

_NO_CLAIMS: Final[Mapping[tuple[DocKey, int], Claim]] = {}


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
        doc, after, entries, claims = append
        line = self._all.get(doc)
        if line is None or self.heads.get(doc, line.head) != after:
            self.answers.append(None)
            return
        settled = self.settle(connection, append) if claims else _NO_CLAIMS
        if settled is None:
            self.answers.append(None)
            return
        self.claims.update(settled)
        self.lines[doc] = line
        if entries:
            self._lay(connection, line, after + 1, entries)
        self.heads[doc] = head = after + len(entries)
        self.answers.append(head)

    def _lay(self, connection: sqlite3.Connection, line: Line, seq: int, entries: Sequence[Entry]) -> None:
        """The row of some entries. Once for each keystroke of a server: hence so little is called."""
        doc, n = line.key, len(entries)
        frames = []
        for at, entry in enumerate(entries, seq):
            update, actor, when, begun, cut = entry
            number = self._actors.number(connection, actor)
            frames.append(rows.frame(number, when, len(update)))
            frames.append(update)
            if begun or cut:
                self.authorship.note(connection, doc, at, number, entry)
        place = rows.place(doc, seq, n)
        kid, data = self._vault.seal(line.name.task, place, b"".join(frames))
        self.rows.append((self._first + len(self.rows), doc, seq, n, crc32(data, crc32(place)), kid, data))

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
