"""All parts of a server over one data folder: builds each part once, in order, and takes them down in reverse.

Owns what is given to whom. Must never decide anything itself, nor listen to a network.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from crdt_docs.ids import Part, TaskId, UserId
from crdt_docs.rope import Rope
from crdt_docs.updates.parse import Parsed
from server.config import Config, is_local
from server.domain.access import Role
from server.domain.agent import BUILT_IN, Agent
from server.domain.clock import Clock, SystemClock
from server.domain.errors import ClewError
from server.domain.log import Snapshot
from server.doors.authentication import Keyring
from server.doors.authority import Authority
from server.doors.bound import Bound
from server.doors.built_in import BuiltIn
from server.doors.cookie import Cookies
from server.doors.device_check import DeviceCheck
from server.doors.erasure import Erasure, Present, Stores
from server.doors.handoffs import Handing, Handover
from server.doors.links import OneTimeLinks, Threshold
from server.doors.notices import Notices
from server.doors.proofs import Proofs
from server.doors.provider import Organisation, Provider, check_issuer
from server.doors.proxy import Trust, admit_by
from server.doors.revocation import Live, Matches, Revocable, Revocation
from server.doors.turnstile import Turnstile, caps
from server.doors.ways import open_ways, reach, read_secret
from server.engine.pool import Engine
from server.http.api import Doors, Parts
from server.http.forgetting import forgetting
from server.http.reader import Reader
from server.http.resumptions import Resumptions, Sources
from server.rooms import lanes
from server.rooms.authors import Authors
from server.rooms.compacting import Compacted
from server.rooms.lanes import ThreadLane
from server.rooms.limits import Limits
from server.rooms.looking import Looking
from server.rooms.registry import Rooms
from server.rooms.shapes import FINISH, SHAPES
from server.rooms.touches import Touches
from server.store import outage
from server.store.folder import hold
from server.store.keys import Keys
from server.store.log import SqliteLog
from server.store.nouns import Nouns, open_nouns
from server.store.unsigning import Signatures
from server.sync.presences import Presences
from server.turns.built_in import BuiltInAgent
from server.turns.desk import Desk
from server.turns.offers import Offers
from server.turns.recovery import recover

LOG: Final = "log.db"
TOUCH_EVERY: Final = 1.0
BEAT_EVERY: Final = 60.0
PRUNE_EVERY: Final = 86400.0


@dataclass(frozen=True, slots=True)
class Services:
    """All parts of a server over one data folder, without its network."""

    config: Config
    clock: Clock
    log: SqliteLog
    nouns: Nouns
    engine: Engine
    rooms: Rooms
    doors: Doors
    presences: Presences
    parts: Parts
    desk: Desk
    agent: BuiltInAgent | None
    turnstile: Turnstile


class EngineOffload:
    """The rooms' long work, done by the engine's pure-Python workers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def parse(self, update: bytes) -> Parsed:
        """Parse a long frame in a worker."""
        return await self._engine.parse(update)

    async def compact(self, part: Part, update: Rope) -> Compacted:
        """Trim and verify a document in a worker."""
        made = await self._engine.compact(update, [], finish=FINISH[part])
        return Compacted(made.pieces, made.splice_index, made.state)

    async def fold(self, part: Part, snapshot: Snapshot | None, tail: Sequence[bytes]) -> Compacted:
        """Splice a tail onto a snapshot in a worker."""
        whole = Rope(snapshot.parts if snapshot is not None else ())
        index = snapshot.index if snapshot is not None else b""
        made = await self._engine.compact(whole, tail, index, FINISH[part], trim=False)
        return Compacted(made.pieces, made.splice_index, made.state)


class Everywhere:
    """All places where somebody may be connected, as one to whoever takes access back."""

    def __init__(self, *places: Live) -> None:
        self._places = places

    async def revoke(self, matches: Matches, code: int, why: str) -> None:
        """End every connection that matches, and hold the revocation against what is on its way in."""
        for place in self._places:
            await place.revoke(matches, code, why)

    async def change_role(self, task: TaskId, user: UserId, role: Role, until: float | None) -> None:
        """Apply a member's new role, and its end (Unix seconds), to their live connections."""
        for place in self._places:
            await place.change_role(task, user, role, until)

    async def delete(self, task: TaskId) -> None:
        """Remove the task's documents from the log for good."""
        for place in self._places:
            await place.delete(task)


