"""The client's state machine, frame by frame; no socket, no server."""

from __future__ import annotations

from typing import Any

import pytest
from kit.channel import Engine
from pycrdt import Doc, Text

from crdt_docs.errors import Malformed
from crdt_docs.messages import (
    Awareness,
    Barrier,
    Denied,
    QueryAwareness,
    Refused,
    Renew,
    SyncStep1,
    SyncStep2,
    Update,
)
from crdt_docs.messages.vocabulary import State
from crdt_docs.messages.ywebsocket import Message, decode, encode
from crdt_docs.presence import Presence
from crdt_docs.replica import (
    OUTDATED_AFTER,
    RENEW_AFTER,
    Confirmed,
    GapSeen,
    Peers,
    PeersChanged,
    Reaction,
    RenewalWanted,
    Replica,
    Synced,
    WriteRefused,
)

NOTHING = b"\x00"
EMPTY = b"\x00\x00"


class Side:
    """A replica over a pycrdt document, spoken to in messages."""

    def __init__(self, client: int = 5) -> None:
        self.doc: Doc[Any] = Doc(client_id=client)
        self.text = self.doc.get("t", type=Text)
        self.engine = Engine(self.doc)
        self.replica = Replica(self.engine, client)

    def hear(self, message: Message, now: float = 0.0) -> Reaction:
        return self.replica.receive(encode(message), now)

    def said(self, reaction: Reaction) -> list[Message]:
        return [decode(frame) for frame in reaction.frames]

    def type(self, words: str) -> list[Message]:
        self.text += words
        made, self.engine.made = self.engine.made, []
        return [decode(frame) for update in made for frame in self.replica.edit(update)]

    def greet(self) -> None:
        self.replica.connect()
        self.hear(SyncStep2(EMPTY))
        self.hear(SyncStep1(NOTHING))


def updates(words: list[str], client: int = 9) -> list[bytes]:
    other = Side(client)
    other.replica.connect()
    said = [message for word in words for message in other.type(word)]
    return [message.update for message in said if isinstance(message, Update)]


def test_it_opens_with_its_state_and_its_presence() -> None:
    side = Side()
    assert [decode(frame) for frame in side.replica.connect()] == [SyncStep1(NOTHING)]
    side.replica.disconnect()
    side.replica.peers.own = Presence(status="here")
    opened = [decode(frame) for frame in side.replica.connect()]
    assert opened == [SyncStep1(NOTHING), Awareness((State(5, 0, '{"status":"here"}'),))]


def test_it_is_synced_by_the_first_step2_of_each_connection_and_says_so_once() -> None:
    side = Side()
    side.replica.connect()
    assert not side.replica.synced
    assert side.hear(SyncStep2(EMPTY)) == Reaction((), (Synced(),))
    assert side.hear(SyncStep2(EMPTY)) == Reaction()
    side.replica.disconnect()
    assert not side.replica.synced
    side.replica.connect()
    assert side.hear(SyncStep2(updates(["hi"])[0])) == Reaction((), (Synced(),))
    assert str(side.text) == "hi"


def test_it_answers_step1_with_what_the_server_lacks_even_if_that_is_nothing() -> None:
    side = Side()
    side.replica.connect()
    assert side.said(side.hear(SyncStep1(NOTHING))) == [SyncStep2(EMPTY)]
    side.type("abc")
    (answer,) = side.said(side.hear(SyncStep1(NOTHING)))
    assert isinstance(answer, SyncStep2)
    fresh = Side(6)
    fresh.hear(answer)
    assert str(fresh.text) == "abc"


def test_edits_go_out_at_once_while_connected_and_wait_for_step1_otherwise() -> None:
    side = Side()
    assert side.type("offline ") == []
    side.replica.connect()
    (live,) = side.type("live")
    assert isinstance(live, Update)
    (answer,) = side.said(side.hear(SyncStep1(NOTHING)))
    assert isinstance(answer, SyncStep2)
    fresh = Side(6)
    fresh.hear(answer)
    assert str(fresh.text) == "offline live"


def test_a_barrier_before_the_answer_to_step1_follows_it() -> None:
    side = Side()
    side.type("offline")
    side.replica.connect()
    number, frames = side.replica.barrier()
    assert frames == ()
    said = side.said(side.hear(SyncStep1(NOTHING)))
    assert isinstance(said[0], SyncStep2)
    assert said[1:] == [Barrier(number)]
    assert side.hear(Barrier(number)) == Reaction((), (Confirmed(number, ()),))
    assert side.said(side.hear(SyncStep1(NOTHING)))[1:] == []


