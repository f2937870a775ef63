"""Unmodified y-websocket clients, 3.1 and 1.5, in Node, against a running server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from kit.delay_proxy import DelayProxy
from kit.node_clients import NodeClients, node_clients
from kit.served import Served

from crdt_docs.ids import new_id

pytestmark = pytest.mark.node
VERSIONS = pytest.mark.parametrize("version", [3, 1], ids=["y-websocket 3.1", "y-websocket 1.5"])
SOON = 7.0
"""Seconds. Takes milliseconds, and on a busy machine a second or two; y-protocols renews a state after 15 s and takes a
silent one for gone after 30."""


@pytest.fixture
async def clients() -> AsyncIterator[NodeClients]:
    async with node_clients() as running:
        yield running


@VERSIONS
async def test_two_clients_type_go_offline_and_come_back(served: Served, clients: NodeClients, version: int) -> None:
    task, port = served.new_task(), served.server.port
    await clients.open("ann", port, task, served.token, version)
    await clients.open("wei", port, task, served.token, version)
    await asyncio.gather(
        clients.do("type", "ann", text="ann writes here. ", every=5),
        clients.do("type", "wei", text="wei too 😀合同. ", every=7),
    )
    both = await clients.same("ann", "wei")
    assert len(both) == len("ann writes here. wei too 😀合同. ")
    await clients.do("disconnect", "ann")
    await clients.do("type", "ann", text="(offline) ", every=1)
    await clients.do("type", "wei", text="(meanwhile) ", every=1)
    await clients.do("connect", "ann")
    await clients.until("wei", lambda seen: "(offline)" in seen["text"])
    text = await clients.same("ann", "wei")
    assert "(offline) " in text and "(meanwhile) " in text
    await clients.open("late", port, task, served.token, version)
    assert await clients.same("ann", "wei", "late") == text


@VERSIONS
async def test_a_barrier_is_answered_and_an_edit_is_echoed_to_its_sender(
    served: Served, clients: NodeClients, version: int
) -> None:
    task = served.new_task()
    await clients.open("ann", served.server.port, task, served.token, version)
    before = await clients.until("ann", lambda seen: bool(seen["synced"]))
    await clients.do("insert", "ann", at=0, text="saved?")
    await clients.do("barrier", "ann", number=2**31 + 5)
    after = await clients.read("ann")
    assert after["echoes"] > before["echoes"]
    assert b"saved?" in served.api.export(task)
    assert after["connects"] == 1 and after["codes"] == []


@pytest.mark.parametrize(
    ("why", "code"), [("no such task", 4404), ("somebody else's task", 4404), ("a bearer that never was", 4401)]
)
async def test_a_client_that_is_refused_for_good_stops_for_ever(
    served: Served, clients: NodeClients, why: str, code: int
) -> None:
    task, token = served.new_task(), served.token
    if code == 4401:
        token = "A" * 43
    elif why.startswith("no such"):
        task = new_id()
    else:
        token = served.new_user(f"stranger-{new_id()[:8]}")
    await clients.open("ann", served.server.port, task, token)
    await clients.until("ann", lambda seen: not seen["wants"])
    await asyncio.sleep(1.5)  # it would be back within half a second
    seen = await clients.read("ann")
    assert seen["codes"] == [code]
    assert seen["connects"] == 1 and not seen["connected"]


async def test_a_malformed_frame_stops_the_client_for_ever(served: Served, clients: NodeClients) -> None:
    task = served.new_task()
    await clients.open("ann", served.server.port, task, served.token)
    await clients.until("ann", lambda seen: bool(seen["synced"]))
    await clients.do("raw", "ann", hex="0002ff")
    await clients.until("ann", lambda seen: not seen["wants"])
    await asyncio.sleep(1.5)  # it would be back within half a second
    seen = await clients.read("ann")
    assert (seen["codes"], seen["connects"]) == ([4400], 1)


async def test_a_gap_that_does_not_close_is_retried_and_the_clients_own_words_arrive(
    served: Served, clients: NodeClients
) -> None:
    """It holds another's struct whose beginning nobody has: its Step2s carry that behind a Skip, again and again."""
    task = served.new_task()
    await clients.open("ann", served.server.port, task, served.token)
    await clients.until("ann", lambda seen: bool(seen["synced"]))
    gapped = "01010905" + "0401056e6f746573" + "0178" + "00"  # client 9 at clock 5: an x in "notes"
    await clients.do("apply", "ann", hex=gapped)
    for _ in range(3):
        await clients.do("raw", "ann", hex="0002" + f"{len(gapped) // 2:02x}" + gapped)
        await asyncio.sleep(0.3)
    await clients.until("ann", lambda seen: 4500 in seen["codes"] and bool(seen["synced"] and seen["connected"]))
    await clients.do("insert", "ann", at=0, text="words")
    await clients.do("barrier", "ann", number=1)
    assert b"words" in served.api.export(task)
    assert (await clients.read("ann"))["codes"] == [4500]


