"""What goes wrong in a schedule, apart from the network: crashes, full disks, revocations, forgery.

Also what only looks like trouble: compaction, writes by HTTP, a role that changes, an office that empties.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kit.plans import NAME
from kit.simulated_client import StockClient, view
from pycrdt import Doc

from crdt_docs.messages.ywebsocket import update_frame
from crdt_docs.updates.compose import Composer
from server.domain.access import Principal, Role
from server.domain.errors import CLOSE, ClewError

if TYPE_CHECKING:
    from kit.simulation import World


async def trouble(world: World, client: StockClient) -> None:
    """Let one thing happen, drawn from the seed."""
    match world.draw.randrange(8):
        case 0:
            world.note("crash")
            server = world.draw.choice(world.servers)
            await server.crash()
            await server.start()
        case 1:
            world.note("commit fails")
            world.log.fail_next(OSError(28, "No space left on device"), world.draw.randint(1, 2))
        case 2:
            await compact(world)
        case 3:
            await compose(world, client.principal)
        case 4 if world.draw.random() < 0.3:
            await revoke(world, client.principal)
        case 5:
            await change_role(world, client.principal)
        case 6:
            world.note("everybody leaves")
            for one in world.clients:
                if one.wire is not None:
                    one.disconnect()
            await asyncio.sleep(world.draw.choice((0.5, 5.0)))
            for one in world.clients:
                one.should_connect = True
                one.connect()
        case _:
            world.note("forgery")
            forge(world, client)


async def compact(world: World) -> None:
    rooms = world.draw.choice(world.servers).rooms
    if rooms is None:
        return
    try:
        await rooms.compact(NAME)
        world.note("compaction")
    except (ClewError, OSError):
        world.note("compaction fails")


async def compose(world: World, principal: Principal) -> None:
    rooms = world.draw.choice(world.servers).rooms
    key = f"k{world.draw.randrange(4)}"
    words = f"said {world.draw.randrange(99)}"
    if rooms is None or world.roles.get(principal.user) is not Role.EDITOR:
        return

    def build(composer: Composer) -> None:
        composer.set_text("m", key, words)

    try:
        await rooms.compose(NAME, principal, build)
        world.note("composed")
    except (ClewError, OSError):
        world.note("compose fails")


async def revoke(world: World, principal: Principal) -> None:
    if world.plan.mixed_browser or principal.user == "u0" or world.roles.get(principal.user) is not Role.EDITOR:
        return
    world.note("revoked")
    del world.roles[principal.user]
    for server in world.servers:
        if server.rooms is not None:
            await server.rooms.revoke(
                lambda who, name: who.user == principal.user, CLOSE["forbidden"], "no longer a member"
            )
    world.revoked[principal.user] = world.loop.time()


async def change_role(world: World, principal: Principal) -> None:
    role = world.roles.get(principal.user)
    if role is None or principal.user == "viewer":
        return
    world.note("role changes")
    world.roles[principal.user] = Role.VIEWER if role is Role.EDITOR else Role.EDITOR
    for server in world.servers:
        if server.rooms is not None:
            await server.rooms.change_role(NAME.task, principal.user, world.roles[principal.user])


def forge(world: World, client: StockClient) -> None:
    """Somebody writes as somebody else: an Update under a client id that is another's."""
    victims = [one for one in world.ledger.document(world.doc).owners.items() if one[1] != client.principal.key]
    if not victims or client.wire is None or not client.usable:
        return
    victim = world.draw.choice(victims)[0]
    forged: Doc[Any] = Doc(client_id=victim)
    forged.apply_update(client.doc.get_update())
    before = forged.get_state()
    view(forged)
    forged.get("m", type=type(client.map))["k0"] = "forged"
    world.forgers.add(client)
    client.wire.up(update_frame(forged.get_update(before)))
