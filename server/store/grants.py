"""Grants: what an agent acts with, on one task, for one user, for minutes. Owns their rows, in a turn's transaction.

Between two turns of one task a grant *rests*: it may read, so that an agent that stays keeps its connection, and the
next turn wakes it under a new secret. Must never outlive its attempt in any other way.
"""

from __future__ import annotations

from crdt_docs.ids import TokenId, new_id
from server.domain.access import Role
from server.domain.credential import hash_secret, new_secret
from server.domain.turn import GRANT_LIFE, REST, Given, Host, Turn
from server.store.database import Transaction


async def give(tx: Transaction, turn: Turn, host: Host, role: Role, now: float) -> Given:
    """A grant for the turn: the one that rests since the host's last turn on this task for the same user, or a new one.

    What else rests on the task of this host's ends: it was for somebody else.
    """
    secret = new_secret()
    resting = await tx.all(
        "SELECT k.id, k.user FROM tokens k WHERE k.kind = 'grant' AND k.task = ?1 AND k.revoked_at IS NULL"
        " AND k.expires_at > ?2 AND k.id IN (SELECT given FROM turns WHERE task = ?1 AND host = ?3)",
        turn.task,
        now,
        host.id,
    )
    for token, user in resting:
        if user != turn.user:
            await revoke(tx, TokenId(token), now)
    given = Given(TokenId(new_id()), secret, role, now + GRANT_LIFE)
    woken = next((TokenId(token) for token, user in resting if user == turn.user), None)
    if woken is not None:
        await tx.all(
            "UPDATE tokens SET hash = ?, role = ?, expires_at = ? WHERE id = ?",
            hash_secret(secret),
            role,
            given.expires_at,
            woken,
        )
        return Given(woken, secret, role, given.expires_at)
    await tx.all(
        "INSERT INTO tokens (id, hash, user, task, role, created_at, expires_at, kind, agent)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, 'grant', ?)",
        given.id,
        hash_secret(secret),
        turn.user,
        turn.task,
        role,
        now,
        given.expires_at,
        host.agent,
    )
    return given


async def renew(tx: Transaction, grant: TokenId, role: Role, now: float) -> Given | None:
    """The grant with a longer life; None if it was taken back."""
    rows = await tx.all(
        "UPDATE tokens SET role = ?, expires_at = ? WHERE id = ? AND kind = 'grant' AND revoked_at IS NULL"
        " AND expires_at > ? RETURNING expires_at",
        role,
        now + GRANT_LIFE,
        grant,
        now,
    )
    return Given(grant, None, role, rows[0][0]) if rows else None


async def rest(tx: Transaction, grant: TokenId | None, now: float) -> None:
    """Let it read for a moment more."""
    await tx.all(
        "UPDATE tokens SET role = ?, expires_at = min(expires_at, ?) WHERE id = ?", Role.VIEWER, now + REST, grant
    )


async def revoke(tx: Transaction, grant: TokenId | None, now: float) -> None:
    """End it."""
    await tx.all("UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", now, grant)
