"""What time does to many rooms and connections: a little in each turn of the event loop."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from kit.clock import FakeClock
from kit.rooms import ANN, new_name, rooms_on, rooms_over, until

from server.domain.access import Role
from server.rooms.limits import Limits
from server.rooms.room import Room
from server.rooms.sweeping import AT_ONCE, SENT, Moment, sweep
from server.store.log import SqliteLog

MANY = 120


class Turns:
    """How much was sent in each turn of the loop."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self._over = True

    def note(self) -> None:
        if self._over:
            self._over = False
            self.sent.append(0)
            asyncio.get_running_loop().call_soon(self._end)
        self.sent[-1] += 1

    def _end(self) -> None:
        self._over = True


class Reader:
    """A transport that says when it is handed something."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    def send(self, frame: bytes) -> None:
        self._turns.note()

    def close(self, code: int, why: str) -> None:
        raise AssertionError("nobody is closed here")


async def test_who_heard_nothing_is_sent_a_sign_of_life_few_in_a_turn_in_one_room_and_in_many(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db", Limits(keepalive=1)) as rooms:
        turns, crowded = Turns(), new_name()
        names = [*(new_name() for _ in range(MANY)), *[crowded] * MANY]
        for connection in [await rooms.join(name, ANN, Role.EDITOR, Reader(turns)) for name in names]:
            connection.quiet = True
        await until(lambda: sum(turns.sent) >= 2 * MANY)
        assert max(turns.sent) <= AT_ONCE // SENT
        for room in rooms.live():
            for connection in tuple(room.connections):
                connection.leave()


async def test_signs_of_life_come_by_the_clock_however_late_the_looks_are(tmp_path: Path) -> None:
    clock, turns = FakeClock(), Turns()
    with SqliteLog(tmp_path / "log.db", "process") as log:
        async with rooms_on(log, Limits(keepalive=600), clock=clock) as rooms:
            connection = await rooms.join(new_name(), ANN, Role.EDITOR, Reader(turns))
            connection.quiet = True
            clock.advance(600)
            await until(lambda: sum(turns.sent) == 1)
            connection.leave()


def test_few_rooms_are_let_go_of_in_a_turn() -> None:
    class Idle:
        dead = False
        connections = ()

    def let_rest(room: Idle) -> None:
        room.dead = True

    idle = [Idle() for _ in range(MANY)]
    gone = [
        sum(room.dead for room in idle) for _ in sweep(cast(list[Room], idle), Moment(0, 0, False), cast(Any, let_rest))
    ]
    assert all(later - before <= AT_ONCE // SENT for before, later in pairwise([0, *gone, MANY]))