def test_barriers_that_were_open_when_the_connection_ended_are_sent_again() -> None:
    side = Side()
    side.greet()
    first, frames = side.replica.barrier()
    assert [decode(frame) for frame in frames] == [Barrier(first)]
    second, _ = side.replica.barrier()
    side.replica.disconnect()
    side.replica.connect()
    said = side.said(side.hear(SyncStep1(NOTHING)))
    assert said[1:] == [Barrier(first), Barrier(second)]


def test_a_confirmed_barrier_confirms_those_before_it() -> None:
    side = Side()
    side.greet()
    numbers = [side.replica.barrier()[0] for _ in range(3)]
    assert side.hear(Barrier(numbers[1])).events == (Confirmed(numbers[0], ()), Confirmed(numbers[1], ()))
    assert side.hear(Barrier(numbers[2])).events == (Confirmed(numbers[2], ()),)


def test_a_barrier_that_nobody_asked_for_is_malformed() -> None:
    side = Side()
    side.greet()
    with pytest.raises(Malformed):
        side.hear(Barrier(1))


def test_what_was_refused_is_told_with_the_next_barrier_and_only_then() -> None:
    side = Side()
    side.greet()
    refused = Refused(4403, "your role may not write here")
    assert side.hear(refused).events == (WriteRefused(4403, refused.why),)
    number, _ = side.replica.barrier()
    assert side.hear(Barrier(number)).events == (Confirmed(number, (refused,)),)
    number, _ = side.replica.barrier()
    assert side.hear(Barrier(number)).events == (Confirmed(number, ()),)


def test_a_gap_is_asked_for_once_and_closed_by_the_answer() -> None:
    side = Side()
    side.greet()
    one, two, three = updates(["a", "b", "c"])
    side.hear(Update(one))
    reaction = side.hear(Update(three))
    assert reaction.events == (GapSeen(),)
    assert len(reaction.frames) == 1
    assert side.hear(Update(three)) == Reaction()
    side.hear(SyncStep2(two))
    assert str(side.text) == "abc"
    assert side.hear(Update(three)) == Reaction()


def test_the_server_asks_for_a_new_ticket_and_gets_it() -> None:
    side = Side()
    side.greet()
    assert side.hear(Renew("")).events == (RenewalWanted(),)
    assert [decode(frame) for frame in side.replica.renew("t-1")] == [Renew("t-1")]
    side.replica.disconnect()
    assert side.replica.renew("t-2") == ()


def test_permission_denied_is_a_refusal() -> None:
    side = Side()
    assert side.hear(Denied("no")).events == (WriteRefused(4403, "no"),)


def test_bytes_that_no_server_writes_are_malformed() -> None:
    side = Side()
    for frame in (b"", b"\x05", b"\x00\x03\x00", b"\x64"):
        with pytest.raises(Malformed):
            side.replica.receive(frame, 0.0)


def test_peers_come_change_go_silent_and_go_with_the_connection() -> None:
    side = Side()
    side.greet()
    assert side.hear(Awareness((State(7, 0, '{"status":"here"}'),))).events == (PeersChanged(frozenset((7,))),)
    assert side.hear(Awareness((State(7, 1, '{"status":"here"}'),)), 10.0).events == ()
    assert side.hear(Awareness((State(7, 1, '{"status":"late"}'),)), 10.0).events == ()
    assert side.replica.peers.visible()[7].status == "here"
    assert side.replica.tick(10.0 + OUTDATED_AFTER).events == (PeersChanged(frozenset((7,))),)
    side.hear(Awareness((State(7, 2, "{}"),)), 50.0)
    assert side.hear(Awareness((State(7, 2, None),)), 50.0).events == (PeersChanged(frozenset((7,))),)
    side.hear(Awareness((State(7, 3, "{}"),)), 50.0)
    assert side.replica.disconnect().events == (PeersChanged(frozenset((7,))),)
    assert side.replica.peers.visible() == {}


def test_nobody_else_changes_what_is_shown_of_us() -> None:
    side = Side()
    side.replica.show(Presence(status="mine"), 0.0)
    side.greet()
    side.hear(Awareness((State(5, 99, None),)))
    assert side.replica.peers.own == Presence(status="mine")
    assert 5 not in side.replica.peers.visible()


def test_presence_is_renewed_in_time_and_shown_to_who_asks() -> None:
    side = Side()
    side.greet()
    (shown,) = [decode(frame) for frame in side.replica.show(Presence(status="a"), 0.0)]
    assert side.replica.tick(RENEW_AFTER - 1).frames == ()
    (renewed,) = side.said(side.replica.tick(RENEW_AFTER))
    assert isinstance(shown, Awareness)
    assert isinstance(renewed, Awareness)
    assert renewed.states[0].clock == shown.states[0].clock + 1
    assert side.said(side.hear(QueryAwareness())) == [renewed]


def test_who_shows_nothing_says_nothing_by_the_clock() -> None:
    peers = Peers(5)
    assert peers.tick(1000.0) == ((), frozenset())
