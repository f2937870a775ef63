"""Presence states, and the table's clock rules against the receiving rule of y-protocols."""

import json
import random
from collections import deque
from typing import Any

import pytest
from kit.y_awareness import YAwareness

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.messages.vocabulary import State
from crdt_docs.presence import (
    CATCHES_UP,
    DEPARTED_KEPT,
    MAX_CLIENT_CLOCK,
    TOLD_KEPT,
    AwarenessTable,
    Heard,
    Person,
    Presence,
    read_presence,
    read_state,
    write_state,
)

NOW = 1_800_000_000.0
ANN = Person("u-ann", "Ann", "user", "phone")
WEI = Person("u-wei", "Wei", "user", "laptop")


class Room:
    """An AwarenessTable and model clients on it: delivers at once, or drops what is under way when a client leaves."""

    def __init__(self, above: int = 0) -> None:
        self.table: AwarenessTable[str] = AwarenessTable(above)
        self.clients: dict[str, tuple[YAwareness, Person]] = {}
        self.now = NOW
        self.frames = 0

    def join(self, name: str, client: YAwareness, person: Person = ANN) -> None:
        self.clients[name] = (client, person)
        client.apply(self.table.welcome(name, person.id))
        if client.client in client.states:
            self.say(name, client.encode((client.client,)))

    def say(self, name: str, states: tuple[State, ...]) -> Heard:
        self.frames += 1
        assert self.frames < 2000, "a loop"
        client, person = self.clients[name]
        heard = self.table.hear(name, states, person, person.id, self.now)
        if heard.to_sender:
            self.resend(name, client.apply(heard.to_sender))
        self.tell(heard.to_others, name)
        return heard

    def show(self, name: str, state: dict[str, Any] | None) -> None:
        self.say(name, self.clients[name][0].set(state))

    def cut(self, name: str) -> None:
        self.drop(name)
        self.tell(self.table.leave(name), name)

    def drop(self, name: str) -> YAwareness:
        """The client is gone and knows it; the server does not yet."""
        client, _ = self.clients.pop(name)
        client.close()
        return client

    def tell(self, states: tuple[State, ...], but: str) -> None:
        for name, (client, _) in list(self.clients.items()):
            if name != but and states:
                self.resend(name, client.apply(states))

    def resend(self, name: str, changed: tuple[State, ...]) -> None:
        if changed:
            self.say(name, changed)

    def seen(self, name: str) -> set[int]:
        client, _ = self.clients[name]
        return set(client.states) - {client.client}


def pair() -> tuple[Room, YAwareness, YAwareness]:
    room, a, b = Room(), YAwareness(1), YAwareness(2)
    room.join("a", a, ANN)
    room.join("b", b, WEI)
    return room, a, b


def test_everybody_sees_everybody_at_once_even_at_clock_zero() -> None:
    room, a, b = pair()
    assert a.clocks[1] == 0
    assert room.seen("a") == {2}
    assert room.seen("b") == {1}


def test_a_client_that_comes_back_with_the_same_clock_is_visible_at_once() -> None:
    room, a, b = pair()
    for _ in range(5):
        room.cut("b")
        assert room.seen("a") == set()
        room.join("b", b, WEI)
        assert room.seen("a") == {2}
        assert room.seen("b") == {1}


def test_a_client_that_said_goodbye_is_visible_again_at_once() -> None:
    room, a, b = pair()
    room.say("b", b.goodbye())
    assert room.seen("a") == set()
    room.cut("b")
    room.join("b", b, WEI)
    assert room.seen("a") == {2}
    assert room.seen("b") == {1}


def test_a_client_that_comes_back_before_it_was_missed_stays_when_the_dead_connection_ends() -> None:
    room, a, b = pair()
    room.drop("b")
    room.join("b2", b, WEI)
    assert room.table.leave("b") == ()
    assert room.seen("a") == {2}
    assert room.seen("b2") == {1}
    room.show("b2", {"cursor": 5})
    assert a.states[2]["cursor"] == 5
    room.cut("b2")
    assert room.seen("a") == set()


def test_everybody_is_visible_at_once_after_the_table_was_lost() -> None:
    room, a, b = pair()
    for _ in range(30):
        room.cut("a")
        room.join("a", a, ANN)
    for n in range(30):
        room.show("b", {"cursor": n})
    reborn = Room()
    reborn.now = room.now + 10
    for client in (room.drop("a"), room.drop("b")):
        reborn.join(str(client.client), client, ANN)
    assert reborn.seen("1") == {2}
    assert reborn.seen("2") == {1}


