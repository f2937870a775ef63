"""When the writer begins a group: at once where nobody need wait, else after a pause that many share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from kit.clock import FakeClock

from crdt_docs.ids import UserId
from server.domain.access import PrincipalKey
from server.domain.log import Actor, Append, DocKey, Entry, UpdateLog
from server.rooms.writer import FOR_EACH, GROUP, LONGEST, SHARED, Writer, pause

ANN = Actor(PrincipalKey("ann"), UserId("ann"), None, None, None, None, "socket")


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
    """One that has something to commit whenever it is asked."""

    def __init__(self, key: int) -> None:
        self.key = DocKey(key)

    def take(self) -> Append:
        return Append(self.key, 0, (Entry(b"", ANN, 0.0),), ())

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

    async def begins(self) -> bool:
        """Whether a group begins with the next turn of the loop."""
        await asyncio.sleep(0)
        return self.disk.busy


@pytest.fixture
async def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr("server.rooms.writer.pause", lambda documents, took: 3600.0)  # no test waits for it
    desk = Desk()
    desk.writer.kick(desk.document)
    assert await desk.begins(), "who is the first waits for nobody"
    desk.disk.commit()
    return desk


async def test_what_one_turn_of_the_loop_brings_is_committed_together() -> None:
    desk = Desk()
    for document in (desk.document, desk.document, Document(2)):
        desk.writer.kick(document)
    assert await desk.begins()
    desk.disk.commit()
    assert (desk.writer.commits, desk.disk.busy) == (1, False)


async def test_who_comes_soon_after_a_commit_waits_for_others_to_share_the_next_one_with(desk: Desk) -> None:
    desk.writer.kick(Document(2))
    assert not await desk.begins()


async def test_when_enough_have_come_none_waits_any_longer(desk: Desk) -> None:
    for _ in range(GROUP):
        assert not await desk.begins()
        desk.writer.kick(desk.document)
    assert await desk.begins()


def test_two_who_write_to_each_other_wait_for_little_and_the_more_documents_the_more_share_a_commit() -> None:
    pauses = [pause(documents, 0.0002) for documents in range(1, 100)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (FOR_EACH, SHARED)


def test_a_slow_disk_gets_larger_groups_up_to_a_bound_and_one_document_alone_its_own_pace() -> None:
    assert pause(1, 0.015) == pause(1, 0.0)
    assert pause(2, 0.004) == 0.008
    assert pause(100, 3.0) == LONGEST
