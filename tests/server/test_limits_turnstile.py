"""How many may be connected, and what may come at once."""

from __future__ import annotations

import asyncio

import pytest
from kit.clock import FakeClock

from crdt_docs.ids import DeviceId, TokenId, UserId
from crdt_docs.messages import Awareness, Barrier, QueryAwareness, SyncStep1, Update
from crdt_docs.messages.vocabulary import Stateless, Token
from crdt_docs.messages.ywebsocket import encode
from server.domain.access import Principal
from server.domain.allowance import Allowance
from server.domain.errors import CLOSE_TOO_FAST, TooMany
from server.doors.turnstile import PROMPT, Caps, Turnstile, caps, connections_possible
from server.sync.inflow import ANSWERED, BYTES, Inflow

LAPTOP = Principal(UserId("ann"), "Ann", device=DeviceId("laptop"))
SCRIPT = Principal(UserId("ann"), "Ann", token=TokenId("script"))
WEI = Principal(UserId("wei"), "Wei", device=DeviceId("phone"))


def test_an_allowance_gives_its_burst_and_then_its_rate() -> None:
    clock = FakeClock()
    allowance = Allowance(10, 2, clock)
    assert all(allowance.spend() for _ in range(10))
    assert not allowance.spend()
    clock.advance(1)
    assert [allowance.spend() for _ in range(3)] == [True, True, False]
    clock.advance(1_000)
    assert [allowance.spend() for _ in range(11)] == [True] * 10 + [False]


def test_connections_are_bounded_in_all_and_given_back() -> None:
    turnstile = Turnstile(Caps(connections=2), FakeClock())
    first, _ = turnstile.arrive("192.0.2.1"), turnstile.arrive(None)
    with pytest.raises(TooMany) as told:
        turnstile.arrive("192.0.2.2")
    assert told.value.close == CLOSE_TOO_FAST
    first.leave()
    first.leave()
    turnstile.arrive("192.0.2.2")
    assert turnstile.connections == 2
    assert turnstile.refused == {"connections": 1}


def test_strangers_are_bounded_by_address_until_they_are_known() -> None:
    turnstile = Turnstile(Caps(address=2), FakeClock())
    first, second = turnstile.arrive("192.0.2.1"), turnstile.arrive("192.0.2.1")
    with pytest.raises(TooMany):
        turnstile.arrive("192.0.2.1")
    turnstile.arrive("192.0.2.2")
    first.known()
    third = turnstile.arrive("192.0.2.1")
    for passage in (first, second, third):
        passage.leave()
    for _ in range(2):
        turnstile.arrive("192.0.2.1")
    with pytest.raises(TooMany):
        turnstile.arrive("192.0.2.1")


def test_addresses_of_one_ipv6_network_are_one_and_a_mapped_address_is_what_it_maps() -> None:
    turnstile = Turnstile(Caps(address=1), FakeClock())
    turnstile.arrive("2001:db8::1")
    turnstile.arrive("::ffff:192.0.2.1")
    for again in ("2001:db8::2:1", "192.0.2.1"):
        with pytest.raises(TooMany):
            turnstile.arrive(again)
    turnstile.arrive("2001:db8:0:1::1")


def test_where_a_proxy_may_stand_no_address_is_counted_unasked() -> None:
    assert caps(None, 10, local=True).address is None
    assert caps(None, 10, local=False).address is not None
    assert caps(0, 10, local=False).address is None
    assert caps(5, 10, local=True).address == 5


def test_documents_are_bounded_by_user_and_by_credential_and_one_user_is_no_other_s_trouble() -> None:
    turnstile = Turnstile(Caps(party=3, credential=2), FakeClock())
    turnstile.enter(SCRIPT, 1)
    turnstile.enter(SCRIPT, 2)
    with pytest.raises(TooMany, match="one credential"):
        turnstile.enter(SCRIPT, 3)
    turnstile.enter(LAPTOP, 4)
    with pytest.raises(TooMany, match="one user"):
        turnstile.enter(LAPTOP, 5)
    turnstile.enter(WEI, 6)
    for refused in (3, 5):
        turnstile.depart(refused)  # which never was in
    turnstile.depart(1)
    turnstile.enter(SCRIPT, 7)
    for inside in (2, 4, 6, 7):
        turnstile.depart(inside)
    assert not turnstile._parties


async def test_refusals_are_told_at_once_unless_they_come_thick_and_fast() -> None:
    turnstile = Turnstile(Caps(), FakeClock())
    for _ in range(PROMPT):
        with pytest.raises(StopIteration):  # done without a wait
            turnstile.hold().send(None)
    late = asyncio.ensure_future(turnstile.hold())
    await asyncio.sleep(0)
    assert not late.done()
    assert turnstile.held == 1
    await late
    assert turnstile.held == 0


def test_the_process_keeps_descriptors_for_itself() -> None:
    import resource

    possible = connections_possible()
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert 0 < possible < soft


@pytest.mark.parametrize("kind", ANSWERED)
def test_what_costs_an_answer_is_counted_apart(kind: str) -> None:
    frames = {
        "SyncStep1": encode(SyncStep1(b"\0")),
        "QueryAwareness": encode(QueryAwareness()),
        "awareness": encode(Awareness(())),
        "barriers": encode(Barrier(1)),
        "credentials": b"\x66\x00",
    }
    inflow = Inflow(FakeClock())
    burst, _ = ANSWERED[kind]  # type: ignore[index]
    assert all(inflow.hear(frames[kind]) is None for _ in range(burst))
    assert inflow.hear(frames[kind]) == f"too many {kind}"
    assert inflow.hear(encode(Update(b"\0\0"))) is None


def test_bytes_and_messages_have_their_bounds() -> None:
    inflow = Inflow(FakeClock())
    frame = bytes(8 * 1024 * 1024)
    assert all(inflow.hear(b"\0\2" + frame) is None for _ in range(BYTES[0] // len(frame) - 1))
    assert inflow.hear(b"\0\2" + frame) == "too much at once"
    inflow = Inflow(FakeClock())
    assert all(inflow.hear(b"\0\2\2\0\0") is None for _ in range(500_000))
    assert any(inflow.hear(b"\0\2\2\0\0") for _ in range(50_000))


def test_the_other_wire_s_words_count_alike() -> None:
    inflow = Inflow(FakeClock())
    assert all(inflow.hear_body(Token("t"), 9) is None for _ in range(ANSWERED["credentials"][0]))
    assert inflow.hear_body(Token("t"), 9) == "too many credentials"
    assert all(inflow.hear_body(Stateless("x"), 9) is None for _ in range(ANSWERED["barriers"][0]))
    assert inflow.hear_body(Stateless("x"), 9) == "too many barriers"
    assert inflow.hear_body(None, 1) is None
