"""Keystrokes of real people through real sockets: every replica, export and log ends with their text, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.node_clients import node_clients
from kit.served import Served, serve
from kit.traces import FOLDER, Trace, counts_seen, edit, read_trace
from kit.wire import Peer
from kit.yjs_oracle import YjsOracle
from pycrdt import Doc, Text

from crdt_docs.ids import DocName, TaskId
from server.store.log import SqliteLog

Replica = Doc[Any]
AUTHORS = (1_000_000_001, 1_000_000_002)
"""In this order: ties between two letters at one place fall as they fell when the trace was recorded."""
pytestmark = [pytest.mark.node, pytest.mark.timeout(240)]


def text_of(*updates: bytes) -> str:
    """The trace as pycrdt reads it."""
    doc = Replica()
    text = doc.get("trace", type=Text)
    for update in updates:
        doc.apply_update(update)
    return str(text)


def typed_by(yjs: YjsOracle, updates: list[bytes]) -> str:
    """The trace as yjs reads it."""
    loaded = yjs.load(updates, {"trace": "text"})
    assert not loaded.pending
    return "".join(part["insert"] for part in loaded.json["trace"]["text"])


def log_of(data: Path, task: str) -> list[bytes]:
    """What a stopped server's log holds: a snapshot, if there was a compaction, and the tail."""
    with SqliteLog(data / "log.db", "full") as log:
        opened = log.open(DocName(TaskId(task)))
    snapshot = [opened.snapshot.whole().update] if opened.snapshot else []
    assert [entry.seq for entry in opened.tail] == list(range(opened.head - len(opened.tail) + 1, opened.head + 1))
    return [*snapshot, *(entry.update for entry in opened.tail)]


class Duet:
    """Two agents on one task, each seeing of the other exactly what its next transaction builds on."""

    def __init__(self, trace: Trace, peers: tuple[Peer, Peer]) -> None:
        self.trace = trace
        self.peers = peers
        self.is_ascii = trace.is_ascii
        self.seen = counts_seen(trace)
        self.wanted = {
            (other, count)
            for txn, seen in zip(trace.transactions, self.seen, strict=True)
            for other, count in seen.items()
            if other != txn.agent
        }
        self.held: dict[tuple[int, int], int] = {}  # after so many of an agent's, the other had so much in its inbox
        self.taken = [0, 0]

    async def play(self) -> None:
        made = [0, 0]
        for txn, seen in zip(self.trace.transactions, self.seen, strict=True):
            me, other = txn.agent, 1 - txn.agent
            peer = self.peers[me]
            if seen.get(other, 0):
                self._take(me, self.held[other, seen[other]])
            assert peer.doc is not None
            text = peer.doc.get("trace", type=Text)
            with peer.doc.transaction():
                for patch in txn.patches:
                    edit(text, patch, self.is_ascii)
            await peer.push()
            made[me] += 1
            if (me, made[me]) in self.wanted:
                self.held[me, made[me]] = await self._reached(me)

    async def _reached(self, agent: int) -> int:
        """Wait until all that the agent sent is in the other's inbox; how much that is, since the start."""
        await self.peers[agent].barrier()
        other = self.peers[1 - agent]
        await other.barrier()
        return self.taken[1 - agent] + len(other.inbox)

    def _take(self, agent: int, upto: int) -> None:
        if upto > self.taken[agent]:
            self.peers[agent].take(upto - self.taken[agent])
            self.taken[agent] = upto


async def test_two_devices_type_friendsforever_exactly_as_it_was_typed(tmp_path: Path, yjs: YjsOracle) -> None:
    trace = read_trace("friendsforever")
    with serve(tmp_path) as served:
        task = served.new_task()
        tokens = [served.token, str(served.server.new_token()["token"])]
        docs = [Replica(client_id=author) for author in AUTHORS]  # ties between the two are broken by these
        async with (
            served.join(task, docs[0], token=tokens[0], hold=True) as first,
            served.join(task, docs[1], token=tokens[1], hold=True) as second,
        ):
            await Duet(trace, (first, second)).play()
            for peer in (first, second):
                await peer.barrier()
            for peer in (first, second):
                await peer.barrier()
                peer.take()
        third = Replica()
        async with served.join(task, third):
            pass
        assert [str(doc.get("trace", type=Text)) for doc in (*docs, third)] == [trace.end] * 3
        exported = served.api.export(task)
        assert text_of(exported) == typed_by(yjs, [exported]) == trace.end
        printed = tmp_path / "by-cli.yjs"
        served.server.clew("tasks", "export", task, "--format", "yjs", "--out", str(printed))
        assert text_of(printed.read_bytes()) == trace.end
        data = served.server.data
    logged = log_of(data, task)
    assert text_of(*logged) == typed_by(yjs, logged) == trace.end


async def check_after_a_restart(served: Served, task: str, end: str, yjs: YjsOracle) -> None:
    served.server.kill()
    served.server.start()
    doc = Replica()
    text = doc.get("trace", type=Text)
    async with served.join(task, doc):
        assert str(text) == end
    exported = served.api.export(task)
    assert text_of(exported) == typed_by(yjs, [exported]) == end


@pytest.mark.parametrize(("name", "batch"), [("sveltecomponent", 10), ("automerge-paper", 200)])
async def test_one_device_types_a_paper_and_it_stands_after_a_restart(
    tmp_path: Path, yjs: YjsOracle, name: str, batch: int
) -> None:
    trace = read_trace(name)
    assert trace.is_ascii and not trace.start  # so Node may take the positions as they are
    with serve(tmp_path) as served:
        task = served.new_task()
        async with node_clients() as clients, served.join(task, Replica()) as reader:
            await clients.open("author", served.server.port, task, served.token)
            await clients.until("author", lambda seen: bool(seen["synced"]))
            typed = await clients.do("replay", "author", file=str(FOLDER / f"{name}.json.gz"), batch=batch)
            assert typed["text"] == trace.end
            await clients.do("barrier", "author", number=1)
            await reader.barrier()
            assert reader.doc is not None
            assert str(reader.doc.get("trace", type=Text)) == trace.end
        await check_after_a_restart(served, task, trace.end, yjs)
        data = served.server.data
    logged = log_of(data, task)
    assert text_of(*logged) == typed_by(yjs, logged) == trace.end
