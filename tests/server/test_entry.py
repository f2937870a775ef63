"""How somebody comes in: what they are shown at once, what waits until their session is stored, and as whom."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskGroup
from kit.clock import FakeClock
from kit.rooms import Peer, enter, rooms_on, settled

from crdt_docs.ids import DeviceId, DocName, SessionId, TaskId, TokenId, UserId
from crdt_docs.messages.ywebsocket import step1_frame, step2_frame, update_frame
from server.domain.access import Principal, Role
from server.domain.errors import NotFound
from server.domain.policy import Place
from server.domain.session import Session
from server.doors.authority import Authority
from server.doors.turnstile import Caps, Turnstile
from server.rooms.lanes import ThreadLane
from server.rooms.looking import Looking
from server.rooms.registry import Rooms
from server.store.log import SqliteLog
from server.store.nouns import Nouns, open_nouns
from server.store.policies import Policies
from server.store.sessions import Sessions
from server.sync.endpoint import Speaker
from server.sync.entry import Entry
from server.sync.presences import Presences
from server.sync.rota import LEAVING


class SlowSessions(Sessions):
    """A store that begins a session when it is told to."""

    def __init__(self, nouns: Nouns) -> None:
        super().__init__(nouns.database)
        self.asked = anyio.Event()
        self.go = anyio.Event()
        self.go.set()

    async def start_on(
        self,
        user: UserId,
        device: DeviceId | None,
        framework: str | None,
        task: TaskId,
        at: float,
        session: SessionId,
    ) -> Session:
        self.asked.set()
        await self.go.wait()
        return await super().start_on(user, device, framework, task, at, session)


class SlowPolicies(Policies):
    """A store that changes something after it has read a place, and before it answers."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def place(self, user: UserId, task: TaskId) -> Place | None:
        found = await super().place(user, task)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return found


@dataclass
class House:
    """An entry over real stores and rooms, and somebody who may come in."""

    nouns: Nouns
    rooms: Rooms
    sessions: SlowSessions
    places: SlowPolicies
    authority: Authority
    entry: Entry
    who: Principal
    name: DocName
    clock: FakeClock

    def speaker(self, peer: Peer) -> Speaker:
        """Who hears the peer, that has come in."""
        return Speaker(self.entry, peer.connection)

    async def settling(self, tasks: TaskGroup) -> tuple[Peer, Speaker]:
        """A peer that has come in, and whose session is stored once ``sessions.go`` is set."""
        self.sessions.asked, self.sessions.go = anyio.Event(), anyio.Event()
        peer = Peer(6)
        peer.connection = await self.entry.come_in(self.name, self.who, peer)
        speaker = self.speaker(peer)
        tasks.start_soon(speaker.settle)
        await self.sessions.asked.wait()
        return peer, speaker

    async def stored(self) -> list[Session]:
        return await self.nouns.sessions.of_user(self.who.user)


@asynccontextmanager
async def house(folder: Path) -> AsyncIterator[House]:
    clock = FakeClock()
    with SqliteLog(folder / "log.db", "process") as log:
        async with open_nouns(folder) as nouns, ThreadLane("look") as read, rooms_on(log) as rooms:
            ann = await nouns.users.add("ann", clock.now())
            task = await nouns.tasks.create(ann.id, "Acme", clock.now())
            sessions, places = SlowSessions(nouns), SlowPolicies(nouns.database)
            authority = Authority(places, clock)
            entry = Entry(
                rooms,
                None,  # type: ignore[arg-type] # nobody is asked who they are here
                authority,
                Presences(sessions, clock),
                Looking(rooms, log, read, nouns.looks, clock),
                Turnstile(Caps(), clock),
            )
            who = Principal(ann.id, ann.name, authenticated_at=1.0)
            yield House(nouns, rooms, sessions, places, authority, entry, who, DocName(task.id), clock)


async def test_who_comes_is_shown_what_is_there_and_writes_once_their_session_is_stored(tmp_path: Path) -> None:
    async with house(tmp_path) as at, anyio.create_task_group() as tasks:
        writer = await enter(at.rooms, at.name, 5, at.who)
        await writer.type("draft")
        await settled(at.rooms)
        peer, speaker = await at.settling(tasks)
        assert speaker.hear(step1_frame(peer.doc.get_state())) is None
        peer.hear()
        assert str(peer.text) == "draft"
        waits = [speaker.hear(step2_frame(peer.doc.get_update()))]
        before = peer.doc.get_state()
        peer.text += "!"
        waits.append(speaker.hear(update_frame(peer.doc.get_update(before))))
        assert all(wait is not None for wait in waits)
        writer.frames.clear()
        at.sessions.go.set()
        for wait in waits:
            assert wait is not None
            await wait
        await settled(at.rooms)
        writer.hear()
        assert str(writer.text) == "draft!"
        [session] = await at.stored()
        assert session.id == peer.connection.principal.session
        assert (session.task, session.ended_at) == (at.name.task, None)
        assert speaker.hear(b"\x03") is None  # nothing waits any more
        await at.entry.leave(peer.connection)
        [session] = await at.stored()
        assert session.ended_at is not None


