"""Tasks that are being handed to new devices. Owns each step's single use: of all who try at once, one gets it.

Must never tell why a code was refused, nor keep a code itself.
"""

from __future__ import annotations

import json
from typing import Final

from crdt_docs.ids import DeviceId, SessionId, TaskId, UserId
from server.domain.access import LoginId, Role
from server.domain.credential import SecretHash
from server.domain.errors import NotFound, TooOften
from server.domain.handoff import (
    COLLECTING,
    MISSES,
    OFTEN,
    REMEMBERED,
    WINDOW,
    Claim,
    Handoff,
    HandoffId,
    Why,
)
from server.store.database import Database, Row, Transaction

_PENDING: Final = "state IN ('offered', 'claimed', 'approved')"
_COLUMNS: Final = (
    "id, how, user, task, device, login, session, place, role, ttl, state, why, created_at, expires_at, claimed_by,"
    " kind, near, thumbprint, number, numbers, made"
)
_SHOWN: Final = "iif(?2 IS NULL, how = 'code', how = 'qr' AND id = ?2)"
"""A code that is typed is good by that door alone, where guesses are counted."""
_OFFER: Final = """
INSERT INTO handoffs
  (id, hash, how, user, task, device, login, session, place, role, ttl, state, created_at, expires_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'offered', ?12, ?13
WHERE EXISTS (SELECT 1 FROM members WHERE task = ?5 AND user = ?4)
AND EXISTS (SELECT 1 FROM logins WHERE id = ?7 AND user = ?4 AND device = ?6 AND task IS NULL AND expires_at > ?12)
RETURNING id
"""
_CLAIM: Final = f"""
UPDATE handoffs SET state = 'claimed', claim = ?4, claimed_by = ?5, kind = ?6, near = ?7, thumbprint = ?8, number = ?9,
  numbers = ?10
WHERE hash = ?1 AND {_SHOWN} AND state = 'offered' AND expires_at > ?3
AND EXISTS (SELECT 1 FROM members m WHERE m.task = handoffs.task AND m.user = handoffs.user)
AND EXISTS (SELECT 1 FROM logins l WHERE l.id = handoffs.login AND l.expires_at > ?3)
AND NOT EXISTS (SELECT 1 FROM handoff_pauses p WHERE p.user = handoffs.user AND p.until > ?3)
RETURNING {_COLUMNS}
"""
_COLLECT: Final = f"""
UPDATE handoffs SET state = 'collected'
WHERE id = ?1 AND claim = ?2 AND thumbprint IS ?3 AND state = 'approved' AND expires_at > ?4
AND EXISTS (SELECT 1 FROM logins l WHERE l.id = handoffs.login AND l.expires_at > ?4)
RETURNING {_COLUMNS}
"""


