"""Sessions, and the attachments that join them to tasks.

Owns the rules that a session has at most one current task, that an ended one has none, and that nobody attaches to a
task they are not on. Every lookup names the user.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from crdt_docs.ids import AttachmentId, DeviceId, SessionId, TaskId, TokenId, UserId, new_id
from server.domain.access import Role
from server.domain.continuity import Unfinished
from server.domain.errors import Conflict, NotFound
from server.domain.session import Attachment, Session
from server.store.database import Database, Row, Statements
from server.store.tasks import task_of

_COLUMNS: Final = "id, user, device, framework, task, started_at, seen_at, ended_at, token"

_UNFINISHED: Final = """
SELECT t.id, t.name, t.status, t.created_by, t.created_at, t.updated_at, t.named_by,
  m.role, w.active_at, w.device, d.name
FROM members m
JOIN tasks t ON t.id = m.task
LEFT JOIN (
  SELECT a.task AS task, s.device AS device, max(coalesce(a.ended_at, s.seen_at)) AS active_at
  FROM sessions s JOIN attachments a ON a.session = s.id
  WHERE s.user = ?1 GROUP BY a.task
) w ON w.task = t.id
LEFT JOIN devices d ON d.id = w.device
WHERE m.user = ?1 AND t.status IN ('open', 'paused')
ORDER BY coalesce(w.active_at, t.updated_at) DESC, t.id LIMIT ?2
"""


class Sessions:
    """The sessions of all users."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def start(
        self, user: UserId, device: DeviceId | None, framework: str | None, at: float, token: TokenId | None = None
    ) -> Session:
        """Begin a session, by that bearer if by one. Raises NotFound if the device is not the user's or was revoked."""
        return await self._database.perform(
            lambda tx: _start(tx, SessionId(new_id()), user, device, framework, None, at, token)
        )

    async def start_on(
        self,
        user: UserId,
        device: DeviceId | None,
        framework: str | None,
        task: TaskId,
        at: float,
        session: SessionId,
    ) -> Session:
        """Begin the session of that new id, attached to the task from its first moment. Raises NotFound as ``start``
        does, and if the task is not the user's."""
        return await self._database.perform(lambda tx: _start(tx, session, user, device, framework, task, at))

    async def get(self, user: UserId, session: SessionId) -> Session | None:
        """The user's session, ended or not."""
        row = await self._database.one(f"SELECT {_COLUMNS} FROM sessions WHERE id = ? AND user = ?", session, user)
        return _session(row) if row else None

    async def of_user(self, user: UserId, *, ended: bool = True, limit: int = 200) -> list[Session]:
        """The user's sessions, the latest first."""
        rows = await self._database.all(
            f"SELECT {_COLUMNS} FROM sessions WHERE user = ? AND (ended_at IS NULL OR ?)"
            " ORDER BY started_at DESC, id LIMIT ?",
            user,
            ended,
            limit,
        )
        return [_session(row) for row in rows]

    async def every(self, limit: int = 200) -> list[Session]:
        """The server's sessions, the latest first. For the operator; never for a user."""
        rows = await self._database.all(f"SELECT {_COLUMNS} FROM sessions ORDER BY started_at DESC, id LIMIT ?", limit)
        return [_session(row) for row in rows]

    async def attach(self, user: UserId, session: SessionId, task: TaskId | None, at: float) -> Session | None:
        """Make the task the session's current one, or detach it (None); to the same task again changes nothing.

        None if the session is not the user's; raises NotFound if the task is not, Conflict if the session has ended.
        """
        return await self._database.perform(lambda tx: _attach(tx, user, session, task, at))

    async def end(self, user: UserId, session: SessionId, at: float) -> Session | None:
        """End the session and its attachment; again is the same as once. The task stays as it is."""

        def end(tx: Statements) -> Session | None:
            if not tx.one("SELECT 1 FROM sessions WHERE id = ? AND user = ?", session, user):
                return None
            _close_attachment(tx, session, at)
            return _update(tx, "UPDATE sessions SET task = NULL, ended_at = coalesce(ended_at, ?)", session, at)

        return await self._database.perform(end)

    async def seen(self, sessions: Collection[SessionId], at: float) -> None:
        """Note that the sessions are alive; never earlier than what is known."""
        marks = ", ".join("?" * len(sessions))
        await self._database.write(
            f"UPDATE sessions SET seen_at = max(seen_at, ?) WHERE id IN ({marks})", at, *sessions
        )

    async def open_by_device(self, user: UserId) -> dict[DeviceId, int]:
        """How many sessions of each of the user's devices are not over; devices that have none are left out."""
        rows = await self._database.all(
            "SELECT device, count(*) FROM sessions WHERE user = ? AND ended_at IS NULL AND device IS NOT NULL"
            " GROUP BY device",
            user,
        )
        return {DeviceId(row[0]): row[1] for row in rows}

    async def end_silent(self, before: float) -> int:
        """End the sessions last seen before that time, as of when they were last seen; how many those were."""
        async with self._database.transaction() as tx:
            await tx.all(
                "UPDATE attachments SET ended_at ="
                " max(started_at, (SELECT seen_at FROM sessions s WHERE s.id = session))"
                " WHERE ended_at IS NULL AND session IN"
                " (SELECT id FROM sessions WHERE ended_at IS NULL AND seen_at < ?)",
                before,
            )
            rows = await tx.all(
                "UPDATE sessions SET ended_at = seen_at, task = NULL"
                " WHERE ended_at IS NULL AND seen_at < ? RETURNING id",
                before,
            )
        return len(rows)

    async def attachments(self, user: UserId, session: SessionId) -> list[Attachment]:
        """What the user's session was attached to, in order."""
        rows = await self._database.all(
            "SELECT a.id, a.session, a.task, a.started_at, a.ended_at FROM attachments a"
            " JOIN sessions s ON s.id = a.session WHERE s.id = ? AND s.user = ? ORDER BY a.started_at, a.rowid",
            session,
            user,
        )
        return [Attachment(AttachmentId(row[0]), SessionId(row[1]), TaskId(row[2]), row[3], row[4]) for row in rows]

    async def unfinished(self, user: UserId, limit: int = 50) -> list[Unfinished]:
        """The user's open and paused tasks, the one they last worked on first: what candidates are made of."""
        rows = await self._database.all(_UNFINISHED, user, limit)
        return [
            Unfinished(task_of(row), Role(row[7]), row[8], DeviceId(row[9]) if row[9] else None, row[10])
            for row in rows
        ]


