"""A turn as a row of SQL. Owns its columns and their order; must never decide what becomes of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from crdt_docs.ids import AgentId, MessageId, TaskId, TokenId, TurnId, UserId
from server.domain.turn import Turn
from server.store.database import Database, Row, Transaction

_TURN: Final = (
    "id, task, user, answer, status, attempt, created_at, queued_at, agent, host, given, lease_until, why,"
    " started_at, ended_at, failures, losses, due_at"
)
READ: Final = (
    f"{_TURN}, (SELECT name FROM users u WHERE u.id = turns.user), EXISTS (SELECT 1 FROM policies p"
    " WHERE p.task = turns.task AND (p.device <> 'any' OR p.confirm <> 'none'))"
)


async def read(tx: Transaction | Database, which: str, *values: object) -> Turn | None:
    """The turn with its messages that a condition finds."""
    row = await tx.one(f"SELECT {READ} FROM turns WHERE {which}", *values)
    if row is None:
        return None
    said = await tx.all("SELECT message FROM turn_messages WHERE turn = ? ORDER BY id", row[0])
    return turn_of(row, [one[0] for one in said])


async def insert(tx: Transaction, turn: Turn) -> None:
    """A new turn, without its messages."""
    marks = ", ".join("?" * len(_values(turn)))
    await tx.all(f"INSERT INTO turns ({_TURN}) VALUES ({marks})", *_values(turn))


async def update(tx: Transaction, turn: Turn) -> None:
    """The turn as it is now; its messages are written elsewhere."""
    marks = ", ".join("?" * len(_values(turn)))
    await tx.all(f"UPDATE turns SET ({_TURN}) = ({marks}) WHERE id = ?", *_values(turn), turn.id)


def _values(turn: Turn) -> tuple[object, ...]:
    return (
        turn.id,
        turn.task,
        turn.user,
        turn.answer,
        turn.status,
        turn.attempt,
        turn.created_at,
        turn.queued_at,
        turn.agent,
        turn.host,
        turn.grant,
        turn.lease_until,
        turn.why,
        turn.started_at,
        turn.ended_at,
        turn.failures,
        turn.losses,
        turn.due_at,
    )


def turn_of(row: Row, messages: Sequence[str] = ()) -> Turn:
    """A row of ``READ``, as a turn."""
    return Turn(
        TurnId(row[0]),
        TaskId(row[1]),
        UserId(row[2]),
        MessageId(row[3]),
        row[4],
        row[5],
        row[6],
        row[7],
        AgentId(row[8]) if row[8] else None,
        TokenId(row[9]) if row[9] else None,
        TokenId(row[10]) if row[10] else None,
        row[11],
        row[12],
        row[13],
        row[14],
        row[15],
        row[16],
        row[17],
        row[18] or "",
        tuple(MessageId(message) for message in messages),
        bool(row[19]),
    )
