"""Roles as they are now, and access taken back in one order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import pytest
from kit.clock import FakeClock

from crdt_docs.ids import DocName, TaskId, TokenId, UserId
from server.domain.access import Principal, Role
from server.domain.errors import Conflict, Forbidden, NotFound
from server.domain.policy import Place
from server.domain.user import User
from server.doors.authority import Authority, require_account, require_login
from server.doors.revocation import Revocable, Revocation
from server.store.nouns import Nouns, open_nouns
from server.store.policies import Policies

SOMEONE = UserId("00000000-0000-4000-8000-000000000000")


@pytest.fixture
async def nouns(tmp_path: Path) -> AsyncIterator[Nouns]:
    async with open_nouns(tmp_path) as nouns:
        yield nouns


@pytest.fixture
async def ana(nouns: Nouns) -> User:
    return await nouns.users.add("ana", 0.0)


@pytest.fixture
async def task(nouns: Nouns, ana: User) -> TaskId:
    return (await nouns.tasks.create(ana.id, "Acme", 0.0)).id


class SlowPolicies(Policies):
    """A store whose answer about a place can be held back after it was read."""

    def __init__(self, nouns: Nouns) -> None:
        super().__init__(nouns.database)
        self.lookups = 0
        self.read = anyio.Event()
        self.go = anyio.Event()
        self.go.set()

    async def place(self, user: UserId, task: TaskId) -> Place | None:
        self.lookups += 1
        found = await super().place(user, task)
        self.read.set()
        await self.go.wait()
        return found


async def test_a_role_is_looked_up_once(nouns: Nouns, ana: User, task: TaskId) -> None:
    places = SlowPolicies(nouns)
    authority = Authority(places, FakeClock())
    for _ in range(5):
        assert await authority.role(Principal(ana.id, "ana"), task) is Role.OWNER
    assert places.lookups == 1


async def test_the_places_of_a_long_list_are_looked_up_at_once(nouns: Nouns, ana: User, task: TaskId) -> None:
    tasks = [task, *[(await nouns.tasks.create(ana.id, f"Task {number}", 0.0)).id for number in range(20)]]
    places = SlowPolicies(nouns)
    authority = Authority(places, FakeClock())
    await authority.learn(ana.id, tasks)
    assert [await authority.role(Principal(ana.id, "ana"), one) for one in tasks] == [Role.OWNER] * 21
    assert places.lookups == 0
    await nouns.tasks.delete(ana.id, task)
    authority.forget(task)
    with pytest.raises(NotFound):
        await authority.role(Principal(ana.id, "ana"), task)


async def test_a_stranger_and_a_task_that_is_not_there_are_the_same_to_it(
    nouns: Nouns, ana: User, task: TaskId
) -> None:
    authority = Authority(nouns.policies, FakeClock())
    whys = set()
    for user, where in ((SOMEONE, task), (ana.id, TaskId(str(SOMEONE)))):
        for ask in (authority.role, lambda who, there: authority.require(who, there, Role.OWNER)):
            with pytest.raises(NotFound) as refused:
                await ask(Principal(user, "x"), where)
            whys.add(refused.value.why)
    assert len(whys) == 1


async def test_a_member_with_too_little_is_told_so(nouns: Nouns, ana: User, task: TaskId) -> None:
    bob = await nouns.users.add("bob", 0.0)
    await nouns.tasks.add_member(task, bob.id, Role.COMMENTER, 0.0)
    authority = Authority(nouns.policies, FakeClock())
    assert await authority.require(Principal(bob.id, "bob"), task, Role.COMMENTER) is Role.COMMENTER
    with pytest.raises(Forbidden, match="takes the role editor; yours is commenter"):
        await authority.require(Principal(bob.id, "bob"), task, Role.EDITOR)


async def test_a_bearer_has_the_lesser_of_both_and_no_other_task(nouns: Nouns, ana: User, task: TaskId) -> None:
    authority = Authority(nouns.policies, FakeClock())
    assert await authority.role(Principal(ana.id, "ana", cap=Role.VIEWER), task) is Role.VIEWER
    with pytest.raises(NotFound):
        await authority.role(Principal(ana.id, "ana", task=TaskId(str(SOMEONE))), task)


async def test_a_lookup_under_way_does_not_outlive_a_change(nouns: Nouns, ana: User, task: TaskId) -> None:
    """A role that was read before the change must not be kept after it."""
    bob = await nouns.users.add("bob", 0.0)
    await nouns.tasks.add_member(task, bob.id, Role.EDITOR, 0.0)
    places = SlowPolicies(nouns)
    authority = Authority(places, FakeClock())
    places.go = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(authority.role, Principal(bob.id, "bob"), task)
        await places.read.wait()
        await nouns.tasks.set_role(task, bob.id, Role.VIEWER, 0.0)
        authority.forget(task, bob.id)
        places.go.set()
    assert await authority.role(Principal(bob.id, "bob"), task) is Role.VIEWER


class Watched:
    """Live rooms that note what they are told, and whether it concerned a certain principal."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []
        self.matched: list[bool] = []
        self.who = Principal(SOMEONE, "x")
        self.name = DocName(TaskId(str(SOMEONE)))

    async def revoke(self, matches: Callable[[Principal, DocName], bool], code: int, why: str) -> None:
        self.told.append(("revoke", code))
        self.matched.append(matches(self.who, self.name))

    async def change_role(self, task: TaskId, user: UserId, role: Role, until: float | None) -> None:
        self.told.append(("change_role", role))

    async def delete(self, task: TaskId) -> None:
        self.told.append(("delete", task))


