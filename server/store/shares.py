"""Share links: which are out, who came by which. Owns that a use is counted once, in the transaction that lets in."""

from __future__ import annotations

from typing import Final

from crdt_docs.ids import TaskId, UserId, new_id
from server.domain.access import Role
from server.domain.credential import Secret, hash_secret, new_secret
from server.domain.errors import Conflict
from server.domain.language import Language
from server.domain.share import MOST_LINKS, Joined, Share, ShareId, guest_name
from server.domain.user import User
from server.store import ceilings
from server.store.database import Database, Row, Transaction
from server.store.users import name_key

_COLUMNS: Final = (
    "id, task, role, created_by, created_at, expires_at, most_uses, sign_in, keyed, uses, used_at, revoked_at"
)
_OPEN: Final = "revoked_at IS NULL AND expires_at > ?2 AND uses < most_uses"
_NAMES: Final = 8
"""Attempts at a name that nobody has, each with longer numbers."""


class Shares:
    """The share links of all tasks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def issue(self, share: Share) -> Secret:
        """Keep a new link; its secret belongs in a URL's fragment. Raises Conflict where a task has too many."""
        secret = new_secret()
        async with self._database.transaction() as tx:
            living = "SELECT count(*) FROM shares WHERE task = ?1 AND " + _OPEN
            count = await tx.one(living, share.task, share.created_at)
            if count is not None and count[0] >= MOST_LINKS:
                raise Conflict(f"A task has at most {MOST_LINKS} links that work; withdraw one first.")
            await tx.all(
                f"INSERT INTO shares ({_COLUMNS}, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, NULL, NULL, ?)",
                share.id,
                share.task,
                share.role,
                share.created_by,
                share.created_at,
                share.expires_at,
                share.most_uses,
                share.sign_in,
                share.keyed,
                hash_secret(secret),
            )
        return secret

    async def of_task(self, task: TaskId) -> list[Share]:
        """The task's links that were not revoked, the latest first; those that have expired stay to be seen."""
        rows = await self._database.all(
            f"SELECT {_COLUMNS} FROM shares WHERE task = ? AND revoked_at IS NULL"
            " ORDER BY created_at DESC, id LIMIT 200",
            task,
        )
        return [_share(row) for row in rows]

    async def find(self, share: ShareId, secret: str, now: float) -> Share | None:
        """The link, if that is its secret and it is open; None for any other, whatever is wrong with it."""
        row = await self._database.one(
            f"SELECT {_COLUMNS} FROM shares WHERE hash = ?1 AND {_OPEN} AND id = ?3", hash_secret(secret), now, share
        )
        return _share(row) if row else None

    async def join(self, share: Share, user: UserId, now: float) -> Joined | None:
        """Put the user on the task by the link. Whoever has a place keeps it as it is, and no use is counted.

        Nobody gets more by it than an owner has given them since it was made.
        None if the link is not open any more: of all who try for its last use at once, one gets it.
        """
        async with self._database.transaction() as tx:
            return await _join(tx, share, user, now)

    async def join_as_guest(self, share: Share, language: Language, now: float) -> User | None:
        """Make a guest who is on the task by the link, and nowhere else. None if it is not open any more."""
        async with self._database.transaction() as tx:
            guest = await _add_guest(tx, language, now)
            joined = await _join(tx, share, guest.id, now)
            if joined is None:
                await tx.all("DELETE FROM users WHERE id = ?", guest.id)
                return None
        return guest

    async def revoke(self, task: TaskId, share: ShareId, now: float) -> list[UserId] | None:
        """End the link and the memberships that came by it: whose those were. None if the task has no such link.

        Guests stay signed in, to nothing: so their pages can say what happened, and offer what was not sent.
        """
        async with self._database.transaction() as tx:
            if not await tx.all(
                "UPDATE shares SET revoked_at = coalesce(revoked_at, ?) WHERE id = ? AND task = ? RETURNING id",
                now,
                share,
                task,
            ):
                return None
            # an owner's place is their own, however they came
            await tx.all("UPDATE members SET share = NULL WHERE share = ? AND role = 4", share)
            rows = await tx.all("DELETE FROM members WHERE share = ? RETURNING user", share)
            users = [UserId(row[0]) for row in rows]
            for user in users:
                await tx.all("DELETE FROM tickets WHERE task = ? AND user = ?", task, user)
                await tx.all("DELETE FROM tokens WHERE task = ? AND user = ?", task, user)
        return users


async def _join(tx: Transaction, share: Share, user: UserId, now: float) -> Joined | None:
    row = await tx.one(
        "SELECT role FROM members WHERE task = ? AND user = ? AND (until IS NULL OR until > ?)", share.task, user, now
    )
    if row is not None:
        return Joined(Role(row[0]), fresh=False)
    bound = await ceilings.under(tx, share, user, now)
    taken = bound and await tx.all(
        f"UPDATE shares SET uses = uses + 1, used_at = ?2 WHERE id = ?1 AND {_OPEN} RETURNING id", share.id, now
    )
    if not bound or not taken:
        return None
    role, until = bound
    await tx.all(
        "INSERT INTO members (task, user, role, since, until, share) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        " ON CONFLICT (task, user) DO UPDATE SET role = ?3, since = ?4, until = ?5, share = ?6",
        share.task,
        user,
        role,
        now,
        until,
        share.id,
    )
    return Joined(role, fresh=True)


async def _add_guest(tx: Transaction, language: Language, now: float) -> User:
    for attempt in range(_NAMES):
        guest = User(UserId(new_id()), guest_name(language, attempt), now)
        if await tx.all(
            "INSERT INTO users (id, name, name_key, created_at, guest) VALUES (?, ?, ?, ?, 1)"
            " ON CONFLICT (name_key) DO NOTHING RETURNING id",
            guest.id,
            guest.name,
            name_key(guest.name),
            now,
        ):
            return guest
    raise Conflict("There are too many guests of that name.")


def _share(row: Row) -> Share:
    return Share(
        ShareId(row[0]),
        TaskId(row[1]),
        Role(row[2]),
        UserId(row[3]) if row[3] else None,
        row[4],
        row[5],
        row[6],
        bool(row[7]),
        bool(row[8]),
        row[9],
        row[10],
        row[11],
    )
