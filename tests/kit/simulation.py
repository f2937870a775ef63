"""One seeded schedule: some people, a network, a server that may crash, and the invariants at the end.

``play(seed)`` returns what it saw, or raises Broken. The same seed plays the same schedule.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from traceback import format_exception
from typing import Any
from unittest import mock

from kit.ledger import Broken, Ledger, deleted_clocks
from kit.network import Wire
from kit.plans import NAME, plan
from kit.replay import compare, rebuild
from kit.simulated_client import Browser, StockClient, view
from kit.simulated_server import SimulatedServer
from kit.troubles import change_role, trouble
from kit.virtual_time import VirtualLoop, virtual_loop

from crdt_docs.ids import ClientId, UserId
from crdt_docs.messages.ywebsocket import ServerMessage
from crdt_docs.updates.parse import parse
from server.domain.access import Principal, Role
from server.domain.errors import CLOSE
from server.rooms.connection import Connection
from server.store.memory_log import MemoryLog

ROOTS = {"t": "text", "m": "map", "a": "array", "x": "xml"}
PATIENCE = 240.0
"""Virtual seconds in which everybody must have come to the same document."""


@dataclass(slots=True)
class Outcome:
    """What a schedule came to: the log's updates, and its snapshot and tail; what happened, by name."""

    seed: int
    journal: list[bytes]
    stored: list[bytes]
    view: dict[str, Any]
    happened: dict[str, int] = field(default_factory=dict)


