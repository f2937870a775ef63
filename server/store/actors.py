"""Who made which update, interned: a row in the log names its actors by small integers.

Owns the table ``actors``. A new actor becomes known only after the commit that wrote it.

Nearly every actor who was not met since the start is new, for each session makes one. So all of a commit are written
together without looking first, and are looked for only if some of them were there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

from crdt_docs.ids import AgentId, DeviceId, SessionId, TokenId, UserId
from server.domain.access import PrincipalKey
from server.domain.log import Actor
from server.store.several import Several

MAX_CACHED: Final = 20_000
_COLUMNS: Final = "principal, user, agent, device, session, token, via"
_INSERT: Final = Several(
    f"INSERT INTO actors (id, {_COLUMNS}) {{}}"
    " ON CONFLICT (user, principal, agent, device, session, token, via) DO NOTHING",
    columns=8,
)
_FIND: Final = Several(
    f"WITH sought ({_COLUMNS}) AS ({{}}) SELECT id, {_COLUMNS} FROM sought CROSS JOIN actors USING ({_COLUMNS})",
    columns=7,
)

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

    def knows(self, actor: Actor) -> bool:
        """Whether the actor has a number already."""
        return actor in self._ids or actor in self._fresh

    def number(self, actor: Actor) -> int:
        """The number of an actor whom it knows."""
        return self._ids.get(actor) or self._fresh[actor]

    def meet(self, connection: sqlite3.Connection, some: Iterable[Actor]) -> None:
        """Know them from here on, within the caller's transaction; ``commit`` or ``forget`` follows."""
        strangers = dict.fromkeys(actor for actor in some if not self.knows(actor))
        rows = [(number, *_columns(actor)) for number, actor in enumerate(strangers, self._next)]
        self._next += len(rows)
        if _INSERT.write(connection, rows) == len(rows):
            self._fresh.update({actor: row[0] for actor, row in zip(strangers, rows, strict=True)})
            return
        found: dict[tuple[str, ...], int] = {}
        for cursor in _FIND.run(connection, [row[1:] for row in rows]):
            found.update({tuple(columns): number for number, *columns in cursor})
        self._fresh.update({actor: found[row[1:]] for actor, row in zip(strangers, rows, strict=True)})

    def commit(self) -> None:
        """Who was met is in the file."""
        for actor, number in self._fresh.items():
            self._remember(actor, number)
        self._fresh.clear()

    def forget(self) -> None:
        """Who was met may not be in the file."""
        self._fresh.clear()

    def _remember(self, actor: Actor, number: int) -> None:
        if len(self._ids) >= MAX_CACHED:
            self._ids.clear()
        self._ids[actor] = number


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
