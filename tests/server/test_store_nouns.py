"""The relational nouns: ownership, single use, revocation, and what a transaction keeps."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from crdt_docs.ids import DeviceId, SessionId, TaskId, TokenId, UserId, new_id
from server.domain.access import Role
from server.domain.audit import Deed
from server.domain.errors import Conflict, Invalid, NotFound, Unavailable
from server.domain.login import LoginId
from server.domain.task import Task
from server.domain.user import User
from server.store import database
from server.store.database import Damaged, Database, NewerSchema, Statements
from server.store.lane import Lane
from server.store.nouns import Nouns, open_nouns


def bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


@pytest.fixture
async def nouns(tmp_path: Path) -> AsyncIterator[Nouns]:
    async with open_nouns(tmp_path) as opened:
        yield opened


@pytest.fixture
async def ann(nouns: Nouns) -> User:
    return await nouns.users.add("ann", 1.0)


@pytest.fixture
async def bob(nouns: Nouns) -> User:
    return await nouns.users.add("bob", 2.0)


@pytest.fixture
async def task(nouns: Nouns, ann: User) -> Task:
    return await nouns.tasks.create(ann.id, "Acme contract", 10.0)


async def test_names_are_unique_however_they_are_cased_or_composed(nouns: Nouns, ann: User) -> None:
    await nouns.users.add("Zoë", 3.0)
    for twin in ("ann", "ANN", " Ann ", "zoe\u0308", "ZOË", "ａｎｎ"):
        with pytest.raises(Conflict):
            await nouns.users.add(twin, 4.0)
    assert await nouns.users.named("ANN") == ann
    assert await nouns.users.ensure("Ann", 5.0) == ann
    assert [user.name for user in await nouns.users.all()] == ["ann", "Zoë"]


async def test_two_who_ensure_one_name_at_once_get_one_user(nouns: Nouns) -> None:
    found: list[User] = []

    async def ensure() -> None:
        found.append(await nouns.users.ensure("owner", 3.0))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(ensure)
    assert len({user.id for user in found}) == 1 and len(await nouns.users.all()) == 1


@pytest.mark.parametrize("name", ["", "  ", "a\x00b", "a\nb", "right\u202eleft", "x" * 101])
async def test_a_name_that_is_none_is_refused(nouns: Nouns, name: str) -> None:
    with pytest.raises(Invalid):
        await nouns.users.add(name, 1.0)
    assert await nouns.users.all() == []


async def test_a_task_belongs_to_its_members_and_nobody_else_can_tell_that_it_is_there(
    nouns: Nouns, ann: User, bob: User, task: Task
) -> None:
    for nobody, which in ((bob.id, task.id), (ann.id, TaskId(new_id())), (UserId(new_id()), task.id)):
        assert await nouns.tasks.get(nobody, which) is None
        assert await nouns.tasks.role(nobody, which) is None
        assert await nouns.tasks.members(nobody, which) is None
        assert await nouns.tasks.patch(nobody, which, 11.0, name="mine now") is None
        assert not await nouns.tasks.delete(nobody, which)
    assert await nouns.tasks.get(ann.id, task.id) == (task, Role.OWNER)
    assert await nouns.tasks.of_user(bob.id) == []


async def test_tasks_are_listed_by_status_and_last_change(nouns: Nouns, ann: User, task: Task) -> None:
    later = await nouns.tasks.create(ann.id, "Later", 20.0)
    assert [found.id for found, _ in await nouns.tasks.of_user(ann.id)] == [later.id, task.id]
    patched = await nouns.tasks.patch(ann.id, task.id, 30.0, status="done")
    assert patched is not None and patched[0].status == "done" and patched[0].name == "Acme contract"
    assert [found.id for found, _ in await nouns.tasks.of_user(ann.id, ["open"])] == [later.id]
    assert [found.id for found, _ in await nouns.tasks.of_user(ann.id, ["open", "done"])] == [task.id, later.id]
    assert await nouns.tasks.of_user(ann.id, []) == []
    await nouns.tasks.touch([later.id, task.id, TaskId(new_id())], 25.0)
    assert [found.updated_at for found, _ in await nouns.tasks.of_user(ann.id)] == [30.0, 25.0]
    await nouns.tasks.touch([], 99.0)


async def test_roles_decide_at_the_write_itself(nouns: Nouns, ann: User, bob: User, task: Task) -> None:
    await nouns.tasks.add_member(task.id, bob.id, Role.VIEWER, 11.0)
    assert await nouns.tasks.patch(bob.id, task.id, 12.0, name="x") is None
    assert not await nouns.tasks.delete(bob.id, task.id)
    await nouns.tasks.set_role(task.id, bob.id, Role.EDITOR, 12.0)
    assert (await nouns.tasks.patch(bob.id, task.id, 12.0, name="x")) is not None
    assert not await nouns.tasks.delete(bob.id, task.id)
    members = await nouns.tasks.members(bob.id, task.id)
    assert [(m.name, m.role) for m in members or ()] == [("ann", Role.OWNER), ("bob", Role.EDITOR)]


async def test_a_task_never_loses_its_last_owner(nouns: Nouns, ann: User, bob: User, task: Task) -> None:
    await nouns.tasks.add_member(task.id, bob.id, Role.EDITOR, 11.0)
    with pytest.raises(Conflict):
        await nouns.tasks.remove_member(task.id, ann.id, 12.0)
    with pytest.raises(Conflict):
        await nouns.tasks.set_role(task.id, ann.id, Role.EDITOR, 12.0)
    assert await nouns.tasks.role(ann.id, task.id) == Role.OWNER
    await nouns.tasks.set_role(task.id, bob.id, Role.OWNER, 12.0)
    assert await nouns.tasks.remove_member(task.id, ann.id, 12.0)
    assert not await nouns.tasks.remove_member(task.id, ann.id, 12.0)
    assert await nouns.tasks.set_role(task.id, ann.id, Role.VIEWER, 12.0) is None


async def test_owners_that_leave_at_the_same_time_leave_one(nouns: Nouns, ann: User, bob: User, task: Task) -> None:
    await nouns.tasks.add_member(task.id, bob.id, Role.OWNER, 11.0)
    left: list[UserId] = []

    async def leave(user: UserId) -> None:
        try:
            if await nouns.tasks.remove_member(task.id, user, 12.0):
                left.append(user)
        except Conflict:
            pass

    async with anyio.create_task_group() as group:
        for user in (ann.id, bob.id):
            group.start_soon(leave, user)
    assert len(left) == 1


async def test_members_are_added_once_and_must_be_there(nouns: Nouns, bob: User, task: Task) -> None:
    member = await nouns.tasks.add_member(task.id, bob.id, Role.VIEWER, 11.0)
    assert (member.name, member.role, member.since) == ("bob", Role.VIEWER, 11.0)
    with pytest.raises(Conflict):
        await nouns.tasks.add_member(task.id, bob.id, Role.EDITOR, 12.0)
    with pytest.raises(NotFound):
        await nouns.tasks.add_member(task.id, UserId(new_id()), Role.EDITOR, 12.0)
    with pytest.raises(NotFound):
        await nouns.tasks.add_member(TaskId(new_id()), bob.id, Role.EDITOR, 12.0)


async def test_a_session_has_one_task_at_a_time_and_the_attachments_tell(nouns: Nouns, ann: User, task: Task) -> None:
    other = await nouns.tasks.create(ann.id, "Other", 11.0)
    session = await nouns.sessions.start(ann.id, None, "web", 20.0)
    for which, at in ((task.id, 21.0), (task.id, 22.0), (other.id, 23.0), (None, 24.0), (None, 25.0)):
        changed = await nouns.sessions.attach(ann.id, session.id, which, at)
        assert changed is not None and changed.task == which
    spans = [(a.task, a.started_at, a.ended_at) for a in await nouns.sessions.attachments(ann.id, session.id)]
    assert spans == [(task.id, 21.0, 23.0), (other.id, 23.0, 24.0)]
    await nouns.sessions.attach(ann.id, session.id, task.id, 26.0)
    ended = await nouns.sessions.end(ann.id, session.id, 30.0)
    assert ended is not None and (ended.ended_at, ended.task) == (30.0, None)
    again = await nouns.sessions.end(ann.id, session.id, 31.0)
    assert again == ended
    assert [a.ended_at for a in await nouns.sessions.attachments(ann.id, session.id)] == [23.0, 24.0, 30.0]
    with pytest.raises(Conflict):
        await nouns.sessions.attach(ann.id, session.id, task.id, 32.0)
    assert await nouns.tasks.get(ann.id, task.id) is not None


async def test_a_session_is_its_users_and_attaches_only_to_their_tasks(
    nouns: Nouns, ann: User, bob: User, task: Task
) -> None:
    session = await nouns.sessions.start(bob.id, None, None, 20.0)
    with pytest.raises(NotFound):
        await nouns.sessions.attach(bob.id, session.id, task.id, 21.0)
    with pytest.raises(NotFound):
        await nouns.sessions.attach(bob.id, session.id, TaskId(new_id()), 21.0)
    for which in (session.id, SessionId(new_id())):
        assert await nouns.sessions.get(ann.id, which) is None
        assert await nouns.sessions.attach(ann.id, which, task.id, 21.0) is None
        assert await nouns.sessions.end(ann.id, which, 21.0) is None
        assert await nouns.sessions.attachments(ann.id, which) == []
    device = await nouns.devices.add(ann.id, "laptop", "browser", 1.0)
    with pytest.raises(NotFound):
        await nouns.sessions.start(bob.id, device.id, None, 22.0)


async def test_candidates_know_when_and_on_what_their_user_last_worked(
    nouns: Nouns, ann: User, bob: User, task: Task
) -> None:
    laptop = await nouns.devices.add(ann.id, "laptop", "browser", 1.0)
    phone = await nouns.devices.add(ann.id, "phone", "phone", 1.0)
    untouched = await nouns.tasks.create(ann.id, "Untouched", 500.0)
    done = await nouns.tasks.create(ann.id, "Done", 12.0)
    await nouns.tasks.patch(ann.id, done.id, 13.0, status="done")
    await nouns.tasks.add_member(task.id, bob.id, Role.EDITOR, 14.0)
    for user, device, at in ((ann, laptop, 100.0), (ann, phone, 200.0), (bob, None, 900.0)):
        session = await nouns.sessions.start(user.id, device.id if device else None, None, at)
        await nouns.sessions.attach(user.id, session.id, task.id, at)
        await nouns.sessions.end(user.id, session.id, at + 5)
    found = await nouns.sessions.unfinished(ann.id)
    assert [(u.task.id, u.active_at, u.device, u.device_name) for u in found] == [
        (untouched.id, None, None, None),
        (task.id, 205.0, phone.id, "phone"),
    ]


async def test_silent_sessions_end_when_they_were_last_seen(nouns: Nouns, ann: User, task: Task) -> None:
    silent = await nouns.sessions.start(ann.id, None, None, 10.0)
    alive = await nouns.sessions.start(ann.id, None, None, 10.0)
    await nouns.sessions.attach(ann.id, silent.id, task.id, 11.0)
    await nouns.sessions.seen([alive.id], 500.0)
    assert await nouns.sessions.end_silent(400.0) == 1
    ended = await nouns.sessions.get(ann.id, silent.id)
    assert ended is not None and (ended.ended_at, ended.task) == (11.0, None)
    assert [s.id for s in await nouns.sessions.of_user(ann.id, ended=False)] == [alive.id]


async def test_a_bearer_lives_until_it_expires_or_is_revoked(nouns: Nouns, ann: User, bob: User, task: Task) -> None:
    token, secret = await nouns.tokens.issue(ann.id, role=Role.EDITOR, at=10.0, expires_at=100.0, task=task.id)
    assert await nouns.tokens.find(secret, 99.9) == token
    assert await nouns.tokens.find(secret, 100.0) is None
    assert await nouns.tokens.find(secret + "A", 50.0) is None
    assert await nouns.tokens.get(bob.id, token.id) is None
    assert await nouns.tokens.revoke(bob.id, token.id, 50.0) is None
    assert await nouns.tokens.revoke(ann.id, TokenId(new_id()), 50.0) is None
    assert await nouns.tokens.find(secret, 50.0) == token
    revoked = await nouns.tokens.revoke(ann.id, token.id, 50.0)
    assert revoked is not None and revoked.revoked_at == 50.0
    assert await nouns.tokens.find(secret, 50.0) is None
    assert await nouns.tokens.revoke(ann.id, token.id, 60.0) == revoked
    assert await nouns.tokens.of_user(ann.id) == [revoked]


async def test_nobody_gets_a_bearer_or_ticket_for_a_task_they_are_not_on(nouns: Nouns, bob: User, task: Task) -> None:
    with pytest.raises(NotFound):
        await nouns.tokens.issue(bob.id, role=Role.VIEWER, at=1.0, expires_at=9.0, task=task.id)
    with pytest.raises(NotFound):
        await nouns.tickets.issue(bob.id, task.id, 1.0)


async def test_of_fifty_who_redeem_at_once_one_succeeds(nouns: Nouns, ann: User, task: Task) -> None:
    link = await nouns.links.issue(ann.id, 10.0)
    _, ticket = await nouns.tickets.issue(ann.id, task.id, 10.0)
    links: list[object] = []
    tickets: list[object] = []

    async def redeem() -> None:
        links.append(await nouns.links.redeem(link, 11.0))
        tickets.append(await nouns.tickets.redeem(ticket, task.id, 11.0))

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(redeem)
    for answers in (links, tickets):
        assert len(answers) == 50
        assert sum(answer is not None for answer in answers) == 1


async def test_a_link_burns_by_use_by_time_and_by_hand(nouns: Nouns, ann: User) -> None:
    late = await nouns.links.issue(ann.id, 10.0)
    assert await nouns.links.redeem(late, 10.0 + 600.0) is None
    used = await nouns.links.issue(ann.id, 10.0)
    redeemed = await nouns.links.redeem(used, 11.0)
    assert redeemed is not None and redeemed.user == ann.id
    assert await nouns.links.redeem(used, 11.0) is None
    void = await nouns.links.issue(ann.id, 10.0)
    await nouns.links.void(ann.id)
    assert await nouns.links.redeem(void, 11.0) is None
    assert await nouns.links.redeem("", 11.0) is None
    with pytest.raises(Conflict):
        await nouns.links.issue(UserId(new_id()), 10.0)


async def test_a_ticket_is_for_one_task_and_thirty_seconds(nouns: Nouns, ann: User, task: Task) -> None:
    other = await nouns.tasks.create(ann.id, "Other", 1.0)
    session = await nouns.sessions.start(ann.id, None, None, 1.0)
    ticket, secret = await nouns.tickets.issue(ann.id, task.id, 10.0, session=session.id)
    assert await nouns.tickets.redeem(secret, other.id, 11.0) is None
    assert await nouns.tickets.redeem(secret, task.id, 40.0) is None
    assert await nouns.tickets.redeem(secret, task.id, 39.9) == ticket


async def test_what_stands_behind_a_ticket_is_looked_at_when_it_is_used(
    nouns: Nouns, ann: User, bob: User, task: Task
) -> None:
    device = await nouns.devices.add(bob.id, "phone", "phone", 1.0)
    await nouns.tasks.add_member(task.id, bob.id, Role.EDITOR, 2.0)
    session = await nouns.sessions.start(bob.id, device.id, None, 3.0)
    token, _ = await nouns.tokens.issue(bob.id, role=Role.EDITOR, at=4.0, expires_at=20.0)

    async def ticket(**behind: str) -> str:
        named = {"device": DeviceId, "session": SessionId, "token": TokenId}
        kept = {what: named[what](value) for what, value in behind.items()}
        return (await nouns.tickets.issue(bob.id, task.id, 10.0, **kept))[1]  # type: ignore[arg-type]

    expired = await ticket(token=token.id)
    assert await nouns.tickets.redeem(expired, task.id, 21.0) is None
    by_token, by_session = await ticket(token=token.id), await ticket(session=session.id)
    by_device, plain = await ticket(device=device.id), await ticket()
    await nouns.tokens.revoke(bob.id, token.id, 11.0)
    await nouns.sessions.end(bob.id, session.id, 11.0)
    await nouns.devices.revoke(bob.id, device.id, 11.0)
    await nouns.tasks.remove_member(task.id, bob.id, 12.0)
    for secret in (by_token, by_session, by_device, plain):
        assert await nouns.tickets.redeem(secret, task.id, 12.0) is None
    with pytest.raises(NotFound):
        await ticket(device=device.id)


async def test_a_revoked_device_loses_every_door_at_once(nouns: Nouns, ann: User, task: Task) -> None:
    lost = await nouns.devices.add(ann.id, "lost phone", "phone", 1.0)
    kept = await nouns.devices.add(ann.id, "laptop", "browser", 1.0)
    _, cookie = await nouns.logins.issue(ann.id, lost.id, 2.0)
    _, other = await nouns.logins.issue(ann.id, kept.id, 2.0)
    _, bearer = await nouns.tokens.issue(ann.id, role=Role.OWNER, at=2.0, expires_at=99.0, device=lost.id)
    session = await nouns.sessions.start(ann.id, lost.id, None, 3.0)
    await nouns.sessions.attach(ann.id, session.id, task.id, 4.0)
    revoked = await nouns.devices.revoke(ann.id, lost.id, 10.0)
    assert revoked is not None and revoked.revoked_at == 10.0
    assert await nouns.devices.revoke(ann.id, lost.id, 11.0) == revoked
    assert await nouns.logins.find(cookie, 11.0) is None
    assert await nouns.tokens.find(bearer, 11.0) is None
    assert await nouns.logins.find(other, 11.0) is not None
    ended = await nouns.sessions.get(ann.id, session.id)
    assert ended is not None and (ended.ended_at, ended.task) == (10.0, None)
    assert [a.ended_at for a in await nouns.sessions.attachments(ann.id, session.id)] == [10.0]
    assert [device.id for device in await nouns.devices.of_user(ann.id)] == [kept.id]
    assert len(await nouns.devices.of_user(ann.id, revoked=True)) == 2
    for attempt in (nouns.logins.issue(ann.id, lost.id, 12.0), nouns.sessions.start(ann.id, lost.id, None, 12.0)):
        with pytest.raises(NotFound):
            await attempt


async def test_devices_are_their_users_alone(nouns: Nouns, ann: User, bob: User) -> None:
    device = await nouns.devices.add(ann.id, "laptop", "browser", 1.0)
    for which in (device.id, DeviceId(new_id())):
        assert await nouns.devices.get(bob.id, which) is None
        assert await nouns.devices.rename(bob.id, which, "mine") is None
        assert await nouns.devices.revoke(bob.id, which, 2.0) is None
        with pytest.raises(NotFound):
            await nouns.logins.issue(bob.id, which, 2.0)
    renamed = await nouns.devices.rename(ann.id, device.id, "old laptop")
    assert renamed is not None and renamed.name == "old laptop" and renamed.revoked_at is None
    await nouns.devices.seen([device.id], 9.0)
    await nouns.devices.seen([device.id], 5.0)
    assert (await nouns.devices.of_user(ann.id))[0].seen_at == 9.0


async def test_a_login_expires_is_extended_and_ends(nouns: Nouns, ann: User, bob: User) -> None:
    device = await nouns.devices.add(ann.id, "laptop", "browser", 1.0)
    login, cookie = await nouns.logins.issue(ann.id, device.id, 10.0, life=100.0)
    assert await nouns.logins.find(cookie, 109.0) == login
    assert await nouns.logins.find(cookie, 110.0) is None
    assert await nouns.logins.extend(bob.id, login.id, 999.0) is None
    longer = await nouns.logins.extend(ann.id, login.id, 200.0)
    assert longer is not None and longer.expires_at == 200.0
    assert (await nouns.logins.extend(ann.id, login.id, 50.0)) == longer
    assert await nouns.logins.find(cookie, 150.0) == longer
    assert await nouns.logins.revoke(bob.id, login.id) is None
    assert await nouns.logins.revoke(ann.id, LoginId(new_id())) is None
    assert await nouns.logins.revoke(ann.id, login.id) == longer
    assert await nouns.logins.find(cookie, 150.0) is None
    assert await nouns.logins.of_user(ann.id) == []


async def test_deleting_a_task_takes_all_that_hangs_on_it(nouns: Nouns, ann: User, task: Task) -> None:
    session = await nouns.sessions.start(ann.id, None, None, 1.0)
    await nouns.sessions.attach(ann.id, session.id, task.id, 2.0)
    _, bearer = await nouns.tokens.issue(ann.id, role=Role.EDITOR, at=1.0, expires_at=99.0, task=task.id)
    _, ticket = await nouns.tickets.issue(ann.id, task.id, 3.0)
    assert await nouns.tasks.delete(ann.id, task.id)
    assert await nouns.tokens.find(bearer, 4.0) is None
    assert await nouns.tickets.redeem(ticket, task.id, 4.0) is None
    left = await nouns.sessions.get(ann.id, session.id)
    assert left is not None and left.task is None
    assert await nouns.sessions.attachments(ann.id, session.id) == []


async def test_no_secret_is_in_the_file(nouns: Nouns, ann: User, task: Task, tmp_path: Path) -> None:
    device = await nouns.devices.add(ann.id, "laptop", "browser", 1.0)
    secrets = [
        (await nouns.tokens.issue(ann.id, role=Role.OWNER, at=1.0, expires_at=9.0))[1],
        (await nouns.logins.issue(ann.id, device.id, 1.0))[1],
        (await nouns.tickets.issue(ann.id, task.id, 1.0))[1],
        await nouns.links.issue(ann.id, 1.0),
    ]
    stored = bytes_in(tmp_path)
    assert b"Acme contract" in stored
    assert not any(secret.encode() in stored for secret in secrets)


async def test_a_deleted_task_leaves_no_byte_behind(nouns: Nouns, ann: User, tmp_path: Path) -> None:
    marked = await nouns.tasks.create(ann.id, "MARKED-TASK-NAME", 1.0)
    await nouns.tasks.delete(ann.id, marked.id)
    assert b"MARKED-TASK-NAME" not in bytes_in(tmp_path)


async def test_what_somebody_reads_while_it_is_deleted_is_erased_afterwards(
    nouns: Nouns, ann: User, tmp_path: Path
) -> None:
    marked = await nouns.tasks.create(ann.id, "MARKED-TASK-NAME", 1.0)
    reader = sqlite3.connect(tmp_path / "clew.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM tasks WHERE id = ?", (marked.id,)).fetchone() == (1,)
    assert await nouns.tasks.delete(ann.id, marked.id), "the deletion waits for nobody"
    assert not await nouns.database.tidy()
    reader.close()
    assert await nouns.database.tidy()
    assert b"MARKED-TASK-NAME" not in bytes_in(tmp_path)


async def test_the_audit_chain_shows_what_was_changed_or_removed(
    nouns: Nouns, ann: User, task: Task, tmp_path: Path
) -> None:
    for number in range(5):
        await nouns.audit.append("device.revoked", number, by=Deed(user=ann.id), task=task.id, subjects=[new_id()])
    assert await nouns.audit.broken_at() is None
    latest = await nouns.audit.latest(2, task.id)
    assert [event.at for event in latest] == [4.0, 3.0]
    assert await nouns.audit.latest(task=TaskId(new_id())) == []
    other = sqlite3.connect(tmp_path / "clew.db")
    other.execute("UPDATE audit SET event = 'device.added' WHERE id = 3")
    other.commit()
    assert await nouns.audit.broken_at() == 3
    other.execute("UPDATE audit SET event = 'device.revoked' WHERE id = 3")
    other.execute("DELETE FROM audit WHERE id = 2")
    other.commit()
    assert await nouns.audit.broken_at() == 2
    other.close()


async def test_a_body_that_raises_or_is_cancelled_leaves_nothing(nouns: Nouns, ann: User) -> None:
    with pytest.raises(RuntimeError):
        async with nouns.database.transaction() as tx:
            await tx.all("DELETE FROM users")
            raise RuntimeError
    with anyio.move_on_after(0.02):
        async with nouns.database.transaction() as tx:
            await tx.all("DELETE FROM users")
            await anyio.sleep_forever()
    assert await nouns.users.all() == [ann]
    await nouns.users.add("after", 9.0)


async def test_readers_do_not_see_what_is_not_committed(nouns: Nouns, ann: User) -> None:
    async with nouns.database.transaction() as tx:
        await tx.all("DELETE FROM users")
        assert await nouns.users.all() == [ann]
    assert await nouns.users.all() == []


async def test_the_schema_is_made_once_and_a_newer_one_is_refused(tmp_path: Path) -> None:
    async with open_nouns(tmp_path) as nouns:
        await nouns.users.add("ann", 1.0)
    async with open_nouns(tmp_path) as nouns:
        assert len(await nouns.users.all()) == 1
    assert stat.S_IMODE((tmp_path / "clew.db").stat().st_mode) == 0o600
    other = sqlite3.connect(tmp_path / "clew.db")
    other.execute("PRAGMA user_version = 9999")
    other.close()
    with pytest.raises(NewerSchema, match="9999"):
        async with open_nouns(tmp_path):
            pass


async def test_a_migration_that_fails_leaves_the_schema_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_nouns(tmp_path) as nouns:
        await nouns.users.add("ann", 1.0)
    known = database.migrations()
    bad = (known[-1][0] + 1, "ALTER TABLE users ADD COLUMN pet TEXT; INSERT INTO nowhere VALUES (1);")
    monkeypatch.setattr(database, "migrations", lambda: [*known, bad])
    with pytest.raises(sqlite3.OperationalError):
        async with open_nouns(tmp_path):
            pass
    good = (bad[0], "ALTER TABLE users ADD COLUMN pet TEXT DEFAULT 'cat; or dog'; -- and; so on\nSELECT 1;")
    monkeypatch.setattr(database, "migrations", lambda: [*known, good])
    async with open_nouns(tmp_path) as nouns:
        assert await nouns.database.all("SELECT name, pet FROM users") == [("ann", "cat; or dog")]


async def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "clew.db").write_bytes(b"not a database" * 100)
    with pytest.raises(Damaged):
        async with Database.open(tmp_path / "clew.db"):
            pass


def test_migrations_are_numbered_one_after_the_other() -> None:
    assert [number for number, _ in database.migrations()] == list(range(1, len(database.migrations()) + 1))


async def test_what_is_read_at_once_is_read_in_one_go_and_each_stands_alone(tmp_path: Path) -> None:
    """Also what waited when the lane was closed is done, and nobody is left to wait."""

    def fail(_: sqlite3.Connection) -> int:
        raise ValueError("not this one")

    async with Lane(tmp_path / "some.db") as lane:
        work = [lane.submit(lambda connection: connection.execute("SELECT 1").fetchone()[0]) for _ in range(100)]
        failed = lane.submit(fail)
        given_up = lane.submit(lambda connection: 0)
        given_up.cancel()
        last = lane.submit(lambda connection: 2)
    assert [one.result() for one in work] == [1] * 100
    assert isinstance(failed.exception(), ValueError)
    assert last.result() == 2
    with pytest.raises(Unavailable):
        lane.submit(lambda connection: 3)


async def test_what_is_written_at_once_is_committed_together_and_each_stands_alone(nouns: Nouns) -> None:
    def add(tx: Statements, name: str) -> str:
        tx.all("INSERT INTO users (id, name, name_key, created_at) VALUES (?1, ?1, ?1, 0)", name)
        if name == "b":
            raise LookupError(name)
        return name

    outcomes: dict[str, object] = {}

    async def one(name: str) -> None:
        try:
            outcomes[name] = await nouns.database.perform(lambda tx: add(tx, name))
        except (LookupError, Conflict) as error:
            outcomes[name] = type(error)

    async with anyio.create_task_group() as group:
        async with nouns.database.transaction() as tx:  # which they wait for, and then go together
            for name in ("a", "b", "c", "d"):
                group.start_soon(one, name)
            await anyio.wait_all_tasks_blocked()
            await tx.all("INSERT INTO users (id, name, name_key, created_at) VALUES ('c', 'c', 'c', 0)")
            assert outcomes == {}
    assert outcomes == {"a": "a", "b": LookupError, "c": Conflict, "d": "d"}
    assert {user.name for user in await nouns.users.all()} == {"a", "c", "d"}


async def test_who_waits_for_a_write_is_told_also_if_who_went_for_all_is_cancelled(nouns: Nouns) -> None:
    told: list[str] = []

    async def add(name: str) -> None:
        told.append((await nouns.users.add(name, 0.0)).name)

    loop = asyncio.get_running_loop()
    async with nouns.database.transaction():
        first, second = loop.create_task(add("first")), loop.create_task(add("second"))
        await anyio.wait_all_tasks_blocked()
    await asyncio.sleep(0)  # the first has its turn now, and both are on their way
    first.cancel()
    await asyncio.wait((first, second))
    assert first.cancelled() and not second.exception() and told == ["second"]
    assert {user.name for user in await nouns.users.all()} >= {"second"}


async def test_who_is_cancelled_while_a_write_is_on_its_way_hears_of_it_first(nouns: Nouns) -> None:
    heard: list[str] = []

    async def add(name: str) -> None:
        heard.append((await nouns.users.add(name, 0.0)).name)
        await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        for name in ("first", "second"):
            group.start_soon(add, name)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        group.cancel_scope.cancel()
    assert sorted(heard) == ["first", "second"] == sorted(user.name for user in await nouns.users.all())
