"""Every frame that stock clients were heard to send, through the real gate: none refused, none lost, none pending."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
from kit.recordings import Event, Recording, read_recordings
from kit.xml_text import read_root
from kit.yjs_oracle import YjsOracle
from pycrdt import Doc

from crdt_docs import schema
from crdt_docs.updates.parse import TYPE, parse
from crdt_docs.updates.splice import Spliced
from crdt_docs.updates.vectors import decode_state_vector
from server.domain.access import PrincipalKey
from server.rooms.gate import Gate
from server.rooms.verdict import Admit, Refuse, Shape

SHAPE = Shape(schema.PART_ROOTS["main"], frozenset(schema.NODES), frozenset(schema.MARKS))
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


def played(recording: Recording) -> Conversation:
    conversation = Conversation()
    for event in recording.events:
        conversation.hear(event)
    return conversation


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
