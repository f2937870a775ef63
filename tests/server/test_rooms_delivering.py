"""What is brought without a socket, while the room that takes it ends, or others bring something, too."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from kit.rooms import ANN, WEI, Peer, enter, new_name, rooms_on, rooms_over, settled
from pycrdt import Map

from crdt_docs.updates.compose import Composer
from crdt_docs.updates.parse import Parsed
from server.domain.access import Principal, Role
from server.domain.clock import SystemClock
from server.domain.errors import Forbidden, TooMany, Unavailable
from server.rooms.delivering import MOST
from server.rooms.room import Room
from server.store.log import SqliteLog


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


async def test_who_was_taken_off_or_given_less_meanwhile_brings_nothing(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name, ann, wei = new_name(), just(ANN), just(WEI)
        await rooms.revoke(lambda who, _: who.user == ANN.user, 4403, "you are not on this task any more")
        await rooms.change_role(name.task, WEI.user, Role.COMMENTER)
        for who in (ann, wei):
            with pytest.raises(Forbidden):
                await rooms.deliver(name, who, said(7, "late"), 1)
        assert (await rooms.read(name)).seq == 0
        assert await rooms.deliver(name, just(ANN), said(7, "back again"), 1) == 1


async def test_what_is_brought_to_a_full_disk_is_not_there_and_can_be_brought_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteLog(tmp_path / "log.db", "process") as log:
        async with rooms_on(log) as rooms:
            name = new_name()

            def full(batch: object) -> list[int | None]:
                raise OSError(28, "No space left on device")

            with monkeypatch.context() as patch:
                patch.setattr(log, "append", full)
                for _ in range(2):  # the second finds it read-only
                    with pytest.raises(Unavailable):
                        await rooms.deliver(name, just(ANN), said(7, "kept"), 1)
            await asyncio.sleep(1.1)
            assert (await rooms.read(name)).seq == 0
            assert await rooms.deliver(name, just(ANN), said(7, "kept"), 1) == 1


async def test_i4_nobody_goes_on_under_an_id_under_which_somebody_has_brought_words(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        hers, forged = Peer(77), Peer(77)
        hers.text += "Hers."
        await rooms.deliver(name, just(ANN), hers.doc.get_update(), 1)
        wei = await enter(rooms, name, 5, WEI)
        forged.doc.apply_update(hers.doc.get_update())
        forged.connection = wei.connection
        await forged.type(" Not hers.")
        assert wei.closed is not None and wei.closed[0] == 4409

        hers.text += " And more."  # in a tab that was open meanwhile
        hers.connection = await rooms.join(name, ANN, Role.EDITOR, hers)
        await hers.greet()
        late = await enter(rooms, name, 6, WEI)
        await settled(rooms)
        late.hear()
        assert str(late.text) == "Hers. And more."
