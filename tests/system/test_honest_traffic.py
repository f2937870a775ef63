"""Every frame that stock clients were heard to send, through the real gate: none refused, none lost, none pending."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kit.recordings import Event, Recording, read_recordings
from kit.xml_text import read_root
from kit.yjs_oracle import YjsOracle
from pycrdt import Doc

from crdt_docs.ids import DocName, Part, TaskId, UserId, new_id
from crdt_docs.messages.ywebsocket import step1_frame, step2_frame, update_frame
from crdt_docs.rope import Rope
from crdt_docs.updates.parse import TYPE, Parsed, parse
from crdt_docs.updates.splice import Spliced
from crdt_docs.updates.vectors import decode_state_vector
from server.domain.access import Principal, PrincipalKey, Role
from server.domain.clock import SystemClock
from server.domain.errors import Unavailable
from server.domain.log import Snapshot
from server.rooms.compacting import Compacted
from server.rooms.connection import Connection
from server.rooms.gate import Gate
from server.rooms.lanes import ThreadLane
from server.rooms.registry import Rooms
from server.rooms.shapes import SHAPES
from server.rooms.verdict import Admit, Refuse
from server.store.log import SqliteLog

SHAPE = SHAPES["main"]
RECORDINGS = read_recordings()
pytestmark = pytest.mark.node
KINDS = {"items": "array", "txt": "text", "draft": "fragment", "draft-md": "text", "meta": "map"}
"""Roots whose first content does not tell what they are."""
SPLIT_PAIRS = ("/nA", "/nSA")
"""Rooms in which an emoji was cut in two by its index. Yrs does not cut it and so reads
otherwise than yjs; no editor does it."""


class Conversation:
    """The gap rules of one room over the real gate: what is asked, dropped while it is, and admitted in part."""

    def __init__(self) -> None:
        self.gate = Gate(SHAPE)
        self.document = Spliced()
        self.log: list[bytes] = []
        self.asked: dict[int, bool] = {}
        self.refused: list[tuple[Event, Refuse]] = []
        self.dropped = 0

    def hear(self, event: Event) -> None:
        if event.what == "open":
            self.asked[event.connection] = True  # our SyncStep1 goes out with the answer to theirs
        elif event.what in ("update", "step2"):
            self._admit(event)

    def _admit(self, event: Event) -> None:
        kind: Any = event.what
        verdict = self.gate.admit(parse(event.payload), PrincipalKey(f"user:{event.user}"), kind)
        if isinstance(verdict, Refuse):
            self.refused.append((event, verdict))
        elif isinstance(verdict, Admit):
            if verdict.update:
                self.gate.apply(verdict)
                self.document.add(verdict.parsed)
                self.log.append(verdict.update)
        else:
            self.dropped += 1
            self.asked[event.connection] = True
        if event.what == "step2":
            self.asked[event.connection] = False


class Offload:
    """The worker's part, done here. No recording is long enough to be compacted."""

    async def parse(self, update: bytes) -> Parsed:
        await asyncio.sleep(0)
        return parse(update)

    async def compact(self, part: Part, update: Rope) -> Compacted:
        raise Unavailable

    async def fold(self, part: Part, snapshot: Snapshot | None, tail: Sequence[bytes]) -> Compacted:
        raise Unavailable


class Socket:
    """A transport that remembers whether it was closed."""

    def __init__(self) -> None:
        self.closed: tuple[int, str] | None = None
        self.connection: Connection

    def send(self, frame: bytes) -> None:
        assert self.closed is None

    def close(self, code: int, why: str) -> None:
        self.closed = (code, why)


async def replay(recording: Recording, rooms: Rooms, name: DocName) -> dict[int, Socket]:
    """Every sync frame of a recording, as its connection's own, in order; the sockets."""
    sockets: dict[int, Socket] = {}
    frames = {"step1": step1_frame, "step2": step2_frame, "update": update_frame}
    for event in recording.events:
        if event.what == "open":
            socket = sockets[event.connection] = Socket()
            who = Principal(UserId(event.user), event.user, authenticated_at=1e12)
            socket.connection = await rooms.join(name, who, Role.EDITOR, socket)
        elif event.what == "close":
            if sockets[event.connection].closed is None:
                sockets[event.connection].connection.leave()
        elif event.what in frames:
            wait = sockets[event.connection].connection.receive(frames[event.what](event.payload))
            if wait is not None:
                await wait
        await asyncio.sleep(0)
    await rooms.writer.drain()
    return sockets


PLAYED: dict[str, Conversation] = {}


