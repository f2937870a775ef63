"""When tasks were last edited: once a second, and not forgotten when the store is out of order for one."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

import pytest
from kit.clock import FakeClock

from crdt_docs.ids import DocName, TaskId
from server.domain.errors import Unavailable
from server.rooms.touches import Touches
from server.store.tasks import Tasks

ONE, TWO = TaskId("11111111-1111-4111-8111-111111111111"), TaskId("22222222-2222-4222-8222-222222222222")


class Unwell:
    """A store that fails once."""

    def __init__(self) -> None:
        self.touched: list[set[TaskId]] = []
        self.is_well = False

    async def touch(self, tasks: Collection[TaskId], at: float) -> None:
        if not self.is_well:
            self.is_well = True
            raise Unavailable
        self.touched.append(set(tasks))


async def test_what_could_not_be_written_is_written_the_next_time() -> None:
    store = Unwell()
    touches = Touches(cast(Tasks, store), FakeClock())
    touches(DocName(ONE), 1, True, ())
    with pytest.raises(Unavailable):
        await touches.flush()
    touches(DocName(TWO), 1, True, ())
    await touches.flush()
    await touches.flush()
    assert store.touched == [{ONE, TWO}]


async def test_erasing_somebody_is_no_edit() -> None:
    store = Unwell()
    touches = Touches(cast(Tasks, store), FakeClock())
    touches(DocName(ONE), 1, False, ())
    await touches.flush()
    assert not store.touched and not store.is_well
