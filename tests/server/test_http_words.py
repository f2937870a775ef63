"""What is kept of tasks to compare first messages with: read once, waited for once, bounded."""

from __future__ import annotations

from collections import Counter

import anyio
import pytest

from crdt_docs.ids import DocName, TaskId
from server.domain.likeness import Profile, profile
from server.http import words
from server.http.words import Wanted, Words


def wanted(name: str, changed: float = 1.0) -> Wanted:
    return Wanted(DocName(TaskId(name)), name, changed)


class Shelf:
    """Documents, each with a word of its own; one that is held does not come until it is let go."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.held: dict[str, anyio.Event] = {}

    async def read(self, document: DocName) -> Profile:
        self.asked[document.task] += 1
        if document.task in self.held:
            await self.held[document.task].wait()
        return profile(f"word{document.task}")


async def test_a_document_is_read_once_for_each_time_it_changed() -> None:
    shelf = Shelf()
    async with Words(shelf.read) as known:
        for _ in range(3):
            found = await known.profiles([wanted("a")], 5)
        assert set(found[DocName(TaskId("a"))].counts) == {"worda"} and shelf.asked["a"] == 1
        await known.profiles([wanted("a", 2.0)], 5)
        assert shelf.asked["a"] == 2


async def test_nobody_waits_for_what_was_waited_for_in_vain_and_what_it_brings_is_there_later() -> None:
    shelf = Shelf()
    shelf.held["a"] = anyio.Event()
    async with Words(shelf.read) as known:
        assert set(await known.profiles([wanted("a"), wanted("b")], 0.1)) == {DocName(TaskId("b"))}
        with anyio.fail_after(10):
            assert DocName(TaskId("a")) not in await known.profiles([wanted("a"), wanted("b")], 60)
            assert DocName(TaskId("a")) not in await known.profiles([wanted("a", 2.0)], 60), "changed or not"
        shelf.held.pop("a").set()
        await anyio.wait_all_tasks_blocked()
        assert set(await known.profiles([wanted("a", 2.0), wanted("b")], 60)) == {wanted("a")[0], wanted("b")[0]}
    assert shelf.asked == {"a": 2, "b": 1}, "what changed while it was read is read again"


async def test_what_stood_there_before_serves_until_the_new_is_read() -> None:
    shelf = Shelf()
    async with Words(shelf.read) as known:
        await known.profiles([wanted("a")], 5)
        shelf.held["a"] = anyio.Event()
        assert DocName(TaskId("a")) in await known.profiles([wanted("a", 2.0)], 0.05)


async def test_a_document_that_is_deleted_while_it_is_read_leaves_nothing() -> None:
    shelf = Shelf()
    shelf.held["a"] = anyio.Event()
    async with Words(shelf.read) as known:
        await known.profiles([wanted("a")], 0.05)
        known.forget(DocName(TaskId("a")))
        shelf.held.pop("a").set()
        await anyio.wait_all_tasks_blocked()
        assert await known.profiles([], 0) == {} and not known._kept and not known._underway


async def test_what_is_kept_is_bounded_and_the_longest_unused_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "TERMS_KEPT", 3)
    shelf = Shelf()
    async with Words(shelf.read) as known:
        for name in ("a", "b", "c", "a", "d"):
            await known.profiles([wanted(name)], 5)
        for name in ("a", "c", "d"):
            await known.profiles([wanted(name)], 5)
    assert shelf.asked == {"a": 1, "b": 1, "c": 1, "d": 1}


async def test_a_reading_that_fails_is_begun_again_and_not_waited_for_until_the_task_changes() -> None:
    shelf, failing = Shelf(), True

    async def read(document: DocName) -> Profile:
        if failing:
            raise RuntimeError("just now")
        return await shelf.read(document)

    async with Words(read) as known:
        assert await known.profiles([wanted("a")], 60) == {}
        failing = False
        shelf.held["a"] = anyio.Event()
        with anyio.fail_after(10):
            assert await known.profiles([wanted("a")], 60) == {}
        shelf.held.pop("a").set()
        await anyio.wait_all_tasks_blocked()
        assert len(await known.profiles([wanted("a")], 60)) == 1