def _start(
    tx: Statements,
    ident: SessionId,
    user: UserId,
    device: DeviceId | None,
    framework: str | None,
    task: TaskId | None,
    at: float,
    token: TokenId | None = None,
) -> Session:
    session = Session(ident, user, device, framework, task, at, at, token=token)
    rows = tx.all(
        "INSERT INTO sessions (id, user, device, framework, task, started_at, seen_at, token)"
        " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7"
        " WHERE (?3 IS NULL OR EXISTS (SELECT 1 FROM devices WHERE id = ?3 AND user = ?2 AND revoked_at IS NULL))"
        " AND (?5 IS NULL OR EXISTS (SELECT 1 FROM members WHERE task = ?5 AND user = ?2))"
        " RETURNING id",
        session.id,
        user,
        device,
        framework,
        task,
        at,
        token,
    )
    if not rows:
        raise NotFound()
    if task is not None:
        _open_attachment(tx, session.id, task, at)
    return session


def _attach(tx: Statements, user: UserId, session: SessionId, task: TaskId | None, at: float) -> Session | None:
    row = tx.one(f"SELECT {_COLUMNS} FROM sessions WHERE id = ? AND user = ?", session, user)
    if row is None:
        return None
    if row[7] is not None:
        raise Conflict("This session has ended.")
    if task is not None and not tx.one("SELECT 1 FROM members WHERE task = ? AND user = ?", task, user):
        raise NotFound()
    if row[4] != task:
        _close_attachment(tx, session, at)
        if task is not None:
            _open_attachment(tx, session, task, at)
    return _update(tx, "UPDATE sessions SET task = ?, seen_at = max(seen_at, ?)", session, task, at)


def _open_attachment(tx: Statements, session: SessionId, task: TaskId, at: float) -> None:
    values = (new_id(), session, task, at)
    tx.all("INSERT INTO attachments (id, session, task, started_at) VALUES (?, ?, ?, ?)", *values)


def _close_attachment(tx: Statements, session: SessionId, at: float) -> None:
    tx.all("UPDATE attachments SET ended_at = max(started_at, ?) WHERE session = ? AND ended_at IS NULL", at, session)


def _update(tx: Statements, sql: str, session: SessionId, *values: object) -> Session:
    return _session(tx.all(f"{sql} WHERE id = ? RETURNING {_COLUMNS}", *values, session)[0])


def _session(row: Row) -> Session:
    return Session(
        SessionId(row[0]),
        UserId(row[1]),
        DeviceId(row[2]) if row[2] else None,
        row[3],
        TaskId(row[4]) if row[4] else None,
        row[5],
        row[6],
        row[7],
        TokenId(row[8]) if row[8] else None,
    )
