"""Accounts: what people have set for themselves. Somebody without a row has set nothing yet."""

from __future__ import annotations

import json

from crdt_docs.ids import UserId
from server.domain.account import Account
from server.store.database import Database


class Accounts:
    """The accounts of all users."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, user: UserId) -> Account:
        """The user's account."""
        row = await self._database.one("SELECT language, plan, preferences FROM accounts WHERE user = ?", user)
        return Account(user, row[0], row[1], json.loads(row[2])) if row else Account(user)

    async def put(self, account: Account) -> None:
        """Keep the account as it is now. Raises Conflict if there is no such user."""
        await self._database.write(
            "INSERT INTO accounts (user, language, plan, preferences) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (user)"
            " DO UPDATE SET language = ?2, plan = ?3, preferences = ?4",
            account.user,
            account.language,
            account.plan,
            json.dumps(dict(account.preferences), ensure_ascii=False),
        )
