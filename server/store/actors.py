"""Who made which update, interned: a row in the log names its actors by small integers.

Owns the table ``actors``. A new actor becomes known only after the commit that wrote it.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from crdt_docs.ids import AgentId, DeviceId, SessionId, TokenId, UserId
from server.domain.access import PrincipalKey
from server.domain.log import Actor

MAX_CACHED: Final = 20_000
_COLUMNS: Final = "principal, user, agent, device, session, token, via"

Columns = tuple[str, str, str, str, str, str, str]


class Actors:
    """A bounded cache over the table, for the one thread that writes."""

    def __init__(self) -> None:
        self._ids: dict[Actor, int] = {}
        self._fresh: dict[Actor, int] = {}
        self._next = 0

    def restart(self, connection: sqlite3.Connection) -> None:
        """Begin over on a new connection: nothing of a failed commit is known."""
        self._fresh.clear()
        self._ids.clear()
        self._next = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM actors").fetchone()[0]

    def number(self, connection: sqlite3.Connection, actor: Actor) -> int:
        """The actor's number; a new one is among ``fresh`` until ``commit``."""
        known = self._ids.get(actor) or self._fresh.get(actor)
        if known is not None:
            return known
        found = connection.execute(
            "SELECT id FROM actors WHERE principal = ? AND user = ? AND agent = ? AND device = ? AND session = ?"
            " AND token = ? AND via = ?",
            _columns(actor),
        ).fetchone()
        if found is None:
            self._fresh[actor] = number = self._next + len(self._fresh)
            return number
        self._remember(actor, found[0])
        return int(found[0])

    def fresh(self) -> list[tuple[int, *Columns]]:
        """The rows of ``actors`` that this commit must write."""
        return [(number, *_columns(actor)) for actor, number in self._fresh.items()]

    def commit(self) -> None:
        """What was fresh is in the file."""
        self._next += len(self._fresh)
        for actor, number in self._fresh.items():
            self._remember(actor, number)
        self._fresh.clear()

    def forget(self) -> None:
        """What was fresh is not in the file."""
        self._fresh.clear()

    def _remember(self, actor: Actor, number: int) -> None:
        if len(self._ids) >= MAX_CACHED:
            self._ids.clear()
        self._ids[actor] = number


def insert(connection: sqlite3.Connection, rows: list[tuple[int, *Columns]]) -> None:
    """Write fresh actors, within the caller's transaction."""
    connection.executemany(f"INSERT INTO actors (id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def read(connection: sqlite3.Connection, number: int) -> Actor | None:
    """The actor of that number."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM actors WHERE id = ?", (number,)).fetchone()
    if row is None:
        return None
    principal, user, agent, device, session, token, via = row
    return Actor(
        PrincipalKey(principal),
        UserId(user),
        AgentId(agent) if agent else None,
        DeviceId(device) if device else None,
        SessionId(session) if session else None,
        TokenId(token) if token else None,
        via,
    )


def _columns(actor: Actor) -> Columns:
    """NULLs are empty strings here, so that the table's unique index tells two of them alike."""
    return (
        actor.principal,
        actor.user,
        actor.agent or "",
        actor.device or "",
        actor.session or "",
        actor.token or "",
        actor.via,
    )
