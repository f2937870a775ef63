"""Rooms over a real log: roles on every frame, client ids, hostile bytes, revocation, leases."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kit.rooms import ANN, WEI, Peer, Replica, enter, new_name, rooms_over, settled, until
from pycrdt import Map, Text

from crdt_docs.ids import DocName
from crdt_docs.messages import Notice, SyncStep1
from crdt_docs.messages.ywebsocket import decode_reply, step2_frame, update_frame
from server.domain.access import LoginId, Principal, Role
from server.domain.clock import SystemClock
from server.domain.errors import Forbidden
from server.rooms.limits import Limits


async def test_a_viewers_update_and_step2_change_nothing(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2, WEI, Role.VIEWER)
        await two.type("mine")
        await two.say(step2_frame(two.doc.get_update()))
        await settled(rooms)
        assert (await rooms.read(name)).seq == 0
        assert any(frame[0] == 0x65 for frame in two.frames)
        assert two.closed is None
        one.hear()
        assert str(one.text) == ""


async def test_a_commenter_writes_the_margin_and_not_the_main_document(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        main = new_name()
        margin = DocName(main.task, "margin")
        for name, seq in ((main, 0), (margin, 1)):
            peer = await enter(rooms, name, 3, WEI, Role.COMMENTER)
            await peer.type("x")
            await settled(rooms)
            assert (await rooms.read(name)).seq == seq


async def test_a_role_change_is_in_force_from_the_next_frame(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        peer = await enter(rooms, name, 1, WEI)
        await peer.type("a")
        await rooms.change_role(name.task, WEI.user, Role.VIEWER)
        await peer.type("b")
        await settled(rooms)
        assert (await rooms.read(name)).seq == 1


async def test_a_page_is_told_of_its_role_at_once_and_asked_for_its_words_when_it_may_write_again(
    tmp_path: Path,
) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        page = await enter(rooms, name, 1, replace(WEI, login=LoginId("cookie")))
        script = await enter(rooms, name, 2, WEI)
        told = []
        for role in (Role.VIEWER, Role.VIEWER, Role.EDITOR):
            page.frames.clear()
            script.frames.clear()
            await rooms.change_role(name.task, WEI.user, role)
            told.append([decode_reply(frame) for frame in page.frames])
            assert not any(frame[0] == 103 for frame in script.frames)
        notice = f'{{"kind":"role","task":"{name.task}","role":"%s"}}'
        assert told[0] == [Notice(notice % "viewer")]
        assert told[1] == []
        assert [type(message) for message in told[2]] == [Notice, SyncStep1]
        assert told[2][0] == Notice(notice % "editor")


async def test_anothers_client_id_is_refused_4409_and_its_owner_goes_on(tmp_path: Path) -> None:
    """Attack 29."""
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2, WEI)
        await one.type("a")
        await settled(rooms)
        fake = Replica(client_id=1)
        fake["t"] = text = Text()
        text += "zz"
        await two.say(update_frame(fake.get_update()))
        assert two.closed is not None
        assert two.closed[0] == 4409
        await one.type("b")
        await settled(rooms)
        assert (await rooms.read(name)).seq == 2


async def test_claims_outlive_a_restart(tmp_path: Path) -> None:
    name = new_name()
    async with rooms_over(tmp_path / "log.db") as rooms:
        one = await enter(rooms, name, 1)
        await one.type("a")
        await settled(rooms)
    async with rooms_over(tmp_path / "log.db") as rooms:
        two = await enter(rooms, name, 2, WEI)
        one.text += "b"
        await two.say(update_frame(one.doc.get_update()))
        assert two.closed is not None
        assert two.closed[0] == 4409


@pytest.mark.parametrize("frame", [b"\x00\x02\x05abc", b"\x82\x00", b"\x09", b"\x00\x02\x02\x00\x00\x00", b""])
async def test_malformed_bytes_close_4400_and_harm_nobody_else(tmp_path: Path, frame: bytes) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2)
        await two.say(frame)
        assert two.closed is not None
        assert two.closed[0] == 4400
        await one.type("a")
        await settled(rooms)
        assert (await rooms.read(name)).seq == 1


async def test_i5_nothing_of_a_revoked_party_is_committed_or_handed_over_once_revoke_returned(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2, WEI)
        await two.type("before")
        await rooms.revoke(lambda who, _: who.user == WEI.user, 4403, "revoked")
        seq = (await rooms.read(name)).seq
        assert two.closed == (4403, "revoked")
        await two.type("after")
        await one.type("x")
        await settled(rooms)
        assert (await rooms.read(name)).seq == seq + 1
        with pytest.raises(Forbidden):
            await rooms.join(name, WEI, Role.EDITOR, Peer(9))
        with pytest.raises(Forbidden):
            await rooms.compose(name, WEI, lambda composer: composer.set("meta", "a", 1))
        later = Principal(WEI.user, "Wei", authenticated_at=SystemClock().monotonic())
        assert (await enter(rooms, name, 10, later)).closed is None


async def test_a_connection_by_ticket_is_asked_to_renew_and_ends_with_its_lease(tmp_path: Path) -> None:
    now = SystemClock().now()
    leased = Principal(ANN.user, "Ann", expires_at=now + 2.5)
    async with rooms_over(tmp_path / "log.db", Limits(renew_before=60)) as rooms:
        one, two = await enter(rooms, new_name(), 1, leased), await enter(rooms, new_name(), 2, leased)
        heard: list[str] = []

        async def renew(ticket: str) -> None:
            heard.append(ticket)
            one.connection.expires_at = now + 3600

        one.connection.renew = renew
        await until(lambda: b"\x66\x00" in one.frames)
        assert b"\x66\x00" not in two.frames
        await one.say(b"\x66\x03abc")
        assert heard == ["abc"]
        await until(lambda: two.closed is not None)
        assert two.closed == (4401, "your lease has run out")
        assert one.closed is None


async def test_an_editor_demoted_while_their_long_frame_is_parsed_writes_nothing(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        peer = await enter(rooms, name, 1, WEI)
        peer.text += "x" * 50_000
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(peer.say(update_frame(peer.doc.get_update())))
            await asyncio.sleep(0)
            await rooms.change_role(name.task, WEI.user, Role.VIEWER)
            with pytest.raises(Forbidden):
                await rooms.compose(name, WEI, lambda composer: composer.set("meta", "a", 1))
        await settled(rooms)
        assert (await rooms.read(name)).seq == 0
        assert any(frame[0] == 0x65 for frame in peer.frames)
        assert await rooms.compose(name, ANN, lambda composer: composer.set("meta", "a", 1)) == 1
        await rooms.change_role(name.task, WEI.user, Role.EDITOR)
        assert await rooms.compose(name, WEI, lambda composer: composer.set("meta", "a", 2)) == 2


async def test_an_expired_bearer_says_nothing_more_even_before_the_sweep(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        peer = await enter(rooms, name, 1, WEI)
        peer.connection.expires_at = SystemClock().now() - 0.001
        await peer.type("late")
        await settled(rooms)
        assert peer.closed == (4401, "your lease has run out")
        assert (await rooms.read(name)).seq == 0


async def test_a_composed_write_that_was_overtaken_looks_again_and_wins(tmp_path: Path) -> None:
    async with rooms_over(tmp_path / "log.db", Limits(inline_frame=1)) as rooms:
        name = new_name()
        one = await enter(rooms, name, 2**31)
        await rooms.compose(name, ANN, lambda composer: composer.set("meta", "name", "first"))
        names = [f"name {at}" for at in range(5)]

        async def rename(word: str) -> None:
            await rooms.compose(name, ANN, lambda composer: composer.set("meta", "name", word))

        async with asyncio.TaskGroup() as tasks:
            for word in names:
                tasks.create_task(rename(word))
        one.hear()
        assert one.doc.get("meta", type=Map[Any]).to_py()["name"] in names
        log = Replica()
        log.apply_update((await rooms.read(name)).update)
        assert log.get("meta", type=Map[Any]).to_py() == one.doc.get("meta", type=Map[Any]).to_py()
