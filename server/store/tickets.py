"""Tickets: one connection to one task, once, within seconds. Owns their single use; must never tell why it refused."""

from __future__ import annotations

from crdt_docs.ids import DeviceId, SessionId, TaskId, TokenId, UserId
from server.domain.access import LoginId
from server.domain.credential import TICKET_LIFE, Secret, Ticket, hash_secret, new_secret
from server.domain.device import Level
from server.domain.errors import NotFound
from server.store.database import Database

_ISSUE = """
INSERT INTO tickets (hash, user, device, session, token, task, expires_at, login, level, family, reads_until)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
WHERE EXISTS (SELECT 1 FROM members WHERE task = ?6 AND user = ?2)
AND (?3 IS NULL OR EXISTS (SELECT 1 FROM devices WHERE id = ?3 AND user = ?2 AND revoked_at IS NULL))
AND (?4 IS NULL OR EXISTS (SELECT 1 FROM sessions WHERE id = ?4 AND user = ?2 AND ended_at IS NULL))
AND (?5 IS NULL OR EXISTS (SELECT 1 FROM tokens WHERE id = ?5 AND user = ?2 AND revoked_at IS NULL))
AND (?8 IS NULL OR EXISTS (SELECT 1 FROM logins WHERE id = ?8 AND user = ?2))
RETURNING expires_at
"""

_REDEEM = """
UPDATE tickets SET used_at = ?1
WHERE hash = ?2 AND used_at IS NULL AND expires_at > ?1 AND task = ?3
AND EXISTS (SELECT 1 FROM members m WHERE m.task = tickets.task AND m.user = tickets.user)
AND NOT EXISTS (SELECT 1 FROM devices d WHERE d.id = tickets.device AND d.revoked_at IS NOT NULL)
AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = tickets.session AND s.ended_at IS NOT NULL)
AND NOT EXISTS (
  SELECT 1 FROM tokens k WHERE k.id = tickets.token AND (k.revoked_at IS NOT NULL OR k.expires_at <= ?1)
)
AND (family IS NULL OR ?4 IS NULL OR family = ?4)
RETURNING user, device, session, token, task, expires_at, login, level, reads_until
"""


class Tickets:
    """The tickets that are out."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def issue(
        self,
        user: UserId,
        task: TaskId,
        at: float,
        *,
        device: DeviceId | None = None,
        session: SessionId | None = None,
        token: TokenId | None = None,
        login: LoginId | None = None,
        level: Level = Level.NONE,
        family: int | None = None,
        reads_until: float | None = None,
        life: float = TICKET_LIFE,
    ) -> tuple[Ticket, Secret]:
        """Make a ticket. Raises NotFound unless task, device, session, token and login are the user's and live.

        ``level`` and ``reads_until`` are what the request for it was worth, ``family`` the IP version it came by.
        """
        secret = new_secret()
        ticket = Ticket(user, device, session, token, task, at + life, login, level, reads_until)
        async with self._database.transaction() as tx:
            await tx.all("DELETE FROM tickets WHERE expires_at <= ?", at)
            values = (user, device, session, token, task, ticket.expires_at, login, level, family, reads_until)
            rows = await tx.all(_ISSUE, hash_secret(secret), *values)
        if not rows:
            raise NotFound()
        return ticket, secret

    async def redeem(self, secret: str, task: TaskId, now: float, family: int | None = None) -> Ticket | None:
        """Burn the ticket for that task. Of all who try at once, one gets it.

        None for used, expired, unknown, for another task, where what stood behind it was revoked since, or where it
        comes by another version of IP than it was got by.
        """
        rows = await self._database.write(_REDEEM, now, hash_secret(secret), task, family)
        if not rows:
            return None
        user, device, session, token, there, expires_at, login, level, until = rows[0]
        return Ticket(UserId(user), device, session, token, TaskId(there), expires_at, login, Level(level), until)
