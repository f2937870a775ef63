"""Tokens: bearers for scripts and agents. The secret is shown once, to whoever made it, and never again."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from crdt_docs.ids import TaskId, TokenId
from server.domain.access import Role
from server.domain.clock import Clock, iso
from server.domain.credential import Token
from server.domain.errors import NotFound
from server.doors.authority import Authority, require_account, require_login, require_whole
from server.doors.revocation import Revocation, deed
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.shapes import RoleName, Uuid, read_role, role_name
from server.store.audit import Audit
from server.store.tokens import Tokens

LONGEST: Final = 366 * 86400


class TokenNew(Input):
    """What the bearer may reach: one task or all of the user's, as what, and for how many seconds."""

    task: Uuid | None = None
    role: RoleName = "editor"
    ttl: Annotated[int, Field(ge=1, le=LONGEST, description="Seconds that it lives.")] = 3600


class TokenMade(Answer):
    """A new bearer. This is the only time that the secret is shown."""

    id: str
    token: str
    expires_at: str


class TokenAnswer(Answer):
    """A bearer without its secret. ``agent`` is the name of the agent whose host comes by it, if it is one's."""

    id: str
    task: str | None
    agent: str | None
    role: RoleName
    created_at: str
    expires_at: str
    revoked_at: str | None


class TokenList(Answer):
    """Bearers, the latest first."""

    tokens: list[TokenAnswer]


def routes(tokens: Tokens, audit: Audit, authority: Authority, revocation: Revocation, clock: Clock) -> list[Row]:
    """The endpoints of tokens."""

    async def create(call: Call, new: TokenNew) -> TokenMade:
        who, now = call.principal, clock.now()
        require_login(who)
        task = TaskId(new.task) if new.task is not None else None
        if task is not None:
            await authority.role(who, task)
        token, secret = await tokens.issue(
            who.user, role=read_role(new.role), at=now, expires_at=now + new.ttl, task=task, device=who.device
        )
        await audit.append("token.made", now, by=deed(who), task=task, subjects=[token.id])
        return TokenMade(id=token.id, token=secret, expires_at=iso(token.expires_at))

    async def list_(call: Call, _: Nothing) -> TokenList:
        require_account(call.principal)
        return TokenList(tokens=[_answer(token) for token in await tokens.of_user(call.principal.user)])

    async def revoke(call: Call, _: Nothing) -> None:
        token = TokenId(call.ids["id"])
        if call.principal.token != token:  # a bearer may end itself, whatever it is bound to
            if call.principal.task is not None:
                raise NotFound  # and one for one task knows of no other
            require_whole(call.principal)
        await revocation.token(call.principal, token)

    return [
        Endpoint(
            "POST",
            "/tokens",
            create,
            TokenNew,
            TokenMade,
            "Make a bearer for a script or an agent.",
            201,
            ("forbidden", "not_found"),
        ),
        Endpoint("GET", "/tokens", list_, Nothing, TokenList, "Your bearers.", errors=("forbidden",)),
        Endpoint(
            "DELETE",
            "/tokens/{id}",
            revoke,
            Nothing,
            None,
            "Revoke a bearer, at once also on its open connections.",
            errors=("forbidden", "not_found"),
        ),
    ]


def _answer(token: Token) -> TokenAnswer:
    return TokenAnswer(
        id=token.id,
        task=token.task,
        agent=token.agent_name or None,
        role=role_name(Role(token.role)),
        created_at=iso(token.created_at),
        expires_at=iso(token.expires_at),
        revoked_at=iso(token.revoked_at) if token.revoked_at is not None else None,
    )