class Handoffs:
    """The handoffs of all users, for a day."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def offer(self, offered: Handoff, secret: SecretHash) -> Handoff | None:
        """Keep the offer; the one before it, for the same task, that it takes the place of.

        Raises TooOften over OFTEN in WINDOW seconds and during a pause, NotFound unless task and login are the user's.
        """
        at = offered.created_at
        async with self._database.transaction() as tx:
            await tx.all("DELETE FROM handoffs WHERE created_at <= ?", at - REMEMBERED)
            await _refuse_too_often(tx, offered.user, at)
            before = await tx.one(
                f"UPDATE handoffs SET state = 'ended', why = 'withdrawn' WHERE user = ? AND task = ? AND {_PENDING}"
                f" RETURNING {_COLUMNS}",
                offered.user,
                offered.task,
            )
            one = offered
            made = await tx.all(
                _OFFER, one.id, secret, one.how, one.user, one.task, one.device, one.login, one.session, one.place,
                one.role, one.ttl, at, one.expires_at,
            )  # fmt: skip
            if not made:
                raise NotFound()
        return _handoff(before) if before else None

    async def presented(self, secret: SecretHash, id: HandoffId | None) -> Handoff | None:
        """The handoff that this code is, or was, good for."""
        row = await self._database.one(f"SELECT {_COLUMNS} FROM handoffs WHERE hash = ?1 AND {_SHOWN}", secret, id)
        return _handoff(row) if row else None

    async def claim(
        self, secret: SecretHash, id: HandoffId | None, claim: Claim, key: SecretHash, at: float
    ) -> Handoff | None:
        """Take the offer for a device that will come back with ``key``. None for used, expired and unknown alike."""
        rows = await self._database.write(
            _CLAIM, secret, id, at, key, claim.name, claim.kind, claim.near, claim.thumbprint, claim.number,
            json.dumps(claim.numbers),
        )  # fmt: skip
        return _handoff(rows[0]) if rows else None

    async def get(self, id: HandoffId, user: UserId | None = None) -> Handoff | None:
        """The handoff, the user's if one is named."""
        row = await self._database.one(
            f"SELECT {_COLUMNS} FROM handoffs WHERE id = ?1 AND (?2 IS NULL OR user = ?2)", id, user
        )
        return _handoff(row) if row else None

    async def holds(self, id: HandoffId, key: SecretHash, thumbprint: str | None) -> bool:
        """Whether it was claimed by who has this key, and the device's key, or none."""
        row = await self._database.one(
            "SELECT 1 FROM handoffs WHERE id = ? AND claim = ? AND thumbprint IS ?", id, key, thumbprint
        )
        return row is not None

    async def approve(self, id: HandoffId, number: int, at: float) -> Handoff | None:
        """Let the device in that shows this number; it has COLLECTING seconds to come."""
        rows = await self._database.write(
            "UPDATE handoffs SET state = 'approved', expires_at = max(expires_at, ?3 + ?4)"
            f" WHERE id = ?1 AND number = ?2 AND state = 'claimed' AND expires_at > ?3 RETURNING {_COLUMNS}",
            id,
            number,
            at,
            COLLECTING,
        )
        return _handoff(rows[0]) if rows else None

    async def collect(self, id: HandoffId, key: SecretHash, thumbprint: str | None, at: float) -> Handoff | None:
        """Hand out what was approved, once, to who claimed it."""
        rows = await self._database.write(_COLLECT, id, key, thumbprint, at)
        return _handoff(rows[0]) if rows else None

    async def note_made(self, id: HandoffId, device: DeviceId) -> None:
        """Which device came of it."""
        await self._database.write("UPDATE handoffs SET made = ? WHERE id = ?", device, id)

    async def end(self, id: HandoffId, why: Why) -> Handoff | None:
        """Nobody comes in by it any more; None if it was over."""
        rows = await self._database.write(
            f"UPDATE handoffs SET state = 'ended', why = ? WHERE id = ? AND {_PENDING} RETURNING {_COLUMNS}", why, id
        )
        return _handoff(rows[0]) if rows else None

    async def expire(self, at: float) -> list[Handoff]:
        """End what is too old."""
        rows = await self._database.write(
            f"UPDATE handoffs SET state = 'ended', why = 'expired' WHERE {_PENDING} AND expires_at <= ?"
            f" RETURNING {_COLUMNS}",
            at,
        )
        return [_handoff(row) for row in rows]

    async def miss(self, at: float) -> list[Handoff]:
        """Somebody typed a wrong code, and so guessed at each that lives; those that were guessed at too often."""
        async with self._database.transaction() as tx:
            await tx.all(
                "UPDATE handoffs SET misses = misses + 1 WHERE how = 'code' AND state = 'offered' AND expires_at > ?",
                at,
            )
            rows = await tx.all(
                "UPDATE handoffs SET state = 'ended', why = 'guessed' WHERE how = 'code' AND state = 'offered'"
                f" AND misses >= ? RETURNING {_COLUMNS}",
                MISSES,
            )
        return [_handoff(row) for row in rows]

    async def pause(self, user: UserId, until: float) -> list[Handoff]:
        """Offer and ask nothing until then; what that ends."""
        async with self._database.transaction() as tx:
            await tx.all(
                "INSERT INTO handoff_pauses (user, until) VALUES (?1, ?2) ON CONFLICT (user) DO UPDATE SET until = ?2",
                user,
                until,
            )
            rows = await tx.all(
                f"UPDATE handoffs SET state = 'ended', why = 'declined' WHERE user = ? AND {_PENDING}"
                f" RETURNING {_COLUMNS}",
                user,
            )
        return [_handoff(row) for row in rows]

    async def resume(self, user: UserId) -> None:
        """Go on before the pause is over."""
        await self._database.write("DELETE FROM handoff_pauses WHERE user = ?", user)


async def _refuse_too_often(tx: Transaction, user: UserId, at: float) -> None:
    paused = await tx.one("SELECT until FROM handoff_pauses WHERE user = ? AND until > ?", user, at)
    if paused is not None:
        raise TooOften(paused[0] - at, "Handing over is blocked for now, as you asked.")
    recent = await tx.all(
        "SELECT created_at FROM handoffs WHERE user = ? AND created_at > ? ORDER BY created_at", user, at - WINDOW
    )
    if len(recent) >= OFTEN:
        raise TooOften(recent[-OFTEN][0] + WINDOW - at, "That were many codes; please wait a little.")


def _handoff(row: Row) -> Handoff:
    near = None if row[16] is None else bool(row[16])
    claim = Claim(row[14], row[15], near, row[17], row[18], tuple(json.loads(row[19]))) if row[18] is not None else None
    return Handoff(
        HandoffId(row[0]),
        row[1],
        UserId(row[2]),
        TaskId(row[3]),
        DeviceId(row[4]),
        LoginId(row[5]),
        SessionId(row[6]) if row[6] else None,
        row[7],
        Role(row[8]),
        row[9],
        row[10],
        row[11],
        row[12],
        row[13],
        claim,
        DeviceId(row[20]) if row[20] else None,
    )