@asynccontextmanager
async def open_services(config: Config, clock: Clock | None = None) -> AsyncIterator[Services]:
    """Hold the data folder and build everything over it. Raises FolderHeld if another server does."""
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        stack.enter_context(hold(config.data))
        stack.enter_context(Keys(config.data))  # made before the log is, which seals by them
        await outage.recover(config.data, clock.now())
        stack.enter_context(outage.unsynced(config.data, config.durability))
        log = stack.enter_context(SqliteLog(config.data / LOG, config.durability))
        nouns = await stack.enter_async_context(open_nouns(config.data))
        engine = await stack.enter_async_context(Engine())
        write = await stack.enter_async_context(ThreadLane("clew-commit"))
        read = await stack.enter_async_context(ThreadLane("clew-read"))
        touches = Touches(nouns.tasks, clock)
        rooms = Rooms(log, EngineOffload(engine), clock, SHAPES, write=write, read=read, limits=Limits())
        rooms.tell(touches)
        presences = Presences(nouns.sessions, clock)
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        beats = [
            tasks.create_task(_every(TOUCH_EVERY, touches.flush), name="touch tasks"),
            tasks.create_task(_every(BEAT_EVERY, presences.beat), name="keep sessions"),
            tasks.create_task(_every(BEAT_EVERY, nouns.database.tidy), name="erase from the database"),
            tasks.create_task(_every(BEAT_EVERY, lambda: lanes.run(write, log.tidy)), name="erase from the log"),
            tasks.create_task(_every(PRUNE_EVERY, lambda: nouns.audit.tidy(clock.now())), name="let old events go"),
        ]
        stack.callback(lambda: [beat.cancel() for beat in beats])
        await stack.enter_async_context(rooms)
        stack.push_async_callback(touches.flush)
        reader = await stack.enter_async_context(Reader(rooms, engine))
        looking = Looking(rooms, log, read, nouns.looks, clock)
        authors = Authors(rooms, log, read)
        resumptions = Resumptions(Sources(reader, looking, authors, nouns.names, nouns.turns), clock)
        built_in, offers = BuiltIn(), Offers(clock)
        provider = await stack.enter_async_context(reach(_organisation(config), clock))
        cookies, live = Cookies(config.tls_cert is not None), Everywhere(rooms, offers)
        doors = doors_of(nouns, cookies, _trust(config), provider, live, Notices(rooms), built_in, clock)
        signatures = Signatures(log, config.data / LOG, nouns.keys)
        stores = Stores(nouns.database, nouns.audit, nouns.keys, log, signatures, write)
        here = Present(rooms, authors, doors.authority, live, forgetting(reader, resumptions))
        erasure = Erasure(stores, here, clock)
        await erasure.finish_deletions()
        await erasure.replay()
        await nouns.audit.tidy(clock.now())
        await recover(nouns.turns, log, read, clock)
        desk = await stack.enter_async_context(Desk(nouns.turns, offers, rooms, doors.revocation, clock))
        rooms.tell(desk.hear)
        bounds = caps(config.address_connections, config.user_connections, is_local(config.host))
        agent = await stack.enter_async_context(_built_in(nouns, built_in, desk, clock)) if config.agent else None
        yield Services(
            config,
            clock,
            log,
            nouns,
            engine,
            rooms,
            doors,
            presences,
            Parts(rooms, reader, resumptions, looking, desk, authors, erasure),
            desk,
            agent,
            Turnstile(bounds, clock),
        )


async def _every(seconds: float, do: Callable[[], object]) -> None:
    """Do it over and over; a store that is out of order for a while is no reason to stop."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await do()  # type: ignore[misc]
        except ClewError:
            continue


def doors_of(
    nouns: Nouns,
    cookies: Cookies,
    trust: Trust,
    provider: Provider | None,
    live: Live,
    notices: Notices,
    built_in: BuiltIn,
    clock: Clock,
) -> Doors:
    """All that somebody comes in by, is judged by and is turned out by."""
    authority = Authority(nouns.policies, clock)
    keyring = Keyring(nouns.users, nouns.logins, nouns.tokens, nouns.tickets, nouns.device_keys)
    proofs, bound = Proofs(clock), Bound(nouns.bound_sessions, nouns.audit, clock)
    check = DeviceCheck(proofs, bound, nouns.audit, clock)
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
    revocation = Revocation(revocable, authority, live, clock)
    threshold = Threshold(
        nouns.users, nouns.devices, nouns.links, nouns.logins, nouns.audit, nouns.device_keys, notices
    )
    handing = Handing(nouns.handoffs, nouns.sessions, threshold)
    return Doors(
        admit_by(trust, nouns.identities, keyring, cookies, clock, check, built_in),
        authority,
        revocation,
        OneTimeLinks(threshold, clock),
        cookies,
        proofs,
        bound,
        Handover(handing, authority, revocation, notices, clock),
        open_ways(nouns, threshold, authority, revocation, clock, trust, provider),
    )


def _organisation(config: Config) -> Organisation | None:
    if config.oidc_issuer is None:
        return None
    secret = read_secret(config.oidc_client_secret, config.oidc_secret_file)
    issuer = check_issuer(config.oidc_issuer)
    return Organisation(issuer, config.oidc_client_id or "", secret, config.oidc_admit, config.oidc_name or "")


def _trust(config: Config) -> Trust:
    alone = not is_local(config.host) and config.tls_cert is None and not config.insecure_lan
    return Trust.of(config.trusted_proxies, config.user_header, alone=alone)


def _built_in(nouns: Nouns, door: BuiltIn, desk: Desk, clock: Clock) -> BuiltInAgent:
    async def register() -> Agent:
        return await nouns.agents.ensure(None, BUILT_IN, clock.now())

    return BuiltInAgent(register, door, desk.abandon, clock)