def test_everybody_is_visible_at_once_in_the_table_that_follows_one_that_ran_ahead_of_time() -> None:
    room, a, b = pair()
    for _ in range(300):
        room.cut("a")
        room.join("a", a, ANN)
    reborn = Room(room.table.highest)
    for client in (room.drop("a"), room.drop("b")):
        reborn.join(str(client.client), client, ANN)
    assert reborn.seen("1") == {2}
    assert reborn.seen("2") == {1}


def test_who_knows_clocks_ahead_of_time_from_a_table_that_was_lost_sees_everybody_again_when_time_has_caught_up() -> (
    None
):
    room, a, b = pair()
    for n in range(100):
        room.show("b", {"cursor": n})
    reborn = Room()
    for client in (room.drop("a"), room.drop("b")):
        reborn.join(str(client.client), client, ANN)
    assert reborn.seen("1") == set()
    reborn.now += 15
    reborn.show("2", b.states[2])
    assert reborn.seen("1") == {2}


def test_nobody_hears_their_own_state_under_another_clock() -> None:
    room, a, b = pair()
    room.cut("a")
    room.join("a", a, ANN)
    a.set({"cursor": 1})
    said = a.encode((1,))
    a.set({"cursor": 2})
    assert room.table.hear("a", said, ANN, ANN.id, NOW).to_sender[0].clock == said[0].clock
    assert a.states[1] == {"cursor": 2}
    room.drop("a")
    room.join("a2", a, ANN)  # before the old connection is missed
    assert a.states[1] == {"cursor": 2}
    assert b.states[1]["cursor"] == 2


def test_the_sender_always_hears_back_so_that_its_watchdog_is_fed() -> None:
    room, a, _ = pair()
    for _ in range(3):
        said = a.set(a.states[1])
        assert room.say("a", said).to_sender == (State(1, said[0].clock, room.table.known()[0].json),)


def test_an_older_state_is_not_taken() -> None:
    room, a, b = pair()
    old = a.set({"n": 1})
    new = a.set({"n": 2})
    room.say("a", new)
    assert room.say("a", old) == Heard((), ())
    assert b.states[1]["n"] == 2


def test_foreign_ids_are_dropped_and_neither_counted_nor_checked() -> None:
    room, a, b = pair()
    crowd = tuple(State(n, 9, "no json") for n in range(100, 800)) + (State(2, 99, '{"user":{"name":"Eve"}}'),)
    assert room.say("a", crowd) == Heard((), ())
    assert room.say("a", (State(2, b.clocks[2], None),)) == Heard((), ())
    assert room.seen("a") == {2}
    assert len(room.table.known()) == 2


def test_an_id_that_another_principal_holds_cannot_be_taken() -> None:
    """Attack 35."""
    room, a, b = pair()
    assert room.table.hear("eve", (State(2, 99, "{}"),), ANN, ANN.id, NOW) == Heard((), ())
    assert room.table.client_of("eve") is None
    assert room.table.leave("eve") == ()
    room.show("b", {"ok": True})
    assert a.states[2]["ok"] is True


def test_an_id_that_another_principal_held_cannot_be_taken_by_sending_back_what_was_heard_of_it() -> None:
    room, a, b = pair()
    silent = YAwareness(3)
    silent.set(None)
    room.join("silent", silent, WEI)
    late = a.encode((1,))
    room.cut("a")
    room.say("silent", late)
    assert room.table.client_of("silent") is None
    room.join("a", a, ANN)
    assert room.seen("b") == {1}


def test_a_connection_beside_a_dead_one_keeps_its_seat_whatever_it_sends_back() -> None:
    room, a, b = pair()
    room.drop("b")
    room.join("b2", b, WEI)
    late = a.encode((1,))
    room.cut("a")
    room.say("b2", late)
    assert room.table.client_of("b2") == 2


