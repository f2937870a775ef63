"""The HTTP side of the server over real stores, rooms and engine, asked in the process.

Owns a composition small enough for tests of the API. Must use the real parts; only time is ours.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

import anyio
import uvicorn
from anyio.abc import TaskGroup, TaskStatus
from kit.clock import FakeClock
from starlette.applications import Starlette
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.types import ASGIApp, Message

from crdt_docs.ids import Part, TaskId, UserId
from crdt_docs.rope import Rope
from crdt_docs.schema import MARKS, NODES, PART_ROOTS
from crdt_docs.updates.parse import Id, Parsed, parse
from crdt_docs.updates.splice import Spliced, merge
from crdt_docs.updates.trim import trim
from server.domain.access import Role
from server.domain.errors import Unavailable
from server.domain.likeness import Profile
from server.domain.log import Snapshot
from server.doors.built_in import BuiltIn
from server.doors.cookie import Cookies
from server.doors.erasure import Erasure, Present, Stores
from server.doors.notices import Notices
from server.doors.origin import Hosts, OriginGate
from server.doors.provider import Organisation, Provider
from server.doors.proxy import Forwarded, Trust
from server.doors.turnstile import Caps, Turnstile
from server.doors.ways import reach
from server.engine.pool import Changed, Engine
from server.http import dbsc, health, web
from server.http.api import Doors, Parts, table
from server.http.endpoint import PREFIX, Row, mount
from server.http.forgetting import forgetting
from server.http.headers import Guarded
from server.http.problems import crashed
from server.http.protocol import HttpProtocol
from server.http.reader import Reader
from server.http.resumptions import Resumptions, Sources
from server.http.sightings import Sightings
from server.rooms.authors import Authors
from server.rooms.compacting import Compacted
from server.rooms.gate import Gate
from server.rooms.lanes import ThreadLane
from server.rooms.looking import Looking
from server.rooms.registry import Rooms
from server.rooms.verdict import Shape
from server.services import Everywhere, doors_of
from server.store.log import SqliteLog
from server.store.nouns import Nouns, open_nouns
from server.store.unsigning import Signatures
from server.sync.endpoint import SyncEndpoint
from server.sync.entry import Entry
from server.sync.handshake import Handshakes
from server.sync.hocuspocus import HocuspocusEndpoint
from server.sync.presences import Presences
from server.sync.protocol import SocketProtocol
from server.turns.desk import Desk
from server.turns.offers import Offers

HOST = "localhost:8484"
ORIGIN = f"http://{HOST}"
SHAPES: dict[Part, Shape] = {
    part: Shape(roots, frozenset(NODES), frozenset(MARKS)) for part, roots in PART_ROOTS.items()
}


class Inline:
    """The rooms' worker jobs, done here: what they do elsewhere is not what these tests are about."""

    async def parse(self, update: bytes) -> Parsed:
        return parse(update)

    async def compact(self, part: Part, update: Rope) -> Compacted:
        document = Spliced.load(trim(bytes(update)))
        gate = Gate(SHAPES[part])
        gate.restore(parse(document.full()))
        return Compacted([document.full()], document.dump_index(), gate.dump())

    async def fold(self, part: Part, snapshot: Snapshot | None, tail: Sequence[bytes]) -> Compacted:
        return await self.compact(part, Rope([merge([*(snapshot.parts if snapshot else ()), *tail])]))


class LateEngine:
    """The real engine, started by whoever first asks it: most of these tests never do."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._lock = anyio.Lock()
        self._over = anyio.Event()
        self.engine: Engine | None = None

    def stop(self) -> None:
        """Let it end by itself: who is cancelled over and over can't wait for the processes it has just started."""
        self._over.set()

    async def project(self, update: bytes | Rope, document: Hashable = None, seq: int = 0) -> dict[str, Any]:
        return await (await self._started()).project(update, document, seq)

    async def export(self, update: bytes | Rope, kind: Literal["md", "docx"], title: str) -> bytes:
        return await (await self._started()).export(update, kind, title)

    async def changes(self, update: bytes | Rope, since: bytes, cuts: Sequence[Id]) -> Changed:
        return await (await self._started()).changes(update, since, cuts)

    async def judge(self, summary: str, ledger: Sequence[Mapping[str, Any]], source: str) -> bool:
        return await (await self._started()).judge(summary, ledger, source)

    async def profile(self, update: bytes | Rope) -> Profile:
        return await (await self._started()).profile(update)

    def forget(self, document: Hashable) -> None:
        if self.engine is not None:
            self.engine.forget(document)

    async def _started(self) -> Engine:
        async with self._lock:
            if self.engine is None:
                self.engine = await self._tasks.start(self._run)
            return self.engine

    async def _run(self, *, task_status: TaskStatus[Engine] = anyio.TASK_STATUS_IGNORED) -> None:
        async with Engine(workers={"read": 1, "parse": 0, "compact": 0}) as engine:
            task_status.started(engine)
            await self._over.wait()