class World:
    """Everything of one schedule."""

    def __init__(self, loop: VirtualLoop, seed: int) -> None:
        self.loop = loop
        self.seed = seed
        self.draw = random.Random(seed)
        self.plan = plan(self.draw)
        self.log = MemoryLog()
        self.ledger = Ledger(self.log, loop.time)
        self.doc = self.log.open(NAME).doc
        self.roles: dict[str, Role] = {}
        self.revoked: dict[str, float] = {}
        self.failures: list[BaseException] = []
        self.happened: dict[str, int] = {}
        self.wires = 0
        self.seconds = 0
        self.forgers: set[StockClient] = set()
        self.who: dict[Wire, StockClient] = {}
        self.servers = [
            SimulatedServer(
                loop,
                f"{seed}/server/{n}",
                self.ledger,
                self.plan.limits,
                self.roles,
                shared=self.plan.servers > 1,
            )
            for n in range(self.plan.servers)
        ]
        self.clients: list[StockClient] = []
        self._populate()

    def _populate(self) -> None:
        people = [Principal(UserId(f"u{n}"), f"Person {n}") for n in range(self.plan.writers)]
        for person in people:
            self.roles[person.user] = Role.EDITOR
        browser = Browser(self.loop, random.Random(f"{self.seed}/browser")) if self.plan.tabs else None
        for n, person in enumerate(people):
            inside = n == 0 or (self.plan.mixed_browser and n == 1)
            self._add(person, browser if inside else None)
        for _ in range(self.plan.tabs):
            self._add(people[0], browser)
        viewer = Principal(UserId("viewer"), "Viewer")
        self.roles[viewer.user] = Role.VIEWER
        self._add(viewer, None)

    def _add(self, principal: Principal, browser: Browser | None) -> None:
        number = len(self.clients)
        relays = self.plan.relays
        self.clients.append(
            StockClient(self.loop, str(self.seed), number, principal, self._dial, browser, relays=relays)
        )

    def _dial(self, client: StockClient) -> Wire:
        self.wires += 1
        draw = random.Random(f"{self.seed}/wire/{self.wires}")
        wire = Wire(self.loop, self.wires, draw, self.plan.weather, client, self._check)
        self.who[wire] = client
        draw.choice(self.servers).attach(wire, NAME, client.principal)
        return wire

    def _check(self, wire: Wire, message: ServerMessage) -> None:
        self.ledger.check_sent(self.doc, message)
        user = self.who[wire].principal.user
        if user in self.revoked:
            self.ledger.broken.append(Broken(f"I5: {user} was revoked and is sent {message}"))

    # -- what may happen

    async def run(self) -> Outcome:
        """Play it all."""
        for server in self.servers:
            await server.start()
        for client in self.clients:
            self.loop.call_later(self.draw.uniform(0, 0.2), client.connect)
            client.connect_browser()
        for _ in range(self.plan.steps):
            await asyncio.sleep(self.draw.expovariate(1 / self.plan.pace))
            await self._step()
            self.raise_failures()
        await self._heal()
        await self._settle()
        await self._confirm()
        for server in self.servers:
            await server.stop()
        self.raise_failures()
        return self._judge()

    async def _step(self) -> None:
        roll = self.draw.random()
        client = self.draw.choice(self.clients)
        if roll < 0.62:
            if client.ended is None and self.may_write(client):
                client.edit()
        elif roll < 0.66:
            self.note("presence")
            client.show()
        elif roll < 0.72:
            client.barrier()
        elif roll < 0.80:
            self._unplug(client)
        elif roll < 0.84:
            if client.ended is None and self.may_write(client):
                self.note("reload")
                client.reload(stored=self.draw.random() < 0.6)
        elif roll < 0.86:
            client.resync()
        else:
            await trouble(self, client)

    def may_write(self, client: StockClient) -> bool:
        """Whether somebody is at the keyboard who is allowed to."""
        return self.roles.get(client.principal.user) is Role.EDITOR

    def _unplug(self, client: StockClient) -> None:
        if client.wire is None:
            client.should_connect = True
            client.connect()
        elif self.draw.random() < 0.3:
            self.note("goodbye")
            client.disconnect()
        else:
            self.note("cut")
            client.wire.cut()

    # -- how it ends

    async def _heal(self) -> None:
        """Everybody who may comes back, and nothing fails any more."""
        self.log._faults.clear()
        for client in self.clients:
            user = client.principal.user
            if self.roles.get(user) is Role.VIEWER and user != "viewer":
                await change_role(self, client.principal)
                if client.wire is not None:
                    client.wire.cut()
            client.should_connect = True
            client.connect()
        await asyncio.sleep(0)

    def staying(self) -> list[StockClient]:
        """The clients that were not revoked."""
        return [client for client in self.clients if client.principal.user not in self.revoked]

    async def _settle(self) -> None:
        until = self.loop.time() + PATIENCE
        while not self._agree():
            if self.loop.time() > until:
                raise Broken(self._disagreement())
            await self._pass()

    async def _pass(self) -> None:
        """A second passes; every fifteenth, clients renew their presence."""
        await asyncio.sleep(1)
        self.raise_failures()
        for client in self.staying():
            if client.ended == CLOSE["conflict"] and client in self.forgers:
                self.forgers.discard(client)
                client.ended = None
                client.connect()
            elif client.ended is not None:
                raise Broken(f"client {client.number} was refused for good: {client.ended} {client.refusals}")
        self.seconds += 1
        if not self.seconds % 15:
            for client in self.clients:
                client.renew()

    def _agree(self) -> bool:
        committed = self.ledger.document(self.doc).vector
        for client in self.staying():
            if not client.synced or client.vector() != committed or client.pending:
                return False
        views = [client.view() for client in self.staying()]
        return all(one == views[0] for one in views)

    def _disagreement(self) -> str:
        committed = self.ledger.document(self.doc).vector
        lines = [f"no agreement; the log has {committed}"]
        for client in self.staying():
            lines.append(
                f"client {client.number} ({client.principal.user}, id {client.client}): synced {client.synced}, "
                f"pending {len(client.pending)}, {client.vector()} {client.view()}"
            )
        return "\n".join(lines)

    async def _confirm(self) -> None:
        """A barrier from everybody is answered, and presence has come to rest."""
        for client in self.staying():
            client.barrier()
            client.show()
        until = self.loop.time() + 40
        while any(client.open_barriers for client in self.staying()) or not self._all_seen():
            await self._pass()
            if self.loop.time() > until:
                open_ = {client.number: client.open_barriers for client in self.staying() if client.open_barriers}
                seen = {client.client: sorted(client.awareness.states) for client in self.staying()}
                raise Broken(f"barriers still open: {open_}; seen: {seen}")

    def _all_seen(self) -> bool:
        if len(self.servers) > 1:
            return True  # presence does not cross processes
        everybody = {client.client for client in self.staying()}
        tabs = self.plan.tabs > 0  # what tabs tell each other of those who left fades by a timeout that is not modelled
        seen = [set(client.awareness.states) for client in self.staying()]
        return all(everybody <= one if tabs else everybody == one for one in seen)

    def _judge(self) -> Outcome:
        document = self.ledger.document(self.doc)
        self._judge_revocations()
        opened = self.log.open(NAME)
        stored = [opened.snapshot.whole().update] if opened.snapshot else []
        stored += [logged.update for logged in opened.tail]
        if opened.head != len(document.updates):
            raise Broken(f"I2: head {opened.head} of {len(document.updates)} updates")
        seqs = [logged.seq for logged in opened.tail]
        first = opened.snapshot.seq if opened.snapshot else 0
        if seqs != list(range(first + 1, opened.head + 1)):
            raise Broken(f"I2: after {first} come {seqs}")
        replayed, restored = rebuild(document.updates), rebuild(stored)
        compare("I3: snapshot and tail against the log", replayed, restored)
        for client in self.staying()[: None if self.seed % 5 == 0 else 1]:
            compare(f"client {client.number} against the log", replayed, client.doc)
        gone = deleted_clocks(replayed.get_update())
        for client in self.staying():
            self._judge_receipts(client, gone)
        return Outcome(self.seed, document.updates, stored, view(replayed), self.happened)

    def _judge_revocations(self) -> None:
        keys = {f"user:{user}": at for user, at in self.revoked.items()}
        for entry in self.ledger.entries:
            if entry.at > keys.get(entry.principal, float("inf")):
                raise Broken(f"I5: {entry.principal} was revoked at {keys[entry.principal]}: {entry}")

    def _judge_receipts(self, client: StockClient, gone: dict[int, list[tuple[int, int]]]) -> None:
        document = self.ledger.document(self.doc)
        for update in client.confirmed:
            if not document.holds(update):
                raise Broken(f"I2: client {client.number} was told that this is durable: {update.hex()}")
            for who, ranges in parse(update).deletes:
                for clock, length in ranges:
                    if not any(start <= clock and clock + length <= end for start, end in gone.get(who, [])):
                        raise Broken(f"I2: a confirmed deletion of {who} at {clock} is lost")

    def raise_failures(self) -> None:
        """Raise the first thing that went wrong so far."""
        for server in self.servers:
            self.failures += server.failures
        for failure in (*self.ledger.broken, *self.failures):
            raise Broken(f"{type(failure).__name__}: {failure}") from failure

    def note(self, what: str) -> None:
        """Count what happened."""
        self.happened[what] = self.happened.get(what, 0) + 1


