"""One statement for several rows. Owns how many: there is a text for each number of rows, and the writing connection
keeps as many prepared statements as there are texts (``cached_statements`` in ``log_file.py``).

Between two steps of a statement a thread lets go of the interpreter, and may wait for it as long as others compute:
that, and not what SQLite does, is what a row of its own statement costs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

MOST: Final = 16


class Several:
    """A statement over rows of values, whose text has ``VALUES …`` in place of ``{}``."""

    def __init__(self, text: str, columns: int, most: int = MOST) -> None:
        row = "(" + ", ".join("?" * columns) + ")"
        self.most = most
        self._texts = [text.format("VALUES " + ", ".join([row] * count)) for count in range(1, most + 1)]

    def run(self, connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> Iterator[sqlite3.Cursor]:
        """Run it for all the rows, ``most`` at a time; each time's cursor, to be read before the next."""
        for at in range(0, len(rows), self.most):
            yield self._execute(connection, rows[at : at + self.most])

    def write(self, connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> int:
        """Run it for all the rows; how many it wrote."""
        if 0 < len(rows) <= self.most:  # what nearly every commit takes, without a generator
            return self._execute(connection, rows).rowcount
        return sum(cursor.rowcount for cursor in self.run(connection, rows))

    def _execute(self, connection: sqlite3.Connection, some: Sequence[tuple[object, ...]]) -> sqlite3.Cursor:
        return connection.execute(self._texts[len(some) - 1], list(chain.from_iterable(some)))
