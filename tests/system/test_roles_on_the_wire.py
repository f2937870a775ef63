"""What a role, another's client id and a revoked bearer may do by hand-made frames: nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from kit.served import Served
from kit.wire import Peer
from pycrdt import Doc, Text

from crdt_docs.ids import new_id
from crdt_docs.lib0 import varbytes
from crdt_docs.messages.vocabulary import SyncStep2, Update
from crdt_docs.messages.ywebsocket import encode

Replica = Doc[Any]


class People(NamedTuple):
    """Bearers of the other two; the owner's is ``served.token``. The names are what members lists call them."""

    viewer: str
    viewer_name: str
    editor: str
    editor_name: str


@pytest.fixture(scope="module")
def people(served: Served) -> Iterator[People]:
    viewer, editor = f"vera-{new_id()[:8]}", f"ed-{new_id()[:8]}"
    yield People(served.new_user(viewer), viewer, served.new_user(editor), editor)


@pytest.fixture
def task(served: Served, people: People) -> str:
    made = served.new_task()
    served.api.add_member(made, people.viewer_name, "viewer")
    served.api.add_member(made, people.editor_name, "editor")
    return made


def notes(peer: Peer) -> Text:
    assert peer.doc is not None
    text: Text = peer.doc.get("notes", type=Text)
    return text


async def write(peer: Peer, words: str) -> None:
    text = notes(peer)
    text += words
    await peer.push()
    await peer.barrier()


async def test_attack_11_a_viewers_update_changes_nothing_and_is_told_so(
    served: Served, people: People, task: str
) -> None:
    async with served.join(task, Replica()) as owner, served.join(task, Replica(), token=people.viewer) as viewer:
        await write(owner, "the owner's words")
        await viewer.until(lambda: str(notes(viewer)) == "the owner's words")
        before = served.api.export(task)
        await write(viewer, " and a viewer's")
        assert [(refused.code, len(refused.why) > 0) for refused in viewer.refused] == [(4403, True)]
        await write(owner, ".")
        assert str(notes(owner)) == "the owner's words."
        assert b"viewer" not in served.api.export(task)
        assert len(served.api.export(task)) >= len(before)
        await viewer.until(lambda: "." in str(notes(viewer)))
        assert not viewer.closed.done()


async def test_attack_11_a_viewers_step2_changes_nothing(served: Served, people: People, task: str) -> None:
    async with served.join(task, Replica()) as owner:
        await write(owner, "the owner's words")
        doc = Replica()
        mine = doc.get("notes", type=Text)
        mine += "written offline by a viewer"
        async with served.join(task, doc, token=people.viewer) as viewer:  # answers our SyncStep1 with it
            await viewer.until(lambda: viewer.asked == 1)
            await viewer.send(encode(SyncStep2(doc.get_update())))
            await viewer.barrier()
            await owner.barrier()
            assert str(notes(owner)) == "the owner's words"
            assert b"offline" not in served.api.export(task)
            assert not viewer.closed.done()


@pytest.mark.parametrize("kind", [b"\x82\x00", b"\x81\x00", b"\x82\x80\x00"], ids=["update", "step2", "longer"])
async def test_attack_11_a_viewers_overlong_message_type_gets_no_further(
    served: Served, people: People, task: str, kind: bytes
) -> None:
    doc = Replica()
    mine = doc.get("notes", type=Text)
    mine += "smuggled"
    async with served.join(task, Replica()) as owner:
        await write(owner, "the owner's words")
        async with served.join(task, Replica(), token=people.viewer) as viewer:
            await viewer.send(b"\x00" + kind + varbytes(doc.get_update()))
            assert (await viewer.end()).code == 4400
        async with served.join(task, Replica(), token=people.viewer) as viewer:
            await viewer.send(b"\x80\x00\x02" + varbytes(doc.get_update()))
            assert (await viewer.end()).code == 4400
        await owner.barrier()
        assert str(notes(owner)) == "the owner's words"
        assert b"smuggled" not in served.api.export(task)


async def test_attack_13_a_commenter_writes_in_the_margin_and_not_in_the_document(
    served: Served, people: People, task: str
) -> None:
    served.api.add_member(task, people.viewer_name, "commenter")
    async with served.join(task, Replica(), token=people.viewer) as commenter:
        await write(commenter, "in the document")
        assert [refused.code for refused in commenter.refused] == [4403]
    async with (
        served.join(task, Replica(), token=people.viewer, part="/margin") as commenter,
        served.join(task, Replica(), part="/margin") as owner,
    ):
        await write(commenter, "in the margin")
        await owner.until(lambda: str(notes(owner)) == "in the margin")
        assert not commenter.refused


async def test_another_users_client_id_is_refused_and_its_owner_goes_on(
    served: Served, people: People, task: str
) -> None:
    mine = Replica(client_id=4_000_000_001)
    async with served.join(task, mine) as owner:
        await write(owner, "mine")
        forged = Replica(client_id=4_000_000_001)
        async with served.join(task, forged, token=people.editor) as thief:
            assert str(notes(thief)) == "mine"
            text = notes(thief)
            text += " and forged"
            await thief.push()
            assert (await thief.end()).code == 4409
        await write(owner, " still")
        assert str(notes(owner)) == "mine still"
        async with served.join(task, Replica(), token=people.editor) as honest:
            assert str(notes(honest)) == "mine still"
            await write(honest, " here")
            await owner.until(lambda: str(notes(owner)) == "mine still here")


async def test_a_revoked_bearers_socket_is_closed_at_once_and_nothing_of_it_is_committed_after(served: Served) -> None:
    task = served.new_task()
    bearer = served.server.new_token()
    async with served.join(task, Replica()) as witness, served.join(task, Replica(), token=bearer["token"]) as revoked:
        typing = asyncio.ensure_future(_type_for_ever(revoked))
        await witness.until(lambda: len(str(notes(witness))) > 20)
        await asyncio.to_thread(served.api.ask, "DELETE", f"/tokens/{bearer['id']}")
        returned = time.monotonic()
        await witness.barrier()
        committed = str(notes(witness))
        end = await revoked.end()
        assert revoked.closed_at - returned < 5  # who is not told is found out when the bearer is looked at again
        assert end.code in (4401, 4403)
        await asyncio.sleep(0.3)
        await witness.barrier()
        assert str(notes(witness)) == committed
        typing.cancel()
        await asyncio.gather(typing, return_exceptions=True)
    async with served.join(task, Replica(), token=bearer["token"], wait=False) as again:
        assert (await again.end()).code == 4401


async def _type_for_ever(peer: Peer) -> None:
    while True:
        text = notes(peer)
        text += "x"
        for update in peer.outbox:
            await peer.send(encode(Update(update)))
        peer.outbox.clear()
        await asyncio.sleep(0.002)