@contextmanager
def determined(seed: int) -> Iterator[None]:
    """Let nothing but the seed decide: the client ids that the server draws, and the order in sets of connections."""
    draw = random.Random(f"{seed}/ids")

    def number(connection: Connection) -> int:
        wire = connection.transport
        assert isinstance(wire, Wire)
        return wire.number

    with (
        mock.patch("server.rooms.composing.new_client_id", lambda: ClientId(draw.getrandbits(31) + 1)),
        mock.patch.object(Connection, "__hash__", number),
    ):
        yield


def play_seed(seed: int) -> Outcome | str:
    """Play one schedule on a loop of its own; the outcome, or what broke, as text that crosses processes."""
    with virtual_loop() as loop:
        try:
            return play(loop, seed)
        except Exception as error:
            return "".join(format_exception(error))


def play(loop: VirtualLoop, seed: int) -> Outcome:
    """Play one schedule on a fresh stretch of virtual time. Raises Broken, with the seed in its note."""
    world = World(loop, seed)

    def failed(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        world.failures.append(error if isinstance(error, BaseException) else Broken(context["message"]))

    loop.set_exception_handler(failed)
    try:
        with determined(seed):
            return loop.run_until_complete(world.run())
    except BaseException as error:
        error.add_note(f"replay with CLEW_SEED={seed}; {world.happened}; {world.plan}")
        raise
