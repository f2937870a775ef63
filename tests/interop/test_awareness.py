"""The presence table against y-protocols itself: the model of ``kit.y_awareness`` is only as good as this."""

from __future__ import annotations

import json
import random
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from kit.yjs_oracle import NODE_FOLDER, require_node

from crdt_docs.lib0 import Reader, varbytes
from crdt_docs.messages.vocabulary import State, awareness_body, read_awareness
from crdt_docs.presence import AwarenessTable, Person

pytestmark = pytest.mark.node
NOW = 1_800_000_000.0


class Browsers:
    """Awareness instances in Node."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def ask(self, peer: int, do: str, **options: Any) -> tuple[list[tuple[State, ...]], dict[int, Any]]:
        """What the peer would send on, and whom it sees."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"do": do, "peer": peer, **options}).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        sent = [read_awareness(Reader(varbytes(b64decode(one)))).states for one in answer["sent"]]
        return sent, {int(client): state for client, state in answer["states"].items()}


@pytest.fixture(scope="module")
def browsers() -> Iterator[Browsers]:
    require_node()
    command = ["node", "awareness.mjs"]
    with subprocess.Popen(command, cwd=NODE_FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Browsers(process)
        assert process.stdin
        process.stdin.close()


class Room:
    """A table, and browsers around it that hear of everything at once."""

    def __init__(self, browsers: Browsers) -> None:
        self.browsers = browsers
        self.table: AwarenessTable[str] = AwarenessTable()
        self.here: dict[str, int] = {}
        self.states: dict[int, dict[int, Any]] = {}
        self.now = NOW
        self.frames = 0

    def join(self, connection: str, peer: int) -> None:
        self.here[connection] = peer
        self.do(connection, "apply", update=body(self.table.welcome(connection, peer)))
        if peer in self.states[peer]:
            self.do(connection, "own")

    def do(self, connection: str, what: str, **options: Any) -> None:
        peer = self.here[connection]
        sent, self.states[peer] = self.browsers.ask(peer, what, **options)
        for states in sent:
            self.say(connection, states)

    def say(self, connection: str, states: tuple[State, ...]) -> None:
        self.frames += 1
        assert self.frames < 5000, "a loop"
        peer = self.here[connection]
        heard = self.table.hear(connection, states, Person(f"u{peer}", "Somebody"), peer, self.now)
        if heard.to_sender:
            self.do(connection, "apply", update=body(heard.to_sender))
        self.tell(heard.to_others, connection)

    def tell(self, states: tuple[State, ...], but: str) -> None:
        for connection in list(self.here):
            if connection != but and states and connection in self.here:
                self.do(connection, "apply", update=body(states))

    def drop(self, connection: str) -> None:
        peer = self.here.pop(connection)
        _, self.states[peer] = self.browsers.ask(peer, "close")

    def cut(self, connection: str) -> None:
        self.drop(connection)
        self.tell(self.table.leave(connection), connection)


def body(states: tuple[State, ...]) -> str:
    return b64encode(Reader(awareness_body(states)).bytes()).decode()


def test_a_real_client_that_comes_back_with_the_same_clock_is_visible_at_once(browsers: Browsers) -> None:
    room = Room(browsers)
    for peer in (1, 2):
        _, room.states[peer] = browsers.ask(peer, "open", client=peer)
        room.join(f"{peer}", peer)
    assert set(room.states[1]) == set(room.states[2]) == {1, 2}
    for _ in range(3):
        room.do("2", "set", state={"cursor": 1})
        room.cut("2")
        assert set(room.states[1]) == {1}
        room.join("2", 2)
        assert set(room.states[1]) == set(room.states[2]) == {1, 2}
    room.do("2", "goodbye")
    room.cut("2")
    assert set(room.states[1]) == {1}
    room.join("2", 2)
    assert set(room.states[1]) == {1, 2}


@pytest.mark.parametrize("seed", range(25))
def test_real_clients_end_up_seeing_exactly_who_is_here(browsers: Browsers, seed: int) -> None:
    draw = random.Random(seed)
    room = Room(browsers)
    people = range(1, 5)
    for peer in people:
        _, room.states[peer] = browsers.ask(peer, "open", client=peer)
    places: dict[int, str] = {}
    ghosts: list[str] = []
    for step in range(50):
        peer = draw.choice(people)
        room.now += draw.choice((0.0, 0.2, 15.0))
        if peer not in places:
            places[peer] = f"{peer}/{step}"
            room.join(places[peer], peer)
            continue
        match draw.randrange(5):
            case 0:
                room.cut(places.pop(peer))
            case 1:
                ghosts.append(places[peer])
                room.drop(places.pop(peer))
            case 2:
                room.do(places[peer], "goodbye")
                room.cut(places.pop(peer))
            case _:
                room.do(places[peer], "set", state=draw.choice((None, {"cursor": step}, {"cursor": step})))
        if ghosts and draw.random() < 0.3:
            gone = ghosts.pop(0)
            room.tell(room.table.leave(gone), gone)
    for gone in ghosts:
        room.tell(room.table.leave(gone), gone)
    visible = {peer for peer in places if peer in room.states[peer]}
    for peer in places:
        assert set(room.states[peer]) == visible
        for other in visible:
            assert room.states[peer][other].get("cursor") == room.states[other][other].get("cursor")
