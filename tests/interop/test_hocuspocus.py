"""Unmodified Hocuspocus providers, 4.8 and 3.4, in Node, against a running server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from kit.node_clients import NodeClients, node_clients
from kit.served import Served

from crdt_docs.ids import new_id

pytestmark = pytest.mark.node
VERSIONS = pytest.mark.parametrize("version", [4, 3], ids=["provider 4.8", "provider 3.4"])


@pytest.fixture
async def clients() -> AsyncIterator[NodeClients]:
    async with node_clients("hocuspocus.mjs") as running:
        yield running


async def enter(
    clients: NodeClients, served: Served, name: str, task: str, version: int = 4, token: str = "", **rest: Any
) -> None:
    url = f"ws://127.0.0.1:{served.server.port}/hocuspocus"
    given = {"url": url, "room": task, "version": version, "token": token or served.token}
    await clients.do("open", name, **{**given, **rest})


def settled(seen: dict[str, Any]) -> bool:
    return bool(seen["synced"]) and seen["unsynced"] == 0 and not seen["pending"]


async def heard_out(clients: NodeClients, name: str) -> None:
    """Wait until the server has answered all that the client has said: a barrier's answer comes last."""
    asked = json.dumps({"clew": "barrier", "n": 1})
    await clients.do("say", name, payload=asked)
    await clients.until(name, lambda seen: asked in seen["heard"])


@VERSIONS
async def test_two_providers_type_go_offline_and_come_back(served: Served, clients: NodeClients, version: int) -> None:
    task = served.new_task()
    await enter(clients, served, "ann", task, version)
    await enter(clients, served, "wei", task, version)
    await asyncio.gather(
        clients.do("type", "ann", text="ann writes here. ", every=5),
        clients.do("type", "wei", text="wei too 😀合同. ", every=7),
    )
    await clients.until("ann", settled)
    both = await clients.same("ann", "wei")
    assert len(both) == len("ann writes here. wei too 😀合同. ")
    await clients.do("drop", "ann")
    await clients.do("type", "ann", text="(offline) ", every=1)
    await clients.do("type", "wei", text="(meanwhile) ", every=1)
    await clients.do("connect", "ann")
    await clients.until("ann", lambda seen: seen["opens"] > 1 and settled(seen))
    text = await clients.same("ann", "wei")
    assert "(offline) " in text and "(meanwhile) " in text


@VERSIONS
async def test_each_change_is_counted_off_once_when_it_is_durable(
    served: Served, clients: NodeClients, version: int
) -> None:
    task = served.new_task()
    await enter(clients, served, "ann", task, version)
    await clients.until("ann", settled)
    await clients.do("type", "ann", text="twenty changes in all", every=2)
    seen = await clients.until("ann", settled)
    ups = sum(later > earlier for earlier, later in zip(seen["counts"], seen["counts"][1:], strict=False))
    downs = sum(later < earlier for earlier, later in zip(seen["counts"], seen["counts"][1:], strict=False))
    assert ups == len("twenty changes in all") and downs == ups + 1  # and one for the handshake's own
    await asyncio.sleep(0.2)
    assert (await clients.read("ann"))["counts"] == seen["counts"]


async def test_a_text_of_before_the_token_came_is_kept(served: Served, clients: NodeClients) -> None:
    task = served.new_task()
    await enter(clients, served, "ann", task, 4, slow=300)
    await clients.do("insert", "ann", at=0, text="early words")
    await clients.until("ann", settled)
    assert b"early words" in served.api.export(task)


async def test_frames_that_are_lost_are_asked_for_and_the_count_returns_to_nothing(
    served: Served, clients: NodeClients
) -> None:
    task = served.new_task()
    await enter(clients, served, "ann", task)
    await enter(clients, served, "wei", task)
    await clients.until("ann", settled)
    await clients.do("lose", "ann", count=3)
    await clients.do("type", "ann", text="some of this never leaves", every=5)
    assert (await clients.until("wei", lambda seen: "never leaves" in seen["text"]))["text"].startswith("some of")
    await heard_out(clients, "ann")
    lost = await clients.read("ann")
    assert lost["unsynced"] == 3  # nobody can tell it of frames that nobody has seen
    await clients.do("sync", "ann")
    await clients.until("ann", settled)


