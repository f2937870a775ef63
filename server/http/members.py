"""Members: who is on a task and as what. A task keeps at least one owner, always."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, Field, StringConstraints, model_validator

from crdt_docs.ids import TaskId, UserId, is_id
from server.domain.access import Role
from server.domain.clock import Clock, iso
from server.domain.errors import Invalid, NotFound
from server.domain.task import Member
from server.domain.user import User
from server.doors.authority import Authority
from server.doors.revocation import Revocation, deed
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.shapes import RoleName, read_role, role_name
from server.store.audit import Audit
from server.store.tasks import Tasks
from server.store.users import Users

Until = Annotated[AwareDatetime | None, Field(description="When the place ends; null for never.")]


class MemberNew(Input):
    """Whom to put on the task, by name or id, as what, and until when. For a member, what they shall be from now on."""

    user: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    role: RoleName
    until: Until = None


class MemberChange(Input):
    """What a member shall be, and until when (null: without an end); at least one of the two."""

    role: RoleName | None = None
    until: Until = None

    @model_validator(mode="after")
    def _something(self) -> MemberChange:
        if not self.model_fields_set or (self.role is None and "role" in self.model_fields_set):
            raise ValueError("give a role, an end, or both")
        return self


class MemberAnswer(Answer):
    """A user's place on a task. ``until`` ends it; ``over``: it has ended. ``link``: by which they came, if by one.

    A ``guest`` is somebody whom the server named, for a link.
    """

    user: str
    name: str
    role: RoleName
    since: str
    until: str | None
    over: bool
    link: str | None
    guest: bool


class MemberList(Answer):
    """Members, the first first."""

    members: list[MemberAnswer]


def routes(
    tasks: Tasks, users: Users, audit: Audit, authority: Authority, revocation: Revocation, clock: Clock
) -> list[Row]:
    """The endpoints of members."""

    async def list_(call: Call, _: Nothing) -> MemberList:
        task = TaskId(call.ids["id"])
        await authority.role(call.principal, task)
        found = await tasks.members(call.principal.user, task)
        if found is None:
            raise NotFound
        return MemberList(members=[_answer(member, clock.now()) for member in found])

    async def add(call: Call, new: MemberNew) -> MemberAnswer:
        task, role, now = TaskId(call.ids["id"]), read_role(new.role), clock.now()
        await authority.require(call.principal, task, Role.OWNER)
        until = _end(role, new.until, now)
        user = await _find(users, new.user)
        if (present := await tasks.member(task, user.id)) is not None:
            _require_own_account(present, role)
            return _answer(await revocation.role(call.principal, task, user.id, role, until, own=True), now)
        member = await tasks.add_member(task, user.id, role, now, until)
        authority.forget(task, user.id)
        await audit.append("member.added", now, by=deed(call.principal), task=task, subjects=[user.id])
        return _answer(member, now)

    async def change(call: Call, change: MemberChange) -> MemberAnswer:
        task, user, now = TaskId(call.ids["id"]), UserId(call.ids["user"]), clock.now()
        await authority.require(call.principal, task, Role.OWNER)
        member = await tasks.member(task, user)
        if member is None:
            raise NotFound
        role = read_role(change.role) if change.role is not None else member.role
        _require_own_account(member, role)
        kept = None if role is Role.OWNER else member.until
        until = _end(role, change.until, now) if "until" in change.model_fields_set else kept
        return _answer(await revocation.role(call.principal, task, user, role, until), now)

    async def remove(call: Call, _: Nothing) -> None:
        task, user = TaskId(call.ids["id"]), UserId(call.ids["user"])
        leaving = user == call.principal.user and call.principal.token is None and not call.principal.visiting
        await authority.require(call.principal, task, Role.VIEWER if leaving else Role.OWNER)
        await revocation.member(call.principal, task, user)

    return [
        Endpoint(
            "GET", "/tasks/{id}/members", list_, Nothing, MemberList, "Who is on the task.", errors=("not_found",)
        ),
        Endpoint(
            "POST",
            "/tasks/{id}/members",
            add,
            MemberNew,
            MemberAnswer,
            "Put a user on the task.",
            201,
            ("forbidden", "not_found", "conflict"),
        ),
        Endpoint(
            "PATCH",
            "/tasks/{id}/members/{user}",
            change,
            MemberChange,
            MemberAnswer,
            "Give a member another role or end, at once also on their open connections.",
            errors=("forbidden", "not_found", "conflict"),
        ),
        Endpoint(
            "DELETE",
            "/tasks/{id}/members/{user}",
            remove,
            Nothing,
            None,
            "Take a member off the task, or leave it.",
            errors=("forbidden", "not_found", "conflict"),
        ),
    ]


async def _find(users: Users, given: str) -> User:
    user = await users.get(UserId(given)) if is_id(given) else await users.named(given)
    if user is None:
        raise NotFound
    return user


def _require_own_account(member: Member, role: Role) -> None:
    """Raise Invalid where a guest would own a task: nobody could ever sign in as them again."""
    if member.guest and role is Role.OWNER:
        raise Invalid("A guest has no account here, and can't own a task.")


def _end(role: Role, until: datetime | None, now: float) -> float | None:
    """When a place ends, in Unix seconds. Raises Invalid for what is over already, and for an owner's."""
    if until is None:
        return None
    if role is Role.OWNER:
        raise Invalid("An owner has no end; give another role, or none.")
    if until.timestamp() <= now:
        raise Invalid("That time is over already.")
    return until.timestamp()


def _answer(member: Member, now: float) -> MemberAnswer:
    return MemberAnswer(
        user=member.user,
        name=member.name,
        role=role_name(member.role),
        since=iso(member.since),
        until=iso(member.until) if member.until is not None else None,
        over=member.until is not None and now >= member.until,
        link=member.share,
        guest=member.guest,
    )