@dataclass
class Answered:
    """A response. ``json`` reads its body; of several cookies ``headers`` has the last, ``cookies`` has all."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cookies: list[str] = field(default_factory=list)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        assert self.headers["content-type"] == "application/problem+json", self.body
        code: str = self.json["code"]
        return code


@dataclass
class Browser:
    """Someone who asks: a signed-in page, a script with a bearer, or nobody."""

    app: ASGIApp
    headers: dict[str, str] = field(default_factory=dict)
    user: UserId = UserId("")
    device: str = ""
    address: str = "127.0.0.1"
    scheme: str = "http"

    async def ask(self, method: str, path: str, body: object = None, **extra: str | None) -> Answered:
        """One request below the API's prefix, or at the root if the path begins with ``//``.

        ``body`` is sent as JSON, bytes as they are; ``extra`` are headers, None takes one away.
        """
        whole = path[1:] if path.startswith("//") else PREFIX + path
        given = {"host": HOST, **self.headers}
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        if content:
            given["content-type"] = "application/json"
        for name, value in extra.items():
            given.pop(key := name.replace("_", "-"), None)
            if value is not None:
                given[key] = value
        return await call(self.app, method, whole, given, content, self.address, self.scheme)

    async def get(self, path: str, **extra: str | None) -> Answered:
        return await self.ask("GET", path, **extra)

    async def post(self, path: str, body: object = None, **extra: str | None) -> Answered:
        return await self.ask("POST", path, body, **extra)

    async def patch(self, path: str, body: object = None, **extra: str | None) -> Answered:
        return await self.ask("PATCH", path, body, **extra)

    async def delete(self, path: str, **extra: str | None) -> Answered:
        return await self.ask("DELETE", path, **extra)

    async def new_task(self, name: str = "Acme contract revision") -> TaskId:
        made = await self.post("/tasks", {"name": name})
        assert made.status == 201, made.body
        return TaskId(made.json["id"])


async def call(
    app: ASGIApp,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes,
    address: str = "127.0.0.1",
    scheme: str = "http",
) -> Answered:
    """One request, straight into the application."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http", "http_version": "1.1", "asgi": {"version": "3.0"}, "scheme": scheme, "method": method,
        "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
        "client": (address, 50000), "server": ("127.0.0.1", 8484),
    }  # fmt: skip
    sent: list[Message] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if waiting:
            return waiting.pop()
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    pairs = [(name.decode().lower(), value.decode("latin-1")) for name, value in sent[0]["headers"]]
    content = b"".join(message.get("body", b"") for message in sent[1:])
    cookies = [value for name, value in pairs if name == "set-cookie"]
    return Answered(sent[0]["status"], dict(pairs), content, cookies)


@dataclass
class AppUnderTest:
    """All parts, and ways to be somebody."""

    app: ASGIApp
    rows: list[Row]
    nouns: Nouns
    rooms: Rooms
    doors: Doors
    clock: FakeClock
    tally: Counter[tuple[str, int]]
    trouble: list[str]
    projections: LateEngine
    desk: Desk
    built_in: BuiltIn

    @property
    def nobody(self) -> Browser:
        return Browser(self.app)

    async def sign_in(self, name: str = "owner", device: str = "laptop") -> Browser:
        """A page of ours in a browser that redeemed a link for that user."""
        key = await self.doors.links.issue_by_name(name)
        browser = Browser(self.app, {"origin": ORIGIN})
        answer = await browser.post("/signin", {"key": key, "device": device})
        assert answer.status == 201, answer.body
        browser.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
        browser.user = UserId(answer.json["user"]["id"])
        browser.device = answer.json["device"]["id"]
        return browser

    async def with_bearer(
        self, who: Browser, role: Role = Role.OWNER, task: TaskId | None = None, life: float = 3600.0
    ) -> tuple[Browser, str]:
        """A script of that user's, and its token's id."""
        now = self.clock.now()
        token, secret = await self.nouns.tokens.issue(who.user, role=role, at=now, expires_at=now + life, task=task)
        return self.holding(secret, who.user), token.id

    def holding(self, secret: str, user: UserId | None = None) -> Browser:
        """Whoever has that bearer."""
        return Browser(self.app, {"authorization": f"Bearer {secret}"}, user or UserId(""))


@dataclass(frozen=True)
class Outside:
    """What stands around the server: whose word of a request is taken, its names, an organisation's provider."""

    trust: Trust
    hosts: Hosts
    provider: Provider | None


