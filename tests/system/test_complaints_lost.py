"""What people report of sync servers, tried on this one over its sockets: edits lost, hidden, doubled or relayed raw.

The numbers are those of ``docs/complaints.md``.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from kit.node_clients import node_clients
from kit.served import Served
from kit.wire import Closed
from kit.yjs_oracle import YjsOracle
from pycrdt import Doc, Text
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from crdt_docs.lib0 import varstring, varuint
from crdt_docs.messages.vocabulary import Awareness, State
from crdt_docs.messages.ywebsocket import EMPTY_STEP1, encode

Replica = Doc[Any]
CROWD = [f"device {n}" for n in range(24)]
GONE = (Closed, OSError, WebSocketException, TimeoutError)


def notes(doc: Replica) -> Text:
    text: Text = doc.get("notes", type=Text)
    return text


async def test_complaint_01_05_06_08_41_who_writes_and_leaves_at_once_loses_nothing(served: Served) -> None:
    """Nobody else is there, the room may go between any two, and no visit waits for a receipt."""
    task, r, written = served.new_task(), random.Random(1), 0
    for _ in range(40):
        doc = Replica()
        async with served.join(task, doc) as peer:
            await peer.until(lambda doc=doc, wanted=written: len(str(notes(doc))) == wanted)  # type: ignore[misc]
            for _ in range(r.randint(1, 5)):
                notes(doc).insert(0, "x")
                await peer.push()
                written += 1
    reader = Replica()
    async with served.join(task, reader) as peer:
        await peer.until(lambda: len(str(notes(reader))) == written)


@pytest.mark.node
async def test_complaint_02_15_16_31_a_restart_amid_a_crowd_loses_nothing_and_doubles_nothing(served: Served) -> None:
    """Stock clients retry in step, newcomers come meanwhile, and one who has it all comes back with it."""
    task, doc, wanted = served.new_task(), Replica(), "stands. said a moment before the end"
    async with node_clients() as crowd:
        for name in CROWD:
            await crowd.open(name, served.server.port, task, served.token)
        notes(doc).insert(0, "stands. ")
        async with served.join(task, doc) as peer:
            await peer.push()
            await peer.barrier()
            notes(doc).insert(8, "said a moment before the end")
            echoed = asyncio.Event()
            peer.on_update = lambda _: echoed.set()
            await peer.push()
            await asyncio.wait_for(echoed.wait(), 20)
            await asyncio.to_thread(served.server.stop)
        newcomers = [asyncio.ensure_future(come_in(served, task)) for _ in range(8)]
        await asyncio.to_thread(served.server.start)
        async with served.join(task, doc) as peer:
            await peer.barrier()
        assert set(await asyncio.gather(*newcomers)) == {wanted}
        assert await crowd.same(*CROWD) == wanted
        assert served.api.export(task).count(b"stands. ") == 1


async def come_in(served: Served, task: str) -> str:
    """Try until let in; what is there then."""
    while True:
        doc = Replica()
        try:
            async with asyncio.timeout(5), served.join(task, doc):
                return str(notes(doc))
        except GONE:
            await asyncio.sleep(0.3)


@pytest.mark.node
@pytest.mark.parametrize("sent", [(0, 2, 4), (0, 2), (2, 4)])
async def test_complaint_10_11_13_what_follows_a_lost_update_is_shown_when_that_is_there(
    served: Served, yjs: YjsOracle, sent: tuple[int, ...]
) -> None:
    """Keys that are set one after the other; some updates are lost on the way. Nobody sees a later one alone."""
    task, doc = served.new_task(), Replica()
    async with served.join(task) as witness, served.join(task, doc) as writer:
        before = len(witness.heard)
        for letter in "ABCDE":
            text = notes(doc)
            text += letter
        updates, writer.outbox = writer.outbox, []
        for number in sent:
            await writer.update(updates[number])
        await writer.barrier()
        await witness.until(lambda: shown(witness.heard) == "ABCDE")
        for heard in range(before, len(witness.heard) + 1):
            seen = yjs.load(witness.heard[:heard], {"notes": "text"})
            words = "".join(one["insert"] for one in seen.json["notes"]["text"])
            assert not seen.pending and "ABCDE".startswith(words) and shown(witness.heard[:heard]) == words
        assert words == "ABCDE"


def shown(updates: list[bytes]) -> str:
    """What pycrdt makes of them, one by one."""
    told = Replica()
    for update in updates:
        told.apply_update(update)
    return str(notes(told))


async def test_complaint_12_a_deletion_that_comes_before_what_it_deletes_is_kept(served: Served) -> None:
    task, author = served.new_task(), Replica()
    said: list[bytes] = []
    subscription = author.observe(lambda event: said.append(event.update))
    notes(author).insert(0, "never to be seen")
    del notes(author)[0:6]
    author.unobserve(subscription)
    async with served.join(task, Replica()) as witness, served.join(task, author) as writer:
        assert witness.doc is not None
        await writer.update(said[1])  # the server has never heard of its author, and asks
        await writer.update(said[0])
        await writer.barrier()
        await witness.until(lambda: str(notes(witness.doc)) == "to be seen")  # type: ignore[arg-type]


async def test_complaint_21_who_is_cut_off_and_back_at_once_is_seen(served: Served) -> None:
    """A removal and the next sign of life under one clock would hide whoever is back."""
    task = served.new_task()
    async with served.join(task) as witness:
        for clock in (5, 6, 7):
            async with served.join(task, Replica(client_id=77)) as peer:
                await peer.send(encode(Awareness((State(77, clock, json.dumps({"at": clock})),))))
                seen = partial(is_shown, witness.present, 77, clock)
                await witness.until(seen)  # it says so once: who is hidden stays hidden
                peer.socket.transport.abort()
        await witness.until(lambda: not seen(), 10)


def is_shown(present: dict[int, State], client: int, clock: int) -> bool:
    """Whether others see the client with what it said under that clock of its own."""
    state = json.loads(present[client].json or "null") if client in present else None
    return state is not None and state.get("at") == clock


async def test_complaint_29_no_message_type_of_a_reader_or_a_stranger_reaches_anybody(served: Served) -> None:
    task = served.new_task()
    viewer = str(served.server.new_token("owner", "--role", "viewer", "--task", task)["token"])
    async with served.join(task, Replica()) as witness:
        await witness.barrier()
        before, asked = list(witness.heard), witness.asked
        kinds = iter(range(256))
        await asyncio.gather(*(say_each(served, task, viewer, kinds) for _ in range(4)))
        await witness.barrier()
        assert (witness.heard, witness.asked) == (before, asked)
        assert not witness.refused and not witness.closed.done()
        assert [one for one in witness.present.values() if "planted" in (one.json or "")] == []


async def say_each(served: Served, task: str, viewer: str, kinds: Iterator[int]) -> None:
    """Say one message of each type, as one who may only read or as nobody in particular; of those in use, as both."""
    update = b"\x02\x0b\x01\x01\x05\x00\x04\x01\x01t\x01x\x00"
    for kind in kinds:
        body = varuint(kind) + (varstring('{"planted": 1}') if kind > 3 else update)
        if kind % 2 or kind < 11 or 99 < kind < 104:
            await say(served, f"sync/{task}", [Subprotocol("clew.v1"), Subprotocol(f"token.{viewer}")], body)
        if not kind % 2 or kind < 11:
            await say(served, "hocuspocus", [], varstring(task) + body)


async def say(served: Served, path: str, protocols: list[Subprotocol], message: bytes) -> None:
    uri = f"ws://127.0.0.1:{served.server.port}/{path}"
    async with connect(uri, subprotocols=protocols or None, compression=None, ping_interval=None, proxy=None) as socket:
        try:
            if protocols:
                await socket.send(EMPTY_STEP1)
            await socket.send(message)
        except WebSocketException:
            pass