def test_a_tab_seated_under_its_neighbours_id_moves_when_it_speaks_for_itself() -> None:
    room, a, _ = pair()
    tab = YAwareness(3)
    tab.set(None)
    room.join("tab", tab, ANN)
    room.say("tab", a.encode((1,)))
    assert room.table.client_of("tab") == 1
    room.show("a", {"cursor": 0})
    room.show("tab", {"cursor": 1})
    assert room.table.client_of("tab") == 3
    assert room.seen("b") == {1, 3}
    room.cut("tab")
    assert room.seen("b") == {1}


def test_two_tabs_that_hear_each_other_come_to_rest() -> None:
    room, a, b = pair()
    room.cut("a")
    room.join("a", a, ANN)
    assert a.clocks[1] < b.clocks[1]
    for seconds in (0, 15, CATCHES_UP):
        room.now += seconds
        room.show("a", a.states[1])
        for _ in range(3):  # the tab beside sends on what the server told it
            if changed := a.apply(b.encode((1,))):
                room.say("a", changed)
        assert a.clocks[1] == b.clocks[1]


def test_a_tab_that_moves_twice_before_its_neighbour_repeats_the_first_comes_to_rest_where_it_moved_to() -> None:
    table, a, b = AwarenessTable[str](), YAwareness(1), YAwareness(2)
    table.hear("a", a.encode((1,)), ANN, ANN.id, NOW)
    moves = [a.set({"cursor": 1}), a.set({"cursor": 2})]
    to_b = deque(table.hear("a", move, ANN, ANN.id, NOW).to_others for move in moves)
    frames = 0
    while to_b:
        frames += 1
        assert frames < 10, "a loop"
        repeated = a.apply(b.apply(to_b.popleft()))
        if repeated and (news := table.hear("a", repeated, ANN, ANN.id, NOW).to_others):
            to_b.append(news)
    assert a.states[1]["cursor"] == b.states[1]["cursor"] == 2
    assert table.hear("a", a.set({"cursor": 1}), ANN, ANN.id, NOW).to_others, "what it says anew is news"


def test_what_is_remembered_of_what_was_told_is_kept_in_bounds() -> None:
    room, a, b = pair()
    a.clocks[a.client] = room.table.highest + 1
    for n in range(3 * TOLD_KEPT):
        room.show("a", {"cursor": n})
        room.show("b", {"cursor": n})
    kept = room.table._entries[a.client].told
    assert kept is not None and len(kept) == TOLD_KEPT
    assert room.table._entries[b.client].told is None, "who has no tab beside it repeats nothing"


def test_renewals_reach_the_others() -> None:
    room, a, b = pair()
    for _ in range(5):
        room.now += 15
        before = b.clocks[1]
        room.show("a", a.states[1])
        assert b.clocks[1] > before


def test_user_is_written_over_by_the_connection_and_its_other_fields_stay() -> None:
    """Attack 35."""
    room, a, b = pair()
    room.show("a", {"user": {"id": "u-root", "name": "Root", "kind": "agent", "device": "x", "color": "#f00"}})
    assert b.states[1]["user"] == {"id": "u-ann", "name": "Ann", "kind": "user", "device": "phone", "color": "#f00"}
    room.show("a", {"user": "root"})
    assert b.states[1]["user"]["name"] == "Ann"
    room.clients["a"] = (a, Person("u-ann", "Ann"))
    room.show("a", {"user": {"device": "mine"}})
    assert "device" not in b.states[1]["user"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{oops", Malformed),
        ("[]", Malformed),
        ("5", Malformed),
        (" null", Malformed),
        ('{"a":NaN}', Malformed),
        ('{"a":1e999}', Malformed),
        ('{"a":' + "[" * 16 + "]" * 16 + "}", TooLarge),
        ('{"a":' + "[" * 2000 + "]" * 2000 + "}", TooLarge),
        ('{"a":"' + "x" * 4090 + '"}', TooLarge),
        ('{"a":"' + "é" * 2045 + '"}', TooLarge),
    ],
)
def test_a_state_that_is_none_is_refused_and_changes_nothing(text: str, error: type[Malformed]) -> None:
    """Attack 35."""
    room, a, b = pair()
    before = room.table.known()
    with pytest.raises(error):
        room.table.hear("a", (State(1, 50, '{"fine":1}'), State(1, 51, text)), ANN, ANN.id, NOW)
    assert room.table.known() == before
    with pytest.raises(error):
        room.table.hear("new", (State(7, 1, text),), ANN, ANN.id, NOW)
    assert room.table.client_of("new") is None


