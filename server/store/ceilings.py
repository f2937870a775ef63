"""What an owner last gave somebody on a task, or that they took them off. Owns that no older link gives them more.

Must never bound what an owner gives by name, nor a link that was made later.
"""

from __future__ import annotations

from crdt_docs.ids import TaskId, UserId
from server.domain.access import Role
from server.domain.share import LONGEST, Share
from server.store.database import Transaction


async def put(tx: Transaction, task: TaskId, user: UserId, role: Role | None, until: float | None, at: float) -> None:
    """Note what an owner has given them now, None for nothing; what no link is old enough for is forgotten."""
    await tx.all("DELETE FROM ceilings WHERE task = ? AND at < ?", task, at - LONGEST)
    await tx.all(
        "INSERT INTO ceilings (task, user, role, until, at) VALUES (?1, ?2, ?3, ?4, ?5)"
        " ON CONFLICT (task, user) DO UPDATE SET role = ?3, until = ?4, at = ?5",
        task,
        user,
        role or 0,
        until,
        at,
    )


async def under(tx: Transaction, share: Share, user: UserId, now: float) -> tuple[Role, float] | None:
    """As what the link lets the user in, and until when; None where they were taken off after it was made."""
    row = await tx.one(
        "SELECT role, until FROM ceilings WHERE task = ? AND user = ? AND at >= ?", share.task, user, share.created_at
    )
    role, until = row if row is not None else (share.role, None)
    ends = share.expires_at if until is None else min(until, share.expires_at)
    return (min(share.role, Role(role)), ends) if role and ends > now else None
