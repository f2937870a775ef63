"""How much one socket may say."""

from __future__ import annotations

from kit.clock import FakeClock

from server.sync.inflow import ANSWERED, Inflow

ASKING = b"\0\0\1\0"
BARRIER = b"\x64\1"


def test_what_is_answered_may_come_all_at_once_and_then_at_its_rate() -> None:
    clock = FakeClock()
    inflow = Inflow(clock)
    burst, rate = ANSWERED["SyncStep1"]
    assert not any(inflow.hear(ASKING) for _ in range(burst))
    assert inflow.hear(ASKING) == "too many SyncStep1"
    assert inflow.hear(BARRIER) is None
    clock.advance(10)
    assert not any(inflow.hear(ASKING) for _ in range(10 * rate))
    assert inflow.hear(ASKING) == "too many SyncStep1"


def test_who_asks_now_and_then_for_long_is_never_too_fast() -> None:
    clock = FakeClock()
    inflow = Inflow(clock)
    burst, rate = ANSWERED["SyncStep1"]
    for _ in range(3 * burst):
        clock.advance(1 / rate)
        assert inflow.hear(ASKING) is None
