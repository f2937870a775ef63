"""What one batch of appends will write to ``log.db``: worked out before anything is written, then written at once.

Owns that a lone keystroke costs one statement, which is a transaction of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final
from zlib import crc32

from server.domain.log import Append, Claim, DocKey, Entry
from server.store import actors, rows
from server.store import log_writing as write
from server.store.authorship import Authorship, Writer
from server.store.claims import settle
from server.store.lines import Line
from server.store.log_reading import read_claim
from server.store.vault import Vault

_NO_CLAIMS: Final[Mapping[tuple[DocKey, int], Claim]] = {}


class Plan:
    """Answers for the batch, new heads, and the rows to be."""

    __slots__ = (
        "answers", "heads", "lines", "rows", "claims", "authorship", "_all", "_actors", "_vault", "_first", "_taken",
    )  # fmt: skip

    def __init__(self, lines: Mapping[DocKey, Line], numbers: actors.Actors, vault: Vault, first: int) -> None:
        self._all = lines
        self._actors = numbers
        self._vault = vault
        self._first = first
        self._taken: list[tuple[Line, int, Sequence[Entry]]] = []
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
        settled = self.settle(connection, line, claims) if claims else _NO_CLAIMS
        if settled is None:
            self.answers.append(None)
            return
        self.claims.update(settled)
        self.lines[doc] = line
        if entries:
            self._taken.append((line, after + 1, entries))
        self.heads[doc] = head = after + len(entries)
        self.answers.append(head)

    def settle(
        self, connection: sqlite3.Connection, line: Line, claims: Sequence[Claim]
    ) -> dict[tuple[DocKey, int], Claim] | None:
        """An append's claims as they will stand; None if one is finally another's."""
        settled: dict[tuple[DocKey, int], Claim] = {}
        for claim in claims:
            place = (line.key, claim.client)
            present = settled.get(place) or self.claims.get(place)
            if present is None and not line.lacks(claim.client):
                present = read_claim(connection, *place)
            stands = settle(present, claim)
            if stands is None:
                return None
            if stands != present:
                settled[place] = stands
        return settled

    def write(self, connection: sqlite3.Connection) -> None:
        """Write everything in one transaction."""
        new = [line for line in self.lines.values() if not line.stored]
        if not (new or self.claims or self._says_more()):
            self._lay()
            write.insert_rows(connection, self.rows)
            return
        connection.execute("BEGIN IMMEDIATE")
        self._actors.meet(connection, [entry.actor for _, _, entries in self._taken for entry in entries])
        self._lay()
        for line in new:
            write.insert_document(connection, line)
        write.insert_claims(connection, self.claims)
        self.authorship.insert(connection, self._is_new)
        write.insert_rows(connection, self.rows)
        connection.execute("COMMIT")

    def _says_more(self) -> bool:
        """Whether there is more to write than what one statement can."""
        if len(self._taken) > write.ROWS_AT_ONCE:
            return True
        knows = self._actors.knows
        for _, _, entries in self._taken:
            for _, actor, _, begun, cut in entries:
                if begun or cut or not knows(actor):
                    return True
        return False

    def _lay(self) -> None:
        """The rows. Once for each keystroke of a server: hence so little is called."""
        number_of, note, seal = self._actors.number, self.authorship.note, self._vault.seal
        for row, (line, seq, entries) in enumerate(self._taken, self._first):
            doc, n = line.key, len(entries)
            frames = []
            for at, entry in enumerate(entries, seq):
                update, actor, when, begun, cut = entry
                number = number_of(actor)
                frames.append(rows.frame(number, when, len(update)))
                frames.append(update)
                if begun or cut:
                    note(doc, at, number, entry)
            place = rows.place(doc, seq, n)
            kid, data = seal(line.name.task, place, b"".join(frames))
            self.rows.append((row, doc, seq, n, crc32(data, crc32(place)), kid, data))

    def publish(self) -> None:
        """It is in the file: let the lines know."""
        for line in self.lines.values():
            line.stored = True
        for row, doc, seq, n, *_ in self.rows:
            self.lines[doc].add(row, seq, n)
        for doc, client in chain(self.claims, self.authorship.writers):
            self.lines[doc].meet((client,))

    def _is_new(self, writer: Writer) -> bool:
        doc, client = writer
        return self.lines[doc].lacks(client)