def revocation_over(nouns: Nouns, live: Watched) -> tuple[Revocation, Authority]:
    authority = Authority(nouns.policies, FakeClock())
    revocable = Revocable(
        nouns.devices,
        nouns.sessions,
        nouns.tasks,
        nouns.tokens,
        nouns.logins,
        nouns.links,
        nouns.audit,
        nouns.policies,
        nouns.shares,
    )
    return Revocation(revocable, authority, live, FakeClock()), authority


class Refusing(Watched):
    """Rooms that fail: the process might as well end here."""

    async def revoke(self, matches: Callable[[Principal, DocName], bool], code: int, why: str) -> None:
        raise RuntimeError("the process ends here")


async def test_a_crash_between_the_commit_and_the_rooms_leaves_it_revoked(
    nouns: Nouns, ana: User, task: TaskId
) -> None:
    token, secret = await nouns.tokens.issue(ana.id, role=Role.EDITOR, at=0.0, expires_at=9e9)
    bob = await nouns.users.add("bob", 0.0)
    await nouns.tasks.add_member(task, bob.id, Role.OWNER, 0.0)
    revocation, authority = revocation_over(nouns, Refusing())
    assert await authority.role(Principal(bob.id, "bob"), task) is Role.OWNER
    by = Principal(ana.id, "ana")
    with pytest.raises(RuntimeError):
        await revocation.token(by, token.id)
    with pytest.raises(RuntimeError):
        await revocation.member(by, task, bob.id)
    assert await nouns.tokens.find(secret, 1.0) is None
    with pytest.raises(NotFound):
        await authority.role(Principal(bob.id, "bob"), task)


async def test_what_the_store_refuses_ends_no_connection(nouns: Nouns, ana: User, task: TaskId) -> None:
    live = Watched()
    revocation, _ = revocation_over(nouns, live)
    by = Principal(ana.id, "ana")
    with pytest.raises(NotFound):
        await revocation.token(by, TokenId(str(SOMEONE)))
    with pytest.raises(NotFound):
        await revocation.member(by, task, SOMEONE)
    with pytest.raises(Conflict):
        await revocation.member(by, task, ana.id)
    with pytest.raises(Conflict):
        await revocation.role(by, task, ana.id, Role.VIEWER)
    with pytest.raises(NotFound):
        await revocation.task(Principal(SOMEONE, "x"), task)
    assert live.told == [] and await nouns.audit.latest() == []


async def test_signing_a_browser_out_spares_the_bearers_of_its_device(nouns: Nouns, ana: User) -> None:
    device = await nouns.devices.add(ana.id, "laptop", "browser", 0.0)
    login, _ = await nouns.logins.issue(ana.id, device.id, 0.0)
    live = Watched()
    revocation, _ = revocation_over(nouns, live)
    for who in (
        Principal(ana.id, "ana", device=device.id),
        Principal(ana.id, "ana", device=device.id, token=TokenId("t")),
        Principal(SOMEONE, "x", device=device.id),
        Principal(ana.id, "ana"),
    ):
        live.who = who
        await revocation.login(login)
    assert live.matched == [True, False, False, False]


async def test_what_was_taken_back_is_in_the_audit_trail(nouns: Nouns, ana: User, task: TaskId) -> None:
    token, _ = await nouns.tokens.issue(ana.id, role=Role.EDITOR, at=0.0, expires_at=9e9)
    revocation, _ = revocation_over(nouns, Watched())
    by = Principal(ana.id, "ana")
    await revocation.token(by, token.id)
    await revocation.task(by, task)
    events = [(event.event, event.by.user, event.subjects) for event in await nouns.audit.latest()]
    assert events == [("task.deleted", ana.id, (task,)), ("token.revoked", ana.id, (token.id,))]
    assert await nouns.audit.broken_at() is None


def test_what_concerns_the_account_is_not_for_every_bearer() -> None:
    page, script = Principal(SOMEONE, "x"), Principal(SOMEONE, "x", token=TokenId("t"))
    bound = Principal(SOMEONE, "x", token=TokenId("t"), task=TaskId("a"))
    require_account(page)
    require_account(script)
    require_login(page)
    for check, who in ((require_account, bound), (require_login, script), (require_login, bound)):
        with pytest.raises(Forbidden):
            check(who)
