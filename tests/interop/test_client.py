"""The Python client against a running server: what is edited arrives, what is confirmed is durable, no is no."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from kit.delay_proxy import DelayProxy
from kit.served import Served
from pycrdt import Doc, Text

from crdt_docs.client import Client, Refusal, connect, open_channel, socket_url
from crdt_docs.errors import ConnectionRefused
from crdt_docs.presence import Presence


def notes(client: Client) -> Text:
    text: Text = client.doc.get("notes", type=Text)
    return text


async def until(client: Client, condition: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        await client.until(condition)


async def test_two_clients_write_one_text(served: Served) -> None:
    task = served.new_task()
    url = served.server.url
    async with (
        connect(url, task=task, token=served.token) as ann,
        connect(url, task=task, token=served.token) as wei,
    ):
        mine, theirs = notes(ann), notes(wei)
        mine += "合同 😀"
        await until(wei, lambda: str(theirs) == "合同 😀")
        theirs += "!"
        await until(ann, lambda: str(mine) == "合同 😀!")
        assert ann.synced
        assert ann.trouble is None


async def test_what_a_barrier_confirmed_is_there_after_kill_9(served: Served, tmp_path: Any) -> None:
    task = served.new_task()
    async with connect(served.server.url, task=task, token=served.token) as client:
        text = notes(client)
        for n in range(50):
            text += f"{n} "
        del text[0:2]
        with anyio.fail_after(20):
            await client.barrier()
        await anyio.to_thread.run_sync(served.server.kill)
        await anyio.to_thread.run_sync(served.server.start)
        text += "and on"
        with anyio.fail_after(30):
            await client.barrier()
    async with connect(served.server.url, task=task, token=served.token) as fresh:
        assert str(notes(fresh)) == str(text)


async def test_edits_made_offline_are_kept_and_a_barrier_waits_for_their_delivery(served: Served) -> None:
    task = served.new_task()
    async with DelayProxy(served.server.port) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        async with (
            connect(url, task=task, token=served.token) as roaming,
            connect(served.server.url, task=task, token=served.token) as other,
        ):
            mine, theirs = notes(roaming), notes(other)
            mine += "on land. "
            await roaming.barrier()
            proxy.cut()
            await until(roaming, lambda: not roaming.connected)
            mine += "in the tunnel. "
            del mine[0:3]
            theirs += "meanwhile. "
            with anyio.move_on_after(0.5) as waited:
                await roaming.barrier()
            assert waited.cancelled_caught
            proxy.mend()
            with anyio.fail_after(30):
                await roaming.barrier()
            await until(roaming, lambda: "meanwhile. " in str(mine))
            await until(other, lambda: str(theirs) == str(mine))
            assert "in the tunnel. " in str(mine)
            assert "on land" not in str(mine)


async def test_a_document_of_before_brings_what_never_got_through(served: Served) -> None:
    task = served.new_task()
    doc: Doc[Any] = Doc()
    text = doc.get("notes", type=Text)
    text += "written before any connection"
    async with connect(served.server.url, task=task, token=served.token, doc=doc) as client:
        await client.barrier()
    async with connect(served.server.url, task=task, token=served.token) as fresh:
        assert str(notes(fresh)) == "written before any connection"


async def test_peers_see_each_other_come_change_and_go(served: Served) -> None:
    task = served.new_task()
    url = served.server.url
    async with connect(url, task=task, token=served.token, presence=Presence(status="reading")) as ann:
        async with connect(url, task=task, token=served.token, presence=Presence(cursor={"at": 3})) as wei:
            await until(ann, lambda: wei.client_id in ann.peers)
            await until(wei, lambda: ann.client_id in wei.peers)
            shown = ann.peers[wei.client_id]
            assert shown.cursor == {"at": 3}
            assert shown.user is not None
            assert shown.user.kind == "user"
            ann.show(Presence(status="typing"))
            await until(wei, lambda: wei.peers[ann.client_id].status == "typing")
        await until(ann, lambda: wei.client_id not in ann.peers)


async def test_a_viewer_is_told_at_the_next_barrier_that_its_edit_was_not_admitted(served: Served) -> None:
    task = served.new_task()
    viewer = str(served.server.new_token("owner", "--task", task, "--role", "viewer")["token"])
    async with connect(served.server.url, task=task, token=viewer) as client:
        text = notes(client)
        text += "may I?"
        with pytest.raises(Refusal) as refused:
            await client.barrier()
        assert [one.code for one in refused.value.refusals] == [4403]
        await client.barrier()


@pytest.mark.parametrize("token", ["nonsense", None])
async def test_a_refusal_for_good_ends_the_client(served: Served, token: str | None) -> None:
    task = served.new_task()
    with pytest.raises(ConnectionRefused) as refused:
        async with connect(served.server.url, task=task, token=token):
            pytest.fail("entered")
    assert refused.value.code == 4401


async def test_a_task_that_is_not_there_is_refused_for_good(served: Served) -> None:
    with pytest.raises(ConnectionRefused) as refused:
        async with connect(served.server.url, task="00000000-0000-4000-8000-000000000000", token=served.token):
            pytest.fail("entered")
    assert refused.value.code == 4404


async def test_a_server_that_does_not_answer_is_waited_for_only_as_long_as_asked() -> None:
    with pytest.raises(TimeoutError):
        async with connect("http://127.0.0.1:9", task="t", token="t", wait=0.5):
            pytest.fail("entered")


async def test_an_error_in_the_block_comes_out_as_it_is(served: Served) -> None:
    task = served.new_task()
    with pytest.raises(KeyError, match="mine"):
        async with connect(served.server.url, task=task, token=served.token):
            raise KeyError("mine")


async def test_a_credential_is_fetched_for_each_attempt(served: Served) -> None:
    task = served.new_task()
    fetched = 0

    async def fetch() -> str:
        nonlocal fetched
        fetched += 1
        return served.token

    async with DelayProxy(served.server.port) as proxy:
        async with connect(f"http://127.0.0.1:{proxy.port}", task=task, token=fetch) as client:
            assert fetched == 1
            proxy.cut()
            await until(client, lambda: not client.connected)
            proxy.mend()
            await until(client, lambda: client.synced)
            assert fetched > 1


async def test_the_working_set_is_read_from_the_clients_own_document(served: Served) -> None:
    task = served.new_task("Acme contract")
    async with connect(served.server.url, task=task, token=served.token) as client:
        assert set(client.working_set) >= {"documents", "constraints", "decisions", "questions", "messages"}


async def test_the_margin_is_a_document_of_its_own(served: Served) -> None:
    task = served.new_task()
    async with connect(served.server.url, task=task, part="margin", token=served.token) as margin:
        text = notes(margin)
        text += "beside"
        await margin.barrier()
    async with connect(served.server.url, task=task, token=served.token) as main:
        assert str(notes(main)) == ""


async def test_an_open_channel_speaks_frames(served: Served) -> None:
    task = served.new_task()
    async with open_channel(served.server.url, task=task, token=served.token) as channel:
        assert channel.path == f"/sync/{task}"
        await channel.send(b"\x00\x00\x01\x00")
        assert (await channel.recv())[:2] == b"\x00\x01"


def test_addresses_keep_the_path_that_a_proxy_adds() -> None:
    assert socket_url("https://host/base/", "t", "margin") == "wss://host/base/sync/t/margin"
    assert socket_url("http://host:84", "t") == "ws://host:84/sync/t"