@VERSIONS
async def test_several_documents_share_a_socket_and_one_refusal_leaves_the_others(
    served: Served, clients: NodeClients, version: int
) -> None:
    first, second, stranger = served.new_task(), served.new_task(), new_id()
    await enter(clients, served, "a", first, version, socket="one")
    await enter(clients, served, "b", second, version, socket="one")
    await enter(clients, served, "m", f"{first}/margin", version, socket="one")
    await enter(clients, served, "x", stranger, version, socket="one")
    await clients.until("x", lambda seen: bool(seen["denied"]))
    for name in ("a", "b", "m"):
        await clients.until(name, settled)
    await clients.do("insert", "a", at=0, text="in the first")
    await clients.do("insert", "b", at=0, text="in the second")
    await clients.do("insert", "x", at=0, text="nowhere")
    await clients.until("a", settled)
    await clients.until("b", settled)
    assert b"in the first" in served.api.export(first) and b"in the second" not in served.api.export(first)
    assert (await clients.read("a"))["codes"] == []


async def test_two_providers_of_one_document_share_a_socket_by_their_session(
    served: Served, clients: NodeClients
) -> None:
    task = served.new_task()
    await enter(clients, served, "a", task, socket="one", sessionAwareness=True)
    await enter(clients, served, "b", task, socket="one", sessionAwareness=True)
    await clients.do("type", "a", text="left ", every=2)
    await clients.do("type", "b", text="right ", every=2)
    text = await clients.same("a", "b")
    assert len(text) == len("left right ")


@VERSIONS
async def test_a_reader_is_told_so_and_what_it_writes_stays_unsynced(
    served: Served, clients: NodeClients, version: int
) -> None:
    task = served.new_task()
    viewer = str(served.server.new_token("owner", "--role", "viewer", "--task", task)["token"])
    await enter(clients, served, "ann", task, version)
    await clients.do("insert", "ann", at=0, text="for all to see")
    await clients.until("ann", settled)
    await enter(clients, served, "eve", task, version, token=viewer)
    seen = await clients.until("eve", settled)
    assert seen["scope"] == "readonly" and seen["text"] == "for all to see"
    await clients.do("insert", "eve", at=0, text="not ")
    seen = await clients.until("eve", lambda seen: bool(seen["heard"]))
    await asyncio.sleep(0.2)
    assert (await clients.read("eve"))["unsynced"] == 1
    assert json.loads(seen["heard"][0])["clew"] == "refused"
    assert (await clients.read("ann"))["text"] == "for all to see"


@VERSIONS
async def test_after_a_bad_token_a_good_one_enters_on_the_same_socket(
    served: Served, clients: NodeClients, version: int
) -> None:
    task = served.new_task()
    await enter(clients, served, "ann", task, version, token="not-a-token")
    await clients.until("ann", lambda seen: bool(seen["denied"]))
    await clients.do("token", "ann", token=served.token)
    await clients.do("sync", "ann")
    seen = await clients.until("ann", settled)
    assert seen["opens"] == 1 and seen["scope"] == "read-write"


@VERSIONS
async def test_another_bearer_takes_over_before_the_first_one_ends(
    served: Served, clients: NodeClients, version: int
) -> None:
    task = served.new_task()
    first = served.server.new_token("owner", "--role", "editor", "--task", task)
    second = served.server.new_token("owner", "--role", "editor", "--task", task)
    await enter(clients, served, "ann", task, version, token=str(first["token"]))
    await clients.until("ann", settled)
    await clients.do("token", "ann", token=str(second["token"]))
    await heard_out(clients, "ann")
    served.api.ask("DELETE", f"/tokens/{first['id']}")
    await clients.do("insert", "ann", at=0, text="still here")
    await clients.until("ann", settled)
    assert (await clients.read("ann"))["closed"] == []


