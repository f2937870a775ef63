"""All words that a log stores, opened: for whoever must prove that some are not there. Reads only, a row at a time.

Owns that nothing is passed over: every generation, also those set aside, and what hangs on no document any more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from server.domain.errors import Unavailable
from server.store.log_file import FILE_ERRORS, open_for_reading
from server.store.pieces import PIECE
from server.store.rows import BODY, SPLICE, STATE, place
from server.store.vault import Opener, Vault

_ROWS: Final = "SELECT doc, seq, n, kid, CAST(data AS BLOB) FROM updates"
_SNAPSHOTS: Final = "SELECT doc, seq, kid, CAST(body AS BLOB), CAST(state AS BLOB), CAST(splice AS BLOB) FROM snapshots"
_PIECES: Final = "SELECT number, kid, CAST(data AS BLOB) FROM pieces WHERE doc = ? AND seq = ? ORDER BY number"
_NAMES: Final = "SELECT id, task, part, generation FROM documents"


def opened_texts(path: Path, vault: Vault | None = None) -> Iterator[tuple[str, bytes]]:
    """What stands in each row, with the name of its document; empty where no key opens it. Raises Unavailable.

    The ``vault`` is by the keys that lie beside the log, unless one is given.
    """
    try:
        with (
            closing(vault or Vault.beside(path.parent, readonly=True)) as opener,
            closing(open_for_reading(path)) as log,
        ):
            yield from _texts(log, opener.open)
    except FILE_ERRORS as error:
        raise Unavailable(f"{path} cannot be read ({error}).") from error


def _texts(log: sqlite3.Connection, opened: Opener) -> Iterator[tuple[str, bytes]]:
    names = {key: f"{task}/{part}, generation {generation}" for key, task, part, generation in log.execute(_NAMES)}
    for doc, seq, n, kid, data in log.execute(_ROWS):
        yield names.get(doc, f"document {doc}"), _open(opened, kid, place(doc, seq, n), data)
    for doc, seq, kid, *stored in log.execute(_SNAPSHOTS):
        for part, data in zip((BODY, STATE, SPLICE), stored, strict=True):
            yield names.get(doc, f"document {doc}"), _open(opened, kid, place(doc, seq, 0, part), data)
    for doc, seq in log.execute("SELECT DISTINCT doc, seq FROM pieces").fetchall():
        found = log.execute(_PIECES, (doc, seq))
        yield (
            names.get(doc, f"document {doc}"),
            b"".join(_open(opened, kid, place(doc, seq, number, PIECE), data) for number, kid, data in found),
        )


def _open(opened: Opener, kid: int | None, where: bytes, data: bytes) -> bytes:
    try:
        return opened(kid, where, data) if data else b""
    except ValueError:
        return b""
