"""What may become of a turn: every state against everything that can happen to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from crdt_docs.ids import AgentId, MessageId, TaskId, TokenId, TurnId, UserId, new_ordered_id
from server.domain import turn as states
from server.domain.turn import Host, Outcome, Refusal, Status, Turn

NOW = 1_800_000_000.0
ANN = UserId("ann")
MINE = Host(TokenId("mine"), AgentId("clew"), "Clew")
THEIRS = Host(TokenId("theirs"), AgentId("other"), "Other")


def message(at: float) -> MessageId:
    return MessageId(new_ordered_id(int(at * 1000)))


def a_turn(status: Status = "queued", attempt: int = 1) -> Turn:
    turn = states.queue(TurnId("t"), TaskId("task"), ANN, [message(NOW)], NOW)
    held = replace(turn, status=status, attempt=attempt)
    if status == "queued":
        return held
    return replace(held, host=MINE.id, agent=MINE.agent, started_at=NOW, lease_until=NOW + 30)


def end(outcome: Outcome) -> Callable[[Turn], Turn | Refusal]:
    return lambda turn: states.end(turn, MINE, outcome, None, NOW + 1)


EVENTS: dict[str, Callable[[Turn], Turn | Refusal]] = {
    "leased": lambda turn: states.lease(turn, MINE, NOW + 1),
    "leased by another": lambda turn: states.lease(turn, THEIRS, NOW + 1),
    "renewed": lambda turn: states.renew(turn, MINE, NOW + 1),
    "renewed by another": lambda turn: states.renew(turn, THEIRS, NOW + 1),
    "done": end("done"),
    "failed": end("failed"),
    "released": end("released"),
    "ended by another": lambda turn: states.end(turn, THEIRS, "done", None, NOW + 1),
    "stopped": lambda turn: states.stop(turn, NOW + 1),
    "a minute": lambda turn: states.age(turn, NOW + 60),
    "two days": lambda turn: states.age(turn, NOW + 2 * 86400),
}
TABLE: dict[Status, dict[str, str]] = {
    "queued": {
        "leased": "running", "leased by another": "running", "stopped": "stopped", "a minute": "queued",
        "two days": "expired",
    },
    "running": {
        "leased": "running", "renewed": "running", "done": "done", "failed": "queued", "released": "queued",
        "stopped": "stopped", "a minute": "queued", "two days": "queued",
    },
    "stopped": {
        "renewed": "stopped", "done": "stopped", "failed": "stopped", "released": "stopped", "stopped": "stopped",
        "a minute": "stopped", "two days": "stopped",
    },
    "done": {
        "done": "done", "failed": "done", "released": "done", "stopped": "done", "a minute": "done", "two days": "done"
    },
    "failed": {
        "done": "failed", "failed": "failed", "released": "failed", "stopped": "failed", "a minute": "failed",
        "two days": "failed",
    },
    "expired": {"stopped": "expired", "a minute": "expired", "two days": "expired"},
}  # fmt: skip
"""What comes of a turn of each status; whatever is missing is refused."""


@pytest.mark.parametrize("status", TABLE)
@pytest.mark.parametrize("event", EVENTS)
def test_the_table_of_what_may_become_of_a_turn(status: Status, event: str) -> None:
    after = EVENTS[event](a_turn(status))
    expected = TABLE[status].get(event)
    assert (after.status if isinstance(after, Turn) else None) == expected


@pytest.mark.parametrize(("event", "most"), [("failed", states.FAILURES), ("a minute", states.LOSSES)])
def test_an_attempt_that_comes_to_nothing_is_followed_by_others_and_then_the_turn_has_failed(
    event: str, most: int
) -> None:
    turn = a_turn()
    for attempt in range(1, most + 1):
        leased = states.lease(turn, MINE, NOW)
        assert isinstance(leased, Turn) and leased.attempt == attempt
        ended = EVENTS[event](leased)
        assert isinstance(ended, Turn) and ended.answer == turn.answer
        turn = ended
    assert turn.status == "failed" and turn.why and turn.ended_at is not None


def test_the_answer_comes_after_its_messages_also_those_of_a_device_whose_clock_is_ahead() -> None:
    early, ahead, absurd = message(NOW), message(NOW + 60), message(NOW + 10 * 365 * 86400)
    turn = states.queue(TurnId("t"), TaskId("task"), ANN, [early], NOW)
    more = states.add(turn, [ahead], NOW + 1)
    assert early < turn.answer and more.messages == (early, ahead)
    assert ahead < more.answer
    assert states.add(more, [absurd], NOW + 2).answer < absurd
    assert early < states.answer_after(["not an id", early], NOW)


def test_a_turn_whose_answer_was_begun_takes_no_more_messages() -> None:
    begun = EVENTS["released"](a_turn("running"))
    assert isinstance(begun, Turn) and states.room_in(begun) == 0 == states.room_in(None)
    assert states.room_in(a_turn()) == states.MOST_MESSAGES - 1


def test_a_user_s_host_takes_only_the_user_s_turns_and_of_its_task() -> None:
    turn = a_turn()
    assert MINE.may_take(turn)
    assert replace(MINE, user=ANN).may_take(turn)
    assert not replace(MINE, user=UserId("wei")).may_take(turn)
    assert not replace(MINE, user=ANN, task=TaskId("another")).may_take(turn)


def test_a_reason_is_one_line_and_not_too_long() -> None:
    assert states.clean_why(" the model\n did\tnot answer ") == "the model did not answer"
    assert states.clean_why(" \n") is None and states.clean_why(None) is None
    assert len(states.clean_why("x" * 5000) or "") == states.MAX_WHY