@VERSIONS
async def test_a_revoked_bearer_is_out_and_its_socket_is_not(
    served: Served, clients: NodeClients, version: int
) -> None:
    task, other = served.new_task(), served.new_task()
    bearer = served.server.new_token("owner", "--role", "editor", "--task", task)
    await enter(clients, served, "ann", task, version, token=str(bearer["token"]), socket="one")
    await enter(clients, served, "ben", other, version, socket="one")
    await clients.until("ann", settled)
    await clients.until("ben", settled)
    served.api.ask("DELETE", f"/tokens/{bearer['id']}")
    await clients.until("ann", lambda seen: bool(seen["closed"]))
    await clients.do("insert", "ann", at=0, text="too late")
    await clients.do("insert", "ben", at=0, text="unharmed")
    await clients.until("ben", settled)
    assert b"too late" not in served.api.export(task)


@VERSIONS
async def test_a_stateless_barrier_comes_back_when_all_is_durable(
    served: Served, clients: NodeClients, version: int
) -> None:
    task = served.new_task()
    await enter(clients, served, "ann", task, version)
    await clients.until("ann", settled)
    await clients.do("insert", "ann", at=0, text="saved?")
    asked = json.dumps({"clew": "barrier", "n": 7})
    await clients.do("say", "ann", payload=asked)
    await clients.until("ann", lambda seen: asked in seen["heard"])
    assert b"saved?" in served.api.export(task)
    await clients.do("say", "ann", payload="anything else is for nobody")


async def test_presence_is_seen_across_both_wires_and_leaves_with_its_document(
    served: Served, clients: NodeClients
) -> None:
    task = served.new_task()
    async with node_clients() as others, served.join(task):
        await others.open("wei", served.server.port, task, served.token, presence={"cursor": 1})
        await enter(clients, served, "ann", task)
        await clients.do("presence", "ann", state={"cursor": 2})
        await others.until("wei", lambda seen: any(s.get("cursor") == 2 for s in seen["present"].values()))
        await clients.until("ann", lambda seen: any(s.get("cursor") == 1 for s in seen["present"].values()))
        await clients.do("detach", "ann")
        await others.until("wei", lambda seen: not any(s.get("cursor") == 2 for s in seen["present"].values()))


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("ff", 4400),
        ("0a", None),
        ("", 4400),
        ("0561626364650400", 4400),  # SyncReply, between servers only
        ("05616263646506026869", 4400),  # BroadcastStateless, inside a server only
    ],
    ids=["cut", "pong", "empty", "sync reply", "broadcast"],
)
async def test_a_frame_that_no_client_sends_ends_the_socket(
    served: Served, clients: NodeClients, frame: str, code: int | None
) -> None:
    task = served.new_task()
    await enter(clients, served, "ann", task)
    await clients.until("ann", settled)
    await clients.do("raw", "ann", hex=frame)
    if code is None:
        await clients.do("insert", "ann", at=0, text="x")
        await clients.until("ann", settled)
        assert (await clients.read("ann"))["codes"] == []
    else:
        assert (await clients.until("ann", lambda seen: bool(seen["codes"])))["codes"][0] == code


async def test_what_is_said_without_a_token_is_bounded(served: Served, clients: NodeClients) -> None:
    task = served.new_task()
    await enter(clients, served, "ann", task, slow=60_000)
    await clients.until("ann", lambda seen: seen["opens"] == 1)
    await clients.do("insert", "ann", at=0, text="x" * 600_000)
    await clients.do("insert", "ann", at=0, text="y" * 600_000)
    assert (await clients.until("ann", lambda seen: bool(seen["codes"])))["codes"][0] == 4413