async def test_a_restart_is_retried_and_nothing_typed_meanwhile_is_lost(served: Served, clients: NodeClients) -> None:
    task, port = served.new_task(), served.server.port
    await clients.open("ann", port, task, served.token)
    await clients.open("wei", port, task, served.token)
    await clients.do("type", "ann", text="before ", every=1)
    await clients.same("ann", "wei")
    await asyncio.to_thread(served.server.stop)
    await clients.until("ann", lambda seen: not seen["connected"])
    assert set((await clients.read("ann"))["codes"]) <= {1012, 1006}
    await asyncio.gather(
        asyncio.to_thread(served.server.start),
        clients.do("type", "ann", text="during ", every=10),
        clients.do("type", "wei", text="meanwhile ", every=10),
    )
    await clients.until("ann", lambda seen: bool(seen["connected"] and seen["synced"]))
    await clients.until("wei", lambda seen: "during " in seen["text"])
    text = await clients.same("ann", "wei")
    assert sorted(text.replace(" ", "")) == sorted("before" + "during" + "meanwhile")


@VERSIONS
async def test_who_rejoins_is_seen_before_the_next_renewal(served: Served, clients: NodeClients, version: int) -> None:
    """A client that lost its wire keeps others' clocks: a state sent again at the same clock stays invisible."""
    task = served.new_task()
    async with DelayProxy(served.server.port) as wire:
        ann = str(await clients.open("ann", wire.port, task, served.token, version))
        wei = str(await clients.open("wei", served.server.port, task, served.token, version))
        await clients.do("presence", "ann", state={"cursor": 1})
        await clients.until("wei", lambda seen: "cursor" in seen["present"].get(ann, {}))
        await clients.until("ann", lambda seen: wei in seen["present"])
        for _ in range(3):
            wire.cut()
            await clients.until("ann", lambda seen: not seen["connected"])
            await clients.until("wei", lambda seen: ann not in seen["present"], SOON)
            wire.mend()
            await clients.until("ann", lambda seen: bool(seen["synced"]))
            began = time.monotonic()
            await clients.until("wei", lambda seen: ann in seen["present"], SOON)
            await clients.until("ann", lambda seen: wei in seen["present"], SOON + began - time.monotonic())


async def test_who_vanishes_without_a_word_is_gone_with_the_socket(served: Served, clients: NodeClients) -> None:
    task = served.new_task()
    ann = await clients.open("ann", served.server.port, task, served.token)
    await clients.open("wei", served.server.port, task, served.token)
    await clients.until("wei", lambda seen: str(ann) in seen["present"])
    await clients.do("drop", "ann")
    await clients.until("wei", lambda seen: str(ann) not in seen["present"], SOON)


async def test_one_cannot_speak_for_another_in_presence(served: Served, clients: NodeClients) -> None:
    """Stock clients send on what they hear of others; that neither ends anyone's connection nor makes ghosts."""
    task = served.new_task()
    ids = [str(await clients.open(name, served.server.port, task, served.token)) for name in ("ann", "wei", "li")]
    for name in ("ann", "wei", "li"):
        await clients.until(name, lambda seen: set(ids) <= set(seen["present"]))
    await clients.do("disconnect", "ann")
    for name in ("wei", "li"):
        await clients.until(name, lambda seen: ids[0] not in seen["present"], SOON)
    await asyncio.sleep(1)
    for name in ("wei", "li"):
        seen = await clients.read(name)
        assert ids[0] not in seen["present"]
        assert set(ids[1:]) <= set(seen["present"])
        assert seen["codes"] == []


async def test_people_are_shown_by_the_servers_word_not_their_own(served: Served, clients: NodeClients) -> None:
    task = served.new_task()
    forged = {"user": {"name": "The Boss", "id": "root", "color": "#f00"}, "cursor": 3}
    ann = str(await clients.open("ann", served.server.port, task, served.token, presence=forged))
    await clients.open("wei", served.server.port, task, served.token)
    seen = await clients.until("wei", lambda seen: ann in seen["present"])
    assert seen["present"][ann]["user"]["name"] == "owner"
    assert seen["present"][ann]["user"]["id"] != "root"
    assert seen["present"][ann]["cursor"] == 3


@VERSIONS
async def test_typing_over_a_long_wire_while_coming_back_converges_without_a_reconnect(
    served: Served, clients: NodeClients, version: int
) -> None:
    task = served.new_task()
    async with DelayProxy(served.server.port, 0.12) as wire:
        await clients.open("phone", wire.port, task, served.token, version)
        await clients.open("laptop", served.server.port, task, served.token, version)
        await clients.do("type", "phone", text="draft ", every=40)
        await clients.same("phone", "laptop")
        await clients.do("disconnect", "phone")
        await clients.do("type", "phone", text="offline edits ", every=5)
        await clients.do("type", "laptop", text="elsewhere ", every=5)
        before = await clients.read("phone")
        await clients.do("connect", "phone")
        await asyncio.gather(
            clients.do("type", "phone", text="typing while it comes back, on and on and on. ", every=40),
            clients.do("type", "laptop", text="and the laptop types too, all the time. ", every=40),
        )
        typed = "draft offline edits elsewhere typing while it comes back, on and on and on. "
        typed += "and the laptop types too, all the time. "
        await clients.until("laptop", lambda seen: len(seen["text"]) == len(typed))
        text = await clients.same("phone", "laptop")
        seen = await clients.read("phone")
    assert sorted(text) == sorted(typed)
    assert seen["connects"] == before["connects"] + 1
    assert [code for code in seen["codes"] if code != 1005] == []
