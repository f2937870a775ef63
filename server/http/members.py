"""Members: who is on a task and as what. A task keeps at least one owner, always."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from crdt_docs.ids import TaskId, UserId, is_id
from server.domain.access import Role
from server.domain.clock import Clock, iso
from server.domain.errors import NotFound
from server.domain.task import Member
from server.domain.user import User
from server.doors.authority import Authority
from server.doors.revocation import Revocation, deed
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.shapes import RoleName, read_role, role_name
from server.store.audit import Audit
from server.store.tasks import Tasks
from server.store.users import Users


class MemberNew(Input):
    """Whom to put on the task, by name or id, and as what. For a member, what they shall be from now on."""

    user: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    role: RoleName


class MemberChange(Input):
    """What a member shall be."""

    role: RoleName


class MemberAnswer(Answer):
    """A user's place on a task."""

    user: str
    name: str
    role: RoleName
    since: str


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
        return MemberList(members=[_answer(member) for member in found])

    async def add(call: Call, new: MemberNew) -> MemberAnswer:
        task, role = TaskId(call.ids["id"]), read_role(new.role)
        await authority.require(call.principal, task, Role.OWNER)
        user = await _find(users, new.user)
        if await tasks.role(user.id, task) is not None:
            return _answer(await revocation.role(call.principal, task, user.id, role))
        now = clock.now()
        member = await tasks.add_member(task, user.id, role, now)
        authority.forget(task, user.id)
        await audit.append("member.added", now, by=deed(call.principal), task=task, subjects=[user.id])
        return _answer(member)

    async def change(call: Call, change: MemberChange) -> MemberAnswer:
        task = TaskId(call.ids["id"])
        await authority.require(call.principal, task, Role.OWNER)
        user = UserId(call.ids["user"])
        return _answer(await revocation.role(call.principal, task, user, read_role(change.role)))

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
            "Give a member another role, at once also on their open connections.",
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


def _answer(member: Member) -> MemberAnswer:
    return MemberAnswer(user=member.user, name=member.name, role=role_name(member.role), since=iso(member.since))
