"""What is brought without a socket, while the room that takes it ends, or others bring something, too."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from kit.rooms import ANN, WEI, enter, new_name, rooms_over, settled
from pycrdt import Map

from crdt_docs.updates.compose import Composer
from crdt_docs.updates.parse import Parsed
from server.domain.access import Principal
from server.domain.clock import SystemClock
from server.domain.errors import TooMany, Unavailable
from server.rooms.delivering import MOST
from server.rooms.room import Room


def just(who: Principal, ago: float = 0.0) -> Principal:
    """Somebody who was authenticated so many seconds ago."""
    return replace(who, authenticated_at=SystemClock().monotonic() - ago)


def said(client: int, text: str) -> bytes:
    composer = Composer(client, 0, lambda parent, key: None)
    composer.set_text(composer.set_map("messages", text), "text", text)
    return composer.finish()


async def test_who_brings_something_is_answered_when_its_room_ends_before_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()

        async def end(room: Room, parsed: Parsed) -> None:
            room.dissolve(4404, "this task is gone")

        with monkeypatch.context() as patch:
            patch.setattr(Room, "bring_ahead", end)
            with pytest.raises(Unavailable):
                async with asyncio.timeout(5):
                    await rooms.deliver(name, just(ANN), said(7, "lost"), 1)
        assert await rooms.deliver(name, just(ANN), said(7, "kept"), 1) == 1
        one = await enter(rooms, name, 1)
        await settled(rooms)
        one.hear()
        assert list(one.doc.get("messages", type=Map)) == ["kept"]


async def test_who_brings_much_at_once_leaves_the_way_to_others(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        names = [new_name() for _ in range(MOST + 1)]
        all_at_once = [rooms.deliver(name, just(ANN), said(7, "hers"), 1) for name in names]
        *anns, weis = await asyncio.gather(
            *all_at_once, rooms.deliver(names[0], just(WEI), said(8, "his"), 1), return_exceptions=True
        )
        assert [type(one) for one in anns] == [int] * MOST + [TooMany] and isinstance(weis, int)
        assert await rooms.deliver(names[-1], just(ANN), said(7, "hers"), 1) == 1


async def test_what_was_under_way_for_longer_than_revocations_are_remembered_is_not_taken(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        late = just(ANN, rooms.limits.revocation_memory)
        with pytest.raises(Unavailable):
            await rooms.deliver(new_name(), late, said(7, "late"), 1)
