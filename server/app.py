"""The composition root: the parts of a server behind an address, until it is told to end.

Owns which route leads where, and what is said of the server while it runs. Must never decide anything itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, WebSocketRoute

from server.config import Config
from server.control.backing_up import BackingUp
from server.control.erasing import Erasing
from server.control.mending import Mending
from server.control.operator import Operator
from server.control.wire import listen
from server.doors.origin import Hosts, OriginGate
from server.doors.proxy import Forwarded
from server.doors.turnstile import REASONS
from server.http import dbsc, health, problems, web
from server.http.api import api
from server.http.headers import Guarded
from server.http.protocol import HttpProtocol
from server.rooms.limits import Limits
from server.services import LOG, Services, open_services
from server.sync.endpoint import SyncEndpoint
from server.sync.entry import Entry
from server.sync.handshake import Handshakes
from server.sync.hocuspocus import HocuspocusEndpoint
from server.sync.intake import Intake
from server.sync.protocol import SocketProtocol

VERSION: Final = version("clew")
PING_EVERY: Final = 20.0
PONG_WITHIN: Final = 70.0
"""Longer than a slow reader is parked, so that it is told 1013 rather than cut for a pong it had no room to send."""


@dataclass(frozen=True, slots=True)
class Serving:
    """Where it is served; ``url`` is what a browser on this machine opens."""

    url: str
    services: Services


def application(services: Services) -> Starlette:
    """The ASGI application: API, sockets, health, and the page last."""
    tally: Counter[tuple[str, int]] = Counter()
    return Starlette(
        routes=_routes(services, tally),
        exception_handlers={Exception: problems.crashed},
        middleware=[
            Middleware(Forwarded, trust=services.doors.ways.trust),
            Middleware(Guarded),
            Middleware(OriginGate, hosts=Hosts.allowing(services.config.allow_hosts)),
            Middleware(health.Requests, tally=tally),
        ],
    )


def _routes(services: Services, tally: Counter[tuple[str, int]]) -> list[BaseRoute]:
    doors = services.doors
    presences, looking = services.presences, services.parts.looking
    entry = Entry(services.rooms, doors.authentication, doors.authority, presences, looking, services.turnstile)

    async def check() -> None:
        failure = services.rooms.writer.failure
        if failure is not None:
            raise failure

    return [
        WebSocketRoute("/sync/{name:path}", SyncEndpoint(entry).serve),  # first: a thousand come back at once
        WebSocketRoute("/hocuspocus", HocuspocusEndpoint(entry).serve),
        *api(services.nouns, doors, services.parts, services.clock, VERSION),
        *health.routes(check, lambda: _gauges(services), tally, lambda: _notes(services)),
        *dbsc.routes(doors.bound, doors.authentication, doors.revocation),
        *web.routes(),
    ]


def _gauges(services: Services) -> Mapping[str, float]:
    rooms = services.rooms.live()
    writer = services.rooms.writer
    return {
        "clew_rooms": len(rooms),
        "clew_connections": sum(len(room.connections) for room in rooms),
        "clew_connections_parked": sum(c.parked is not None for room in rooms for c in room.connections),
        "clew_connections_open": services.turnstile.connections,
        "clew_connections_possible": services.turnstile.caps.connections,
        **{f"clew_refused_{reason}_total": services.turnstile.refused[reason] for reason in REASONS},
        "clew_commits_total": writer.commits,
        "clew_updates_total": writer.updates,
        "clew_read_only": writer.failure is not None,
        "clew_workers_replaced_total": services.engine.replaced,
        "clew_turns_queued": services.desk.counts["queued"],
        "clew_turns_running": services.desk.counts["running"],
        "clew_agent_hosts": len(services.desk.offers),
        "clew_agent_up": services.agent is not None and services.agent.state == "running",
        "clew_agent_restarts_total": services.agent.restarts if services.agent is not None else 0,
    }


def _notes(services: Services) -> list[str]:
    return [f"agent {services.agent.state}"] if services.agent is not None else []


def status(services: Services) -> Mapping[str, Any]:
    """What ``clew doctor`` wants to know of a server that runs."""
    agent = services.agent
    return {
        "agent": {"state": agent.state, "restarts": agent.restarts, "trouble": agent.trouble} if agent else None,
        "hosts": len(services.desk.offers),
        "turns": dict(services.desk.counts),
    }


class _Server(uvicorn.Server):
    """uvicorn, which says when it listens and when it is about to close."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[int], None], closing: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening
        self._closing = closing

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Listen, then say on which port."""
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            self._listening(self.servers[0].sockets[0].getsockname()[1])

    async def shutdown(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """End what would never end by itself, then the rest."""
        self._closing()
        await super().shutdown(sockets)  # type: ignore[arg-type]


async def serve(config: Config, *, ready: Callable[[Serving], None] | None = None) -> None:
    """Serve a data folder until SIGINT or SIGTERM. ``ready`` is called once it listens."""
    async with open_services(config) as services:
        url = local_url(config, config.port)

        def listening(port: int) -> None:
            nonlocal url
            url = local_url(config, port)
            if services.agent is not None:
                services.agent.start(agent_url(config, port))
            if ready is not None:
                ready(Serving(url, services))

        backing_up = BackingUp(config.data, services.nouns.database, services.clock)

        def closing() -> None:
            services.desk.offers.close()
            backing_up.end()

        async with listen(config.data, operator(services, lambda: url, backing_up).answer):
            await _Server(_uvicorn_config(config, services), listening, closing).serve()


def local_url(config: Config, port: int) -> str:
    """What a browser on this machine opens."""
    return f"{'https' if config.tls_cert else 'http'}://localhost:{port}"


def agent_url(config: Config, port: int) -> str:
    """How the built-in agent reaches this server: by loopback if it listens there, under TLS by a name it goes by."""
    if config.tls_cert is not None:
        name = next(iter(config.allow_hosts), "localhost").partition(":")[0]
        return f"https://{name}:{port}"
    host = "127.0.0.1" if config.host in ("0.0.0.0", "::") else config.host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def operator(services: Services, url: Callable[[], str], backing_up: BackingUp | None = None) -> Operator:
    """What answers the commands of whoever holds the data folder."""
    mending = Mending(services.config.data / LOG, services.log, services.rooms, services.engine.read_all)
    return Operator(
        services.nouns,
        services.clock,
        url,
        services.parts.reader,
        services.parts.resumptions,
        services.doors.revocation,
        mending.mend,
        lambda: status(services),
        backing_up.make if backing_up is not None else None,
        Erasing(services.nouns.users, services.parts.erasure).commands,
    )


def _uvicorn_config(config: Config, services: Services) -> uvicorn.Config:
    intake = Intake()
    handshakes = Handshakes(services.turnstile, intake)
    counted = {"turnstile": services.turnstile, "intake": intake}
    return uvicorn.Config(
        application(services),
        host=config.host,
        port=config.port,
        http=type("HttpProtocol", (HttpProtocol,), {**counted, "shake": handshakes.shake}),
        ws=type("SocketProtocol", (SocketProtocol,), counted),
        ws_max_size=Limits().frame + 64,
        ws_ping_interval=PING_EVERY,
        ws_ping_timeout=PONG_WITHIN,
        ws_per_message_deflate=False,
        lifespan="off",
        access_log=False,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        backlog=4096,
        timeout_graceful_shutdown=5,
        ssl_certfile=str(config.tls_cert) if config.tls_cert else None,
        ssl_keyfile=str(config.tls_key) if config.tls_key else None,
    )