async def test_who_is_gone_before_their_session_was_stored_leaves_none_behind(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.entry.enter(at.name, at.who, Peer(5))
        async with anyio.create_task_group() as tasks:
            late, speaker = await at.settling(tasks)
            await speaker.leave()
            at.sessions.go.set()
        going_on = [session.id for session in await at.stored() if session.ended_at is None]
        assert len(going_on) == 1 and late.connection.principal.session not in going_on


async def test_of_who_did_not_come_in_nothing_is_kept(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        presences = Presences(at.sessions, at.clock)
        seated = presences.seat(at.who)
        assert presences.unseat(seated) and not presences.unseat(seated)
        fresh = Presences(at.sessions, at.clock)
        assert vars(presences) == vars(fresh)


async def test_who_may_have_no_session_here_is_closed_and_writes_nothing(tmp_path: Path) -> None:
    async with house(tmp_path) as at, anyio.create_task_group() as tasks:
        peer, speaker = await at.settling(tasks)
        speaker.hear(step1_frame(peer.doc.get_state()))
        peer.hear()
        before = peer.doc.get_state()
        peer.text += "unheard"
        wait = speaker.hear(update_frame(peer.doc.get_update(before)))
        await at.nouns.tasks.delete(at.who.user, at.name.task)
        at.sessions.go.set()
        assert wait is not None
        await wait
        assert peer.closed is not None and peer.closed[0] == 4404
        assert (await at.rooms.read(at.name)).update == b"\0\0"


async def test_a_role_that_changes_while_somebody_comes_in_is_the_one_they_have(tmp_path: Path) -> None:
    """However it falls: what was read before the change is never what they go by after it."""
    async with house(tmp_path) as at:
        bob = await at.nouns.users.add("bob", 0.0)
        await at.nouns.tasks.add_member(at.name.task, bob.id, Role.EDITOR, 0.0)
        who = Principal(bob.id, bob.name, authenticated_at=1.0)

        async def demote() -> None:
            await at.nouns.tasks.set_role(at.name.task, bob.id, Role.VIEWER, 0.0)
            at.authority.forget(at.name.task, bob.id)
            await at.rooms.change_role(at.name.task, bob.id, Role.VIEWER, until=77.0)

        at.places.meanwhile = demote
        connection = await at.entry.come_in(at.name, who, Peer(5))
        assert connection.role is Role.VIEWER

        async def remove() -> None:
            await at.nouns.tasks.remove_member(at.name.task, bob.id, 0.0)
            at.authority.forget(at.name.task, bob.id)

        at.authority.forget(at.name.task, bob.id)
        at.places.meanwhile = remove
        with pytest.raises(NotFound):
            await at.entry.come_in(at.name, who, Peer(6))


async def test_who_goes_on_by_a_credential_that_was_revoked_on_its_way_is_out(tmp_path: Path) -> None:
    """Attack 47: a Hocuspocus client may show another bearer of the same person while it is in."""
    async with house(tmp_path) as at:
        peer = Peer(5)
        peer.connection = await at.entry.come_in(at.name, at.who, peer)
        other = replace(at.who, token=TokenId("other"))
        await at.rooms.revoke(lambda who, _: who.token == other.token, 4403, "this token was revoked")
        assert peer.closed is None
        await at.entry.go_on_as(peer.connection, other)
        assert peer.closed == (4403, "this token was revoked")


async def test_of_many_who_are_gone_at_once_few_leave_in_one_turn(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        many = [await at.entry.come_in(at.name, at.who, Peer(client)) for client in range(3 * LEAVING)]
        async with at.rooms.room(at.name) as room, anyio.create_task_group() as tasks:
            for connection in many:
                tasks.start_soon(at.entry.leave, connection)
            here = [len(room.connections)]
            while here[-1]:
                await anyio.lowlevel.checkpoint()
                here.append(len(room.connections))
        assert max(before - after for before, after in pairwise(here)) == LEAVING
