"""One's own account: name, language, preferences, and the plan that the operator has put one on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from crdt_docs.ids import UserId
from server.domain.account import Account, Scalar, merged
from server.domain.clock import Clock
from server.domain.errors import Unauthenticated
from server.domain.language import Language
from server.domain.user import User
from server.doors.authority import require_account, require_login
from server.doors.revocation import deed
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.shapes import Name
from server.store.accounts import Accounts
from server.store.audit import Audit
from server.store.identities import Identities
from server.store.users import Users

Key = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_.]{0,63}$")]
Value = bool | int | float | Annotated[str, StringConstraints(max_length=500)]


class AccountAnswer(Answer):
    """``language`` is null where you leave it to your browser; ``owner``: this server is yours, and you may invite.

    ``organisations`` are the issuers by which you can sign in.
    """

    id: str
    name: str
    language: Language | None
    plan: str
    preferences: dict[str, Scalar]
    owner: bool
    organisations: list[str]


class AccountChange(Input):
    """What to change. A language of ``auto`` leaves it to the browser; a preference of null is taken away."""

    name: Annotated[Name, StringConstraints(max_length=100)] | None = None
    language: Language | Literal["auto"] | None = None
    preferences: Annotated[dict[Key, Value | None], Field(max_length=50)] | None = None

    @model_validator(mode="after")
    def _something(self) -> AccountChange:
        if self.name is None and self.language is None and self.preferences is None:
            raise ValueError("give a name, a language, preferences, or several of them")
        return self


def routes(
    accounts: Accounts,
    users: Users,
    identities: Identities,
    audit: Audit,
    rename: Callable[[UserId, str], None],
    clock: Clock,
) -> list[Row]:
    """The endpoints of the account. ``rename`` shows a new name on live connections."""

    async def told(user: User) -> AccountAnswer:
        account, owner = await accounts.get(user.id), await users.owner()
        return AccountAnswer(
            id=user.id,
            name=user.name,
            language=account.language,
            plan=account.plan,
            preferences=dict(account.preferences),
            owner=owner is not None and owner.id == user.id,
            organisations=await identities.issuers(user.id),
        )

    async def own(call: Call) -> User:
        require_account(call.principal)
        user = await users.get(call.principal.user)
        if user is None:
            raise Unauthenticated
        return user

    async def show(call: Call, _: Nothing) -> AccountAnswer:
        return await told(await own(call))

    async def change(call: Call, change: AccountChange) -> AccountAnswer:
        require_login(call.principal)
        user = await own(call)
        if change.name is not None and change.name != user.name:
            user = await users.rename(user.id, change.name)
            rename(user.id, user.name)
            await audit.append("user.renamed", clock.now(), by=deed(call.principal), subjects=[user.id])
        if change.language is not None or change.preferences is not None:
            await accounts.put(_changed(await accounts.get(user.id), change))
        return await told(user)

    return [
        Endpoint("GET", "/me/account", show, Nothing, AccountAnswer, "Your account.", errors=("forbidden",)),
        Endpoint(
            "PATCH", "/me/account", change, AccountChange, AccountAnswer, "Change your account.",
            errors=("forbidden", "conflict"),
        ),
    ]  # fmt: skip


def _changed(account: Account, change: AccountChange) -> Account:
    language = account.language
    if change.language is not None:
        language = None if change.language == "auto" else change.language
    preferences = account.preferences
    if change.preferences is not None:
        preferences = merged(preferences, change.preferences)
    return Account(account.user, language, account.plan, preferences)
