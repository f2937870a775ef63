"""People, by id and by name. Names are unique however they are cased or composed."""

from __future__ import annotations

import unicodedata
from typing import Final

from crdt_docs.ids import UserId, new_id
from server.domain.agent import BUILT_IN
from server.domain.errors import Conflict, Invalid, NotFound
from server.domain.share import is_guest_name
from server.domain.user import User
from server.store.database import Database, Row, Statements

MAX_NAME: Final = 100
OWNER: Final = "owner"
"""What the user is called who is made on the first run."""
_COLUMNS: Final = "id, name, created_at"


class Users:
    """The users of this server."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, name: str, at: float) -> User:
        """Make a user. Raises Conflict if the name is taken, Invalid if it is none."""
        user = User(UserId(new_id()), own_name(name), at)
        made = await self._database.write(
            "INSERT INTO users (id, name, name_key, created_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (name_key) DO NOTHING RETURNING id",
            user.id,
            user.name,
            name_key(user.name),
            at,
        )
        if not made:
            raise Conflict(f"There is already a user named {user.name}.")
        return user

    async def ensure(self, name: str, at: float) -> User:
        """The user of that name, made if need be."""
        found = await self.named(name)
        if found is not None:
            return found
        try:
            return await self.add(name, at)
        except Conflict:  # somebody was quicker
            found = await self.named(name)
            if found is None:
                raise
            return found

    async def get(self, user: UserId) -> User | None:
        """The user with that id."""
        return await self._database.read(lambda tx: find_user(tx, user))

    async def named(self, name: str) -> User | None:
        """The user of that name, however it is cased."""
        row = await self._database.one(f"SELECT {_COLUMNS} FROM users WHERE name_key = ?", name_key(name))
        return _user(row) if row else None

    async def all(self) -> list[User]:
        """Every user, the first first. For the operator; never for a user."""
        rows = await self._database.all(f"SELECT {_COLUMNS} FROM users ORDER BY created_at, rowid")
        return [_user(row) for row in rows]

    async def owner(self) -> User | None:
        """Whose server it is: whom ``ensure_owner`` made so, before that who is called so, or was there first."""
        kept = await self._database.one("SELECT user FROM server_owner")
        if kept is not None:
            return await self.get(UserId(kept[0])) if kept[0] else None
        row = await self._database.one(
            f"SELECT {_COLUMNS} FROM users ORDER BY name_key = ? DESC, created_at, rowid LIMIT 1", OWNER
        )
        return _user(row) if row else None

    async def ensure_owner(self, at: float) -> User:
        """Whose server it is, from now on whatever they are called; made if there is nobody."""
        found = await self.owner() or await self._new_owner(at)
        await self._database.write(
            "INSERT INTO server_owner (one, user) VALUES (1, ?1) ON CONFLICT (one) DO UPDATE SET user = ?1", found.id
        )
        return found

    async def _new_owner(self, at: float) -> User:
        """Never one who is here already: they have only taken the name."""
        n = 1
        while True:
            try:
                return await self.add(OWNER if n == 1 else f"{OWNER} {n}", at)
            except Conflict:
                n += 1

    async def rename(self, user: UserId, name: str) -> User:
        """Give the user another name. Raises Conflict if it is taken, Invalid if it is none, NotFound."""
        clean = own_name(name)
        async with self._database.transaction() as tx:
            taken = await tx.one("SELECT 1 FROM users WHERE name_key = ? AND id <> ?", name_key(clean), user)
            if taken is not None:
                raise Conflict(f"There is already a user named {clean}.")
            row = await tx.one(
                f"UPDATE users SET name = ?, name_key = ? WHERE id = ? RETURNING {_COLUMNS}",
                clean,
                name_key(clean),
                user,
            )
        if row is None:
            raise NotFound
        return _user(row)

    async def delete(self, user: UserId) -> bool:
        """Remove the user, and by cascade devices, sessions, memberships, secrets. Tasks are the caller's to settle."""
        return bool(await self._database.write("DELETE FROM users WHERE id = ? RETURNING id", user))


def clean_name(name: str) -> str:
    """The name as it is stored: NFC, trimmed. Raises Invalid if it is empty, too long or holds control characters."""
    clean = unicodedata.normalize("NFC", name).strip()
    if not clean or len(clean) > MAX_NAME or any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") for c in clean):
        raise Invalid(f"A name has 1 to {MAX_NAME} visible characters.")
    return clean


def own_name(name: str) -> str:
    """The name of a person, as it is stored. Raises Invalid as ``clean_name`` does, Conflict for a name that is ours.

    Nobody is taken for the server's own agent, or for a guest.
    """
    clean = clean_name(name)
    key = name_key(clean)
    if key == name_key(BUILT_IN) or is_guest_name(key):
        raise Conflict(f"There is already somebody named {clean}.")
    return clean


def name_key(name: str) -> str:
    """The name as it is compared."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def find_user(tx: Statements, user: UserId) -> User | None:
    """The user with that id, among other things that are looked up."""
    row = tx.one(f"SELECT {_COLUMNS} FROM users WHERE id = ?", user)
    return _user(row) if row else None


def _user(row: Row) -> User:
    return User(UserId(row[0]), row[1], row[2])