def test_a_clock_beyond_all_honest_ones_is_refused() -> None:
    room, _, _ = pair()
    with pytest.raises(Malformed):
        room.table.hear("a", (State(1, MAX_CLIENT_CLOCK + 1, "{}"),), ANN, ANN.id, NOW)
    room.table.hear("a", (State(1, MAX_CLIENT_CLOCK, "{}"),), ANN, ANN.id, NOW)
    assert max(state.clock for state in room.table.known()) == MAX_CLIENT_CLOCK


def test_half_a_surrogate_pair_travels_as_its_escape() -> None:
    text = '{"name":"\\ud83d","e":"\\ud83d\\ude00"}'
    assert json.loads(write_state(read_state(text))) == json.loads(text)
    write_state(read_state(text)).encode()


def test_a_joiner_sees_its_own_other_devices_once_it_has_spoken() -> None:
    room, a, b = pair()
    phone = YAwareness(3)
    phone.set(None)
    room.join("phone", phone, ANN)
    assert room.seen("phone") == {2}
    room.show("phone", {})
    assert room.seen("phone") == {1, 2}
    assert {state.client for state in room.table.welcome("phone", ANN.id)} == {1, 2}


def test_whoever_was_told_nothing_for_a_while_hears_who_left_meanwhile() -> None:
    room, a, b = pair()
    parked, _ = room.clients.pop("b")
    room.cut("a")
    assert set(parked.states) == {1, 2}
    parked.apply(room.table.welcome("b", WEI.id))
    assert set(parked.states) == {2}
    room.clients["b"] = (parked, WEI)
    room.join("a", a, ANN)
    assert room.seen("b") == {1}


def test_departed_ids_are_kept_in_bounds() -> None:
    table: AwarenessTable[int] = AwarenessTable()
    for n in range(3 * DEPARTED_KEPT):
        table.hear(n, (State(n, 0, "{}"),), ANN, ANN.id, NOW)
        assert len(table.leave(n)) == 1
    assert len(table._departed) == DEPARTED_KEPT
    assert table.known() == ()


def test_presence_reads_and_writes_alike_and_survives_strangers() -> None:
    presence = Presence(ANN, {"anchor": [1, 2]}, "typing", {"field": "body"})
    back = read_presence(presence.to_json())
    assert (back.user, back.cursor, back.status, back.rest["field"]) == (ANN, {"anchor": [1, 2]}, "typing", "body")
    assert read_presence(back.to_json()) == back
    odd = read_presence('{"user":{"name":5},"status":7,"color":"red"}')
    assert odd.user is None
    assert odd.status is None
    assert odd.rest["color"] == "red"
    assert Presence().to_json() == "{}"


@pytest.mark.parametrize("seed", range(300))
def test_any_schedule_ends_with_everybody_seeing_exactly_who_is_here(seed: int) -> None:
    draw = random.Random(seed)
    room = Room()
    people = {str(n): YAwareness(n) for n in range(1, 6)}
    ghosts: list[str] = []
    serial = 0
    here: dict[str, str] = {}
    for _ in range(60):
        name = draw.choice(list(people))
        client = people[name]
        room.now += draw.choice((0.0, 0.1, 15.0))
        match draw.randrange(6):
            case 0 if name in here:
                room.cut(here.pop(name))
            case 1 if name in here:
                ghosts.append(here[name])
                room.drop(here.pop(name))
            case 2 if ghosts:
                gone = ghosts.pop()
                room.tell(room.table.leave(gone), gone)
            case 3 if name in here:
                room.say(here[name], client.goodbye())
                room.cut(here.pop(name))
            case _ if name in here:
                room.show(here[name], draw.choice((None, {"cursor": draw.randrange(9)}, client.states.get(int(name)))))
            case _:
                serial += 1
                here[name] = f"{name}/{serial}"
                room.join(here[name], client, Person(name, name))
    for gone in ghosts:
        room.tell(room.table.leave(gone), gone)
    visible = {int(name) for name in here if int(name) in people[name].states}
    for name, connection in here.items():
        assert room.seen(connection) == visible - {int(name)}
        for other in visible - {int(name)}:
            theirs = {k: v for k, v in people[str(other)].states[other].items() if k != "user"}
            ours = {k: v for k, v in people[name].states[other].items() if k != "user"}
            assert ours == theirs