def played(recording: Recording) -> Conversation:
    """A recording through the gate, once for all tests."""
    if recording.name not in PLAYED:
        conversation = PLAYED[recording.name] = Conversation()
        for event in recording.events:
            conversation.hear(event)
    return PLAYED[recording.name]


@pytest.fixture(params=RECORDINGS, ids=lambda recording: recording.name)
def recording(request: pytest.FixtureRequest) -> Recording:
    found: Recording = request.param
    return found


def test_there_is_enough_honest_traffic_to_mean_something() -> None:
    frames = [event for recording in RECORDINGS for event in recording.events if event.what in ("step2", "update")]
    assert len(RECORDINGS) >= 20
    assert len(frames) > 4500
    assert sum(recording.final is not None for recording in RECORDINGS) >= 6


def test_no_honest_frame_is_refused_and_what_was_dropped_came_again(recording: Recording, yjs: YjsOracle) -> None:
    conversation = played(recording)
    assert conversation.refused == []

    roots = roots_of(recording)
    said = [event.payload for event in recording.events if event.what in ("step2", "update")]
    heard, logged, spliced = yjs.load_each([said, conversation.log, [conversation.document.full()]], roots)
    assert not logged.pending and not spliced.pending
    assert logged.json == spliced.json == heard.json
    assert logged.state_vector == spliced.state_vector == heard.state_vector == conversation.gate.state_vector


async def test_a_room_keeps_every_honest_connection_and_logs_what_they_said(
    recording: Recording, yjs: YjsOracle, tmp_path: Path
) -> None:
    name = DocName(TaskId(new_id()))
    with SqliteLog(tmp_path / "log.db", "process") as log:
        async with (
            ThreadLane("write") as write,
            ThreadLane("read") as read,
            Rooms(log, Offload(), SystemClock(), {"main": SHAPE}, write=write, read=read) as rooms,
        ):
            sockets = await replay(recording, rooms, name)
            released = await rooms.read(name)
        logged = [entry.update for entry in log.open(name).tail]
    assert [socket.closed for socket in sockets.values()] == [None] * len(sockets)
    said = [event.payload for event in recording.events if event.what in ("step2", "update")]
    heard, stored, read_back = yjs.load_each([said, logged, [released.update]], roots_of(recording))
    assert stored.json == read_back.json == heard.json
    assert released.seq == len(logged)
    assert not stored.pending


def test_log_and_splice_give_the_documents_that_the_clients_ended_with(recording: Recording, yjs: YjsOracle) -> None:
    if recording.final is None:
        assert not recording.name.startswith(("tiptap", "codemirror", "kept"))
        return
    conversation = played(recording)
    final = recording.final
    vector = {int(client): clock for client, clock in final["sv"].items()}
    assert conversation.gate.state_vector == conversation.document.state_vector == vector
    for updates in (conversation.log, [conversation.document.full()], [yjs.state(conversation.log)]):
        doc = Doc[Any]()
        for update in updates:
            doc.apply_update(update)
        assert decode_state_vector(doc.get_state()) == vector
        assert {name: read_root(doc, name, kind) for name, kind in final["kinds"].items()} == final["roots"]
    if "update" in final:
        theirs, ours = yjs.load_each([[b64decode(final["update"])], conversation.log], final["kinds"])
        assert ours.json == theirs.json


def test_pycrdt_reads_the_log_as_yjs_does(recording: Recording, yjs: YjsOracle) -> None:
    if any(room in recording.name for room in SPLIT_PAIRS):
        return
    conversation = played(recording)
    by_log, by_yjs = Doc[Any](), Doc[Any]()
    for update in conversation.log:
        by_log.apply_update(update)
    by_yjs.apply_update(yjs.state(conversation.log))
    assert decode_state_vector(by_log.get_state()) == decode_state_vector(by_yjs.get_state())
    for name, kind in roots_of(recording).items():
        assert read_root(by_log, name, kind) == read_root(by_yjs, name, kind)


def roots_of(recording: Recording) -> dict[str, str]:
    """The roots that were written to, with the kind that their content shows."""
    if recording.final is not None:
        return dict(recording.final["kinds"])
    kinds: dict[str, str] = {}
    for event in recording.events:
        if event.what not in ("step2", "update"):
            continue
        for section in parse(event.payload).sections:
            for struct in section.structs:
                if isinstance(struct.parent, str):
                    kind = "map" if struct.key is not None else "fragment" if struct.ref == TYPE else "text"
                    kinds.setdefault(struct.parent, kind)
    return {**kinds, **{name: kind for name, kind in KINDS.items() if name in kinds}}
