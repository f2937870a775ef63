"""Erasing a person on the operator's word. Owns how it is told before and after; ``doors.erasure`` does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, get_args

from server.domain.erasure import Owned, Wish
from server.domain.errors import Invalid, NotFound
from server.domain.user import User
from server.doors.erasure import Erasure
from server.store.users import Users

Arguments = Mapping[str, Any]


class Erasing:
    """Answers ``erase``."""

    def __init__(self, users: Users, erasure: Erasure) -> None:
        self._users = users
        self._erasure = erasure

    @property
    def commands(self) -> Mapping[str, Callable[[Arguments], Awaitable[Any]]]:
        """By name."""
        return {"erase": self._erase}

    async def _erase(self, arguments: Arguments) -> Any:
        user, owned = await self._user(arguments), arguments.get("owned", "transfer")
        if owned not in get_args(Owned):
            raise Invalid(f"What others are on is handed on or refused: {', '.join(get_args(Owned))}.")
        wish = Wish(texts=bool(arguments.get("texts")), owned=owned)
        if arguments.get("dry_run"):
            what, places = await self._erasure.plan(user.id, wish)
            return {
                "user": user.name,
                "private": len(what.private),
                "shared": len(what.shared),
                "places": [asdict(place) for place in places],
            }
        erased = await self._erasure.erase(user.id, wish)
        return {"user": user.name, **asdict(erased)}

    async def _user(self, arguments: Arguments) -> User:
        name = arguments.get("user")
        found = await self._users.named(name) if isinstance(name, str) and name.strip() else None
        if found is None:
            raise NotFound("There is no such user; `clew user list` names them.")
        return found
