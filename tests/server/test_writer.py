"""When the writer begins a group: at once where somebody would wait in vain, else when the interval is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from kit.clock import FakeClock

from crdt_docs.ids import UserId
from server.domain.access import PrincipalKey
from server.domain.log import Actor, Append, DocKey, Entry, UpdateLog
from server.rooms.writer import GROUP, Writer

ANN, WEI = (Actor(PrincipalKey(who), UserId(who), None, None, None, None, "socket") for who in ("ann", "wei"))


class Disk:
    """The lane and the log: a group is not committed before the test says so."""

    def __init__(self) -> None:
        self._flying: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self._flying.append((work, done))

    def append(self, batch: Sequence[Append]) -> list[int | None]:
        return [append.after + 1 for append in batch]

    def commit(self) -> None:
        work, done = self._flying.pop()
        done(work())

    @property
    def busy(self) -> bool:
        return bool(self._flying)


class Document:
    """One that has something to commit whenever it is asked, by whoever wrote last."""

    def __init__(self, key: int) -> None:
        self.key = DocKey(key)
        self.writer = ANN

    def take(self) -> Append:
        return Append(self.key, 0, (Entry(b"", self.writer, 0.0),), ())

    def moved(self, head: int) -> None: ...

    def release(self) -> None: ...

    def conflicted(self) -> None: ...

    def failed(self, error: BaseException) -> None: ...


class Desk:
    """A writer whose clock stands still, and what it has begun; one group has been committed, of ``document`` alone."""

    def __init__(self) -> None:
        self.disk = Disk()
        self.writer = Writer(cast(UpdateLog, self.disk), self.disk, FakeClock())
        self.document = Document(1)

    def write(self, document: Document, actor: Actor) -> None:
        document.writer = actor
        self.writer.kick(document, actor)

    async def begins(self) -> bool:
        """Whether a group begins with the next turn of the loop."""
        await asyncio.sleep(0)
        return self.disk.busy


@pytest.fixture
async def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name in ("INTERVAL", "LONGEST"):
        monkeypatch.setattr(f"server.rooms.writer.{name}", 3600.0)  # no test waits for it
    desk = Desk()
    desk.write(desk.document, ANN)
    assert await desk.begins(), "who is the first waits for nobody"
    desk.disk.commit()
    return desk


async def test_what_one_turn_of_the_loop_brings_is_committed_together(desk: Desk) -> None:
    for _ in range(3):
        desk.write(desk.document, WEI)
    assert await desk.begins()
    desk.disk.commit()
    assert (desk.writer.commits, desk.disk.busy) == (2, False)


async def test_who_answers_what_was_committed_alone_waits_for_nobody(desk: Desk) -> None:
    for actor in (WEI, ANN, WEI):
        desk.write(desk.document, actor)
        assert await desk.begins()
        desk.disk.commit()


@pytest.mark.parametrize("other", [False, True])
async def test_who_goes_on_and_who_writes_elsewhere_wait_for_others_to_share_a_commit_with(
    desk: Desk, other: bool
) -> None:
    desk.write(Document(2) if other else desk.document, WEI if other else ANN)
    assert not await desk.begins()


async def test_sixteen_need_not_wait(desk: Desk) -> None:
    for _ in range(GROUP):
        assert not await desk.begins()
        desk.write(desk.document, ANN)
    assert await desk.begins()