def wrap(routes: list[BaseRoute], tally: Counter[tuple[str, int]], hosts: Hosts, trust: Trust) -> ASGIApp:
    """The middlewares in their order: counted, forwarded, guarded, judged."""
    judged = OriginGate(Starlette(routes=routes, exception_handlers={Exception: crashed}), hosts)
    return health.Requests(Forwarded(Guarded(judged), trust), tally)


@asynccontextmanager
async def app_under_test(
    folder: Path,
    static: Path | None = None,
    *,
    organisation: Organisation | None = None,
    trust: Trust | None = None,
    hosts: Hosts | None = None,
) -> AsyncIterator[AppUnderTest]:
    """Everything over a fresh folder."""
    clock = FakeClock()
    async with (
        open_nouns(folder) as nouns,
        ThreadLane("write") as write,
        ThreadLane("read") as read,
        reach(organisation, clock) as provider,
        anyio.create_task_group() as tasks,
    ):
        outside = Outside(trust or Trust(), hosts or Hosts(), provider)
        with SqliteLog(folder / "log.db", "process") as log:
            async with Rooms(log, Inline(), clock, SHAPES, write=write, read=read) as rooms:
                engine = LateEngine(tasks)
                looking = Looking(rooms, log, read, nouns.looks, clock)
                authors = Authors(rooms, log, read)
                async with (
                    Reader(rooms, engine) as reader,
                    composed(
                        nouns,
                        rooms,
                        engine,
                        Sources(reader, looking, authors, nouns.names, nouns.turns),
                        clock,
                        static,
                        outside,
                    ) as app,
                ):
                    yield app
                engine.stop()


@asynccontextmanager
async def composed(
    nouns: Nouns,
    rooms: Rooms,
    engine: LateEngine,
    sources: Sources,
    clock: FakeClock,
    static: Path | None,
    outside: Outside,
) -> AsyncIterator[AppUnderTest]:
    """Put the parts together."""
    trust, hosts = outside.trust, outside.hosts
    built_in, offers = BuiltIn(), Offers(clock)
    live = Everywhere(rooms, offers)
    doors = doors_of(nouns, Cookies(secure=False), trust, outside.provider, live, Notices(rooms), built_in, clock)
    authentication, authority = doors.authentication, doors.authority
    desk = Desk(nouns.turns, offers, rooms, doors.revocation, clock)
    rooms.tell(desk.hear)
    resumptions, authors = Resumptions(sources, clock), sources.authors
    assert isinstance(authors.log, SqliteLog)
    signatures = Signatures(authors.log, nouns.keys.path.parent / "log.db", nouns.keys)
    stores = Stores(nouns.database, nouns.audit, nouns.keys, authors.log, signatures, authors.read)
    here = Present(rooms, authors, authority, live, forgetting(sources.reader, resumptions))
    erasure = Erasure(stores, here, clock)
    parts = Parts(rooms, sources.reader, resumptions, sources.looking, desk, authors, erasure)
    rows = table(nouns, doors, parts, clock, "0.1.0")
    tally: Counter[tuple[str, int]] = Counter()
    trouble: list[str] = []

    async def check() -> None:
        if trouble:
            raise Unavailable(trouble[0])

    turnstile = Turnstile(Caps(), clock)
    presences = Presences(nouns.sessions, clock)
    entry = Entry(rooms, authentication, authority, presences, sources.looking, turnstile)
    routes = [
        *health.routes(check, lambda: {"clew_rooms_open": len(rooms.live())}, tally),
        *mount(rows, Sightings(authentication, nouns.devices, clock)),
        WebSocketRoute("/sync/{name:path}", SyncEndpoint(entry).serve),
        WebSocketRoute("/hocuspocus", HocuspocusEndpoint(entry).serve),
        *dbsc.routes(doors.bound, authentication, doors.revocation),
        *(web.routes(static) if static else web.routes()),
    ]
    async with desk:
        yield AppUnderTest(
            wrap(routes, tally, hosts, trust), rows, nouns, rooms, doors, clock, tally, trouble, engine, desk, built_in
        )


@asynccontextmanager
async def on_the_wire(app: ASGIApp, *, short: bool = True) -> AsyncIterator[int]:
    """The application over loopback, with the protocols that the server uses; the port.

    ``short`` is how the server shakes hands; without it uvicorn does, as with an application that takes nothing over.
    """
    shake = Handshakes(Turnstile(Caps(), FakeClock()), None).shake if short else None
    http = type("Http", (HttpProtocol,), {"shake": shake})
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, http=http, ws=SocketProtocol, lifespan="off", log_level="warning",
        access_log=False, timeout_graceful_shutdown=1, ws_per_message_deflate=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve)
        with anyio.fail_after(20):
            while not server.started:  # noqa: ASYNC110 - uvicorn offers nothing to wait for
                await anyio.sleep(0.01)
        try:
            yield server.servers[0].sockets[0].getsockname()[1]
        finally:
            server.should_exit = True
