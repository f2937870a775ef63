"""Rooms over a real log: roles on every frame, client ids, hostile bytes, revocation, leases."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from kit.rooms import ANN, WEI, Peer, Replica, enter, new_name, rooms_over, settled, until
from pycrdt import Map, Text

from crdt_docs.ids import DocName
from crdt_docs.messages import Awareness, Notice, SyncStep1, hocuspocus
from crdt_docs.messages.vocabulary import State, Stateless
from crdt_docs.messages.ywebsocket import decode_reply, encode, step1_frame, step2_frame, update_frame
from crdt_docs.updates.splice import encode_update
from crdt_docs.updates.vectors import encode_state_vector
from server.domain.access import LoginId, Principal, Role
from server.domain.clock import SystemClock
from server.domain.errors import Forbidden
from server.rooms import admission
from server.rooms.limits import Limits
from server.sync.lane import Lane, Socket


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


async def test_nobody_is_present_under_a_client_id_that_somebody_else_has_written_under(tmp_path: Path) -> None:
    """Attack 35: who is away, and was forgotten by a room that rests, finds nobody else in their place."""
    name = new_name()
    async with rooms_over(tmp_path / "log.db") as rooms:
        one = await enter(rooms, name, 1)
        await one.type("a")
        await settled(rooms)
    async with rooms_over(tmp_path / "log.db") as rooms:
        thief = await enter(rooms, name, 2, WEI, Role.VIEWER)
        await thief.say(encode(Awareness((State(1, 5, '{"cursor":"theirs"}'),))))
        one = await enter(rooms, name, 1)
        assert presence_in(one) == []
        await one.say(encode(Awareness((State(1, 2, '{"cursor":"mine"}'),))))
        (seen,) = presence_in(thief)
        assert seen.client == 1 and seen.json is not None
        assert json.loads(seen.json) == {"cursor": "mine", "user": {"id": "ann", "name": "Ann", "kind": "user"}}


def presence_in(peer: Peer) -> list[State]:
    """What a peer was told of others."""
    told = [decode_reply(frame) for frame in peer.frames if frame[0] == 1]
    return [state for message in told if isinstance(message, Awareness) for state in message.states]


async def test_who_has_all_of_a_document_of_many_clients_may_say_so(tmp_path: Path) -> None:
    """Attack 34: a writer who brings many client ids shuts nobody out."""
    async with rooms_over(tmp_path / "log.db", Limits(state_vector_entries=10)) as rooms:
        name = new_name()
        many = await enter(rooms, name, 1)
        crowd = encode_update([(client, 0, 1, b"\x00\x01") for client in range(100, 130)], [])
        await many.say(update_frame(crowd))
        await settled(rooms)
        vector = dict.fromkeys(range(100, 140), 1)
        await many.say(step1_frame(encode_state_vector(vector)))
        assert many.closed is None
        await many.say(step1_frame(encode_state_vector({**vector, 140: 1})))
        assert many.closed is not None and many.closed[0] == 4413


async def test_a_document_has_a_bound_of_client_ids_and_who_has_one_writes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack 34: each of them is looked at whenever anybody joins."""
    monkeypatch.setattr(admission, "MOST_CLIENTS", 3)
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one, two = await enter(rooms, name, 1), await enter(rooms, name, 2)
        await one.type("a")
        await two.say(update_frame(encode_update([(client, 0, 1, b"\x00\x01") for client in (100, 101, 102)], [])))
        assert two.closed is not None and two.closed[0] == 4413
        two = await enter(rooms, name, 2)
        await two.say(update_frame(encode_update([(client, 0, 1, b"\x00\x01") for client in (100, 101)], [])))
        await two.type("b")
        assert two.closed is not None and two.closed[0] == 4413
        await one.type("c")
        assert one.closed is None


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


async def test_a_text_that_is_nested_deep_is_an_applications_own_and_ends_no_socket(tmp_path: Path) -> None:
    """Attack 35, on the other wire: what is no JSON to us is nothing to us."""
    async with rooms_over(tmp_path / "log.db") as rooms:
        name = new_name()
        one = await enter(rooms, name, 1)
        lane = Lane(str(name), cast(Socket, None))
        for text in map(Stateless, ("[" * 16_000, '{"a":' * 3_000, "{")):
            assert lane.hear(one.connection, text, hocuspocus.encode(str(name), text)) is None


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
