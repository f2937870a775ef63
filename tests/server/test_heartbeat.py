"""When a socket is asked whether it is still there, and how long its answer is waited for, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from kit.sockets import Wire
from kit.virtual_time import VirtualLoop, virtual_loop

from server.sync.framing import PING
from server.sync.heartbeat import AT_ONCE, GRAIN, LOST, PONG_AGAIN, Beat, Heartbeat, Pulse

EVERY, WITHIN = 20.0, 70.0


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    with virtual_loop() as running:
        yield running


class Peer:
    """A socket that may be told to answer. Keeps when it was asked, and how it was ended."""

    def __init__(self, loop: VirtualLoop, answers: bool = False) -> None:
        self.transport: asyncio.Transport = Wire()
        self.ended = False
        self.held = False
        self.ends: list[tuple[float, int, str]] = []
        self.asked: list[float] = []
        self.heartbeat: Heartbeat | None = None
        self._loop = loop
        self._answers = answers

    def write(self, data: bytes) -> None:
        assert data[0] & 15 == PING
        self.asked.append(self._loop.time())
        if self._answers and self.heartbeat is not None:
            self._loop.call_later(0.1, self.heartbeat.heard, data[2:])

    def end(self, code: int, why: str) -> None:
        self.ended = True
        self.ends.append((self._loop.time(), code, why))


def pulse_on(loop: VirtualLoop, every: float | None = EVERY, within: float | None = WITHIN) -> Pulse:
    return Pulse(Beat(every, within), loop)


def peer_on(pulse: Pulse, loop: VirtualLoop, answers: bool = False) -> Peer:
    peer = Peer(loop, answers)
    peer.heartbeat = Heartbeat(peer, pulse)
    return peer


def pass_time(loop: VirtualLoop, seconds: float, *during: Any) -> None:
    """``during``: pairs of a moment from now and what is called then."""
    for moment, call in during:
        loop.call_later(moment, call)
    loop.run_until_complete(asyncio.sleep(seconds))


def test_who_answers_is_asked_again_and_again_and_never_ended(loop: VirtualLoop) -> None:
    peer = peer_on(pulse_on(loop), loop, answers=True)
    pass_time(loop, 10 * EVERY)
    gaps = [later - earlier for earlier, later in zip([0.0, *peer.asked], peer.asked, strict=False)]
    assert len(gaps) == 9
    assert all(EVERY <= gap <= EVERY + 0.1 + GRAIN for gap in gaps)
    assert not peer.ends and not peer.transport.is_closing()


def test_who_does_not_answer_is_ended_when_its_time_is_over_and_not_asked_again(loop: VirtualLoop) -> None:
    peer = peer_on(pulse_on(loop), loop)
    pass_time(loop, EVERY + WITHIN - 0.1)
    assert not peer.ends
    pass_time(loop, 1_000)
    assert peer.ends == [(EVERY + WITHIN, *LOST)]
    assert peer.transport.is_closing()
    assert len(peer.asked) == 1


def test_who_reads_what_lies_before_the_ping_has_more_time_for_as_long_as_it_does(loop: VirtualLoop) -> None:
    peer = peer_on(pulse_on(loop), loop)
    assert peer.heartbeat is not None
    reads = [(moment, peer.heartbeat.drained) for moment in (EVERY + 1, EVERY + WITHIN + 1)]
    pass_time(loop, 1_000, *reads)
    assert peer.ends == [(EVERY + WITHIN + 2 * PONG_AGAIN, *LOST)]


def test_who_took_something_only_before_it_was_asked_has_no_more_time(loop: VirtualLoop) -> None:
    peer = peer_on(pulse_on(loop), loop)
    assert peer.heartbeat is not None
    pass_time(loop, 1_000, (EVERY - 1, peer.heartbeat.drained))
    assert peer.ends == [(EVERY + WITHIN, *LOST)]


def test_silence_of_whom_we_keep_from_being_heard_is_not_held_against_it(loop: VirtualLoop) -> None:
    peer = peer_on(pulse_on(loop), loop)
    peer.held = True
    pass_time(loop, EVERY + WITHIN + 3 * PONG_AGAIN + 1)
    assert not peer.ends
    peer.held = False
    pass_time(loop, PONG_AGAIN)
    assert peer.ends == [(EVERY + WITHIN + 4 * PONG_AGAIN, *LOST)]


def test_who_is_gone_is_neither_asked_nor_ended(loop: VirtualLoop) -> None:
    pulse = pulse_on(loop)
    idle, asked, closing, ended = (peer_on(pulse, loop) for _ in range(4))
    assert idle.heartbeat is not None and asked.heartbeat is not None
    pass_time(loop, 1_000, (1, idle.heartbeat.stop), (EVERY + 1, asked.heartbeat.stop), (1, closing.transport.close),
              (EVERY + 1, lambda: setattr(ended, "ended", True)))  # fmt: skip
    assert not idle.asked and len(asked.asked) == 1 and not closing.asked and len(ended.asked) == 1
    assert not idle.ends and not asked.ends and not closing.ends and not ended.ends


def test_each_is_asked_in_its_own_time_by_the_one_timer(loop: VirtualLoop) -> None:
    pulse = pulse_on(loop)
    peers = []
    for _ in range(20):
        peers.append((loop.time(), peer_on(pulse, loop, answers=True)))
        pass_time(loop, 3.3)
    pass_time(loop, 5 * EVERY)
    for came, peer in peers:
        first = peer.asked[0] - came
        assert EVERY - 0.001 <= first <= EVERY + GRAIN
        assert len(peer.asked) >= 5


def test_of_many_who_are_due_at_once_few_are_asked_in_one_turn_and_all_are_asked(loop: VirtualLoop) -> None:
    pulse = pulse_on(loop)
    peers = [peer_on(pulse, loop, answers=True) for _ in range(5 * AT_ONCE + 1)]
    pass_time(loop, EVERY - 1)
    loop.jump(1)
    counts = [0]

    async def count_turns() -> None:
        while counts[-1] < len(peers):
            await asyncio.sleep(0)
            counts.append(sum(len(peer.asked) for peer in peers))

    loop.run_until_complete(count_turns())
    assert max(later - earlier for earlier, later in zip(counts, counts[1:], strict=False)) <= AT_ONCE
    assert [len(peer.asked) for peer in peers] == [1] * len(peers)


@pytest.mark.parametrize("within", [WITHIN, None])
def test_where_nobody_is_to_be_asked_nobody_is(loop: VirtualLoop, within: float | None) -> None:
    peer = peer_on(pulse_on(loop, every=None, within=within), loop)
    pass_time(loop, 1_000)
    assert not peer.asked and not peer.ends


def test_where_no_answer_is_waited_for_it_is_asked_again_all_the_same(loop: VirtualLoop) -> None:
    peer = peer_on(pulse_on(loop, within=None), loop)
    pass_time(loop, 5 * EVERY + 1)
    assert len(peer.asked) == 5
    assert not peer.ends
