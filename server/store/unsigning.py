"""Who wrote what, taken out of ``log.db``: a person becomes one fresh stub per task, their devices nothing at all.

Owns every place of the log that names a person: actors, claims, authors, cuts, and the frames of stored updates. A stub
is drawn anew for each task, so that two tasks don't tell that one person was in both. Everything is done within the
caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, Protocol, TypeVar

from crdt_docs.ids import TaskId, new_id
from server.store.keys import Keys
from server.store.log_file import open_for_reading
from server.store.log_writing import delete_document
from server.store.rows import Row, checksum, pack, place, unpack
from server.store.vault import Vault

T = TypeVar("T")
_ROWS: Final = "SELECT id, doc, seq, n, crc, kid, CAST(data AS BLOB) FROM updates WHERE doc = ? ORDER BY id"
_ACTORS: Final = "SELECT id, principal, user, agent, device, session, token, via FROM actors WHERE user = ?"


class Amends(Protocol):
    """The log, as far as it lets itself be amended."""

    def amend(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Change, in one transaction, what is known of who wrote, or what was set aside; no bytes are left."""
        ...


class Signatures:
    """Whose what is in a log. Every method may block."""

    def __init__(self, log: Amends, path: Path, keys: Keys) -> None:
        self._log = log
        self._path = path
        self._vault = Vault(keys)

    def tasks(self, user: str, agents: Collection[str]) -> list[TaskId]:
        """The tasks in which the log names the person, or an agent of theirs; changes nothing."""
        with closing(open_for_reading(self._path)) as connection:
            return tasks_of(connection, user, agents)

    def cut(self, user: str, agents: Collection[str], stubs: Mapping[TaskId, str], *, asides: bool) -> int:
        """Put each task's stub in the person's place, ``asides`` dropped; in how many documents. Raises LogFailed."""

        def change(connection: sqlite3.Connection) -> int:
            if asides:
                drop_asides(connection, list(stubs))
            return unsign(connection, user, agents, stubs, self._vault)

        return self._log.amend(change)


def tasks_of(connection: sqlite3.Connection, user: str, agents: Collection[str]) -> list[TaskId]:
    """The tasks in which the log names the person, or an agent of theirs."""
    principals = [f"user:{user}", *(f"agent:{agent}" for agent in agents)]
    marks = ", ".join("?" * len(principals))
    found = connection.execute(
        f"SELECT DISTINCT d.task FROM documents d WHERE d.id IN (SELECT doc FROM claims WHERE principal IN ({marks}))"
        " OR d.id IN (SELECT a.doc FROM authors a JOIN actors x ON x.id = a.actor WHERE x.user = ?)",
        (*principals, user),
    )
    return [TaskId(task) for (task,) in found]


def unsign(
    connection: sqlite3.Connection, user: str, agents: Collection[str], stubs: Mapping[TaskId, str], vault: Vault
) -> int:
    """Put each task's stub in the person's place; in how many documents that was.

    What an agent of theirs wrote is a stub's, too; what another's or the server's own agent wrote for them stays that
    agent's, on behalf of the stub.
    """
    theirs = connection.execute(_ACTORS, (user,)).fetchall()
    touched = 0
    for task, stub in stubs.items():
        named = {agent: new_id() for agent in agents}
        replaced: dict[int, int] = {}
        for doc in _documents(connection, task):
            before = connection.total_changes
            _claims(connection, doc, user, stub, named)
            for number, *columns in theirs:
                if number not in replaced and _is_in(connection, doc, number):
                    replaced[number] = _actor(connection, columns, stub, named)
            if theirs:
                _frames(connection, (task, doc), replaced, theirs, (stub, named), vault)
            for old, new in replaced.items():
                for table in ("authors", "cuts"):
                    connection.execute(
                        f"UPDATE OR REPLACE {table} SET actor = ? WHERE doc = ? AND actor = ?", (new, doc, old)
                    )
            touched += connection.total_changes > before
    connection.execute("DELETE FROM actors WHERE user = ?", (user,))
    return touched


def drop_asides(connection: sqlite3.Connection, tasks: Collection[TaskId]) -> None:
    """Remove what repairs and forks have set aside of these tasks."""
    for task in tasks:
        found = connection.execute("SELECT id FROM documents WHERE task = ? AND current = 0", (task,)).fetchall()
        for (doc,) in found:
            delete_document(connection, doc)


def _documents(connection: sqlite3.Connection, task: TaskId) -> list[int]:
    return [doc for (doc,) in connection.execute("SELECT id FROM documents WHERE task = ?", (task,)).fetchall()]


def _is_in(connection: sqlite3.Connection, doc: int, number: int) -> bool:
    found = connection.execute(
        "SELECT 1 FROM authors WHERE doc = ?1 AND actor = ?2"
        " UNION ALL SELECT 1 FROM cuts WHERE doc = ?1 AND actor = ?2",
        (doc, number),
    )
    return found.fetchone() is not None


def _claims(connection: sqlite3.Connection, doc: int, user: str, stub: str, agents: Mapping[str, str]) -> None:
    heirs = {f"user:{user}": f"user:{stub}", **{f"agent:{old}": f"agent:{new}" for old, new in agents.items()}}
    for old, new in heirs.items():
        connection.execute(
            "UPDATE claims SET principal = ?, composed = 0 WHERE doc = ? AND principal = ?", (new, doc, old)
        )


def _actor(connection: sqlite3.Connection, columns: Sequence[str], stub: str, agents: Mapping[str, str]) -> int:
    """The actor as it may stay: a person and a way, without device, session or token. Its number."""
    principal, _, agent, _, _, _, via = columns
    agent = agents.get(agent, agent)
    principal = f"agent:{agent}" if principal.startswith("agent:") else f"user:{stub}"
    kept = (principal, stub, agent, "", "", "", via)
    found = connection.execute(
        "SELECT id FROM actors WHERE principal = ? AND user = ? AND agent = ? AND device = ? AND session = ?"
        " AND token = ? AND via = ?",
        kept,
    ).fetchone()
    if found is not None:
        return int(found[0])
    made = connection.execute(
        "INSERT INTO actors (principal, user, agent, device, session, token, via) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " RETURNING id",
        kept,
    )
    return int(made.fetchone()[0])


def _frames(
    connection: sqlite3.Connection,
    where: tuple[TaskId, int],
    replaced: dict[int, int],
    theirs: Sequence[Sequence[str]],
    heirs: tuple[str, Mapping[str, str]],
    vault: Vault,
) -> None:
    """Give stored updates of theirs the stub's number; what is damaged stays as it is, for `clew repair` to judge."""
    columns = {int(number): rest for number, *rest in theirs}
    task, doc = where
    for row in map(Row._make, connection.execute(_ROWS, (doc,)).fetchall()):
        try:
            framed = unpack(row, vault.open)
        except ValueError:
            continue
        if not any(entry.actor in columns for entry in framed):
            continue
        for entry in framed:
            if entry.actor in columns and entry.actor not in replaced:
                replaced[entry.actor] = _actor(connection, columns[entry.actor], *heirs)
        text = pack((replaced.get(entry.actor, entry.actor), entry.at, entry.update) for entry in framed)
        kid, data = vault.seal(task, place(row.doc, row.seq, row.n), text)
        connection.execute(
            "UPDATE updates SET data = ?, crc = ?, kid = ? WHERE id = ?",
            (data, checksum(row.doc, row.seq, row.n, data), kid, row.id),
        )
