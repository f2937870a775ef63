"""Turns on a real server: what makes them, who gets them, and that a stopped one is stopped."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from kit.running_server import environment
from kit.served import Served, serve
from kit.turn_host import turn_host
from kit.wire import Closed, Peer
from pycrdt import Doc, Map, Text

from crdt_docs.ids import new_ordered_id


def new_message(doc: Doc[Any], text: str, author: str = "owner") -> str:
    """Say something in a replica."""
    message = new_ordered_id(int(time.time() * 1000))
    messages: Map[Any] = doc.get("messages", type=Map)
    messages[message] = Map({"author": author, "role": "user", "text": Text(text), "at": time.time() * 1000.0})
    return message


def own_host(served: Served, *options: str, user: str = "owner") -> str:
    """A bearer for a host of the user's own agent."""
    return str(served.server.new_token(user, "--agent", "Helper", "--ttl", "1h", *options)["token"])


def turns(served: Served, task: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = served.api.json("GET", f"/tasks/{task}/turns")["turns"]
    return found


async def turns_of(served: Served, task: str) -> list[dict[str, Any]]:
    return await asyncio.to_thread(turns, served, task)


async def until_turn(served: Served, task: str, *statuses: str, after: str = "") -> dict[str, Any]:
    """The task's newest turn, once it has one of these statuses and is another one than ``after``."""
    async with asyncio.timeout(20):
        while True:
            found = await turns_of(served, task)
            if found and found[0]["status"] in statuses and found[0]["id"] != after:
                return found[0]
            await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
def host_token(served: Served) -> str:
    return own_host(served)


async def test_a_message_by_socket_is_offered_and_answered_under_the_agent_s_own_name(
    served: Served, host_token: str
) -> None:
    task = served.new_task()
    doc: Doc[Any] = Doc()
    async with turn_host(served.server.port, host_token) as host, served.join(task, doc) as ann:
        message = new_message(doc, "Never below 150 k€.")
        await ann.push()
        offer = await host.until("offer", task=task)
        lease = await host.lease(offer["turn"])
        assert lease["messages"] == [message] and lease["agent"]["name"] == "Helper"
        replica: Doc[Any] = Doc()
        async with served.join(task, replica, token=lease["grant"]["token"]) as agent:
            answered = new_message(replica, "Noted.", "Helper")
            await agent.push()
            await agent.barrier()
            assert (await host.ask("end", lease["turn"], {"outcome": "done", "covered": [message]})).status_code == 204
        await ann.until(lambda: answered in doc.get("messages", type=Map))
    assert [(turn["status"], turn["messages"]) for turn in await turns_of(served, task)] == [("done", [message])]


async def test_what_was_said_offline_is_a_turn_when_the_device_is_back(served: Served, host_token: str) -> None:
    task = served.new_task()
    doc: Doc[Any] = Doc()
    async with served.join(task, doc):
        pass
    message = new_message(doc, "Said in the train.")
    async with turn_host(served.server.port, host_token) as host:
        async with served.join(task, doc) as back:  # its SyncStep2 brings it
            await back.barrier()
        offer = await host.until("offer", task=task)
        assert (await turns_of(served, task))[0]["messages"] == [message]
        assert (await host.ask("lease", offer["turn"])).json()["messages"] == [message]


async def test_of_two_hosts_one_gets_the_turn(served: Served, host_token: str) -> None:
    task = served.new_task()
    async with turn_host(served.server.port, host_token) as one, turn_host(served.server.port, host_token) as two:
        served.api.json("POST", f"/tasks/{task}/messages", {"text": "Anybody?"})
        turn = (await one.until("offer", task=task))["turn"]
        await two.until("offer", turn)
        answers = await asyncio.gather(one.ask("lease", turn), two.ask("lease", turn))
        assert sorted(answer.status_code for answer in answers) == [200, 409]
        renewed = await asyncio.gather(one.ask("renew", turn), two.ask("renew", turn))
        assert [answer.status_code for answer in renewed] == [200, 200]  # one bearer, one host


async def test_once_stop_has_returned_not_one_character_more_is_admitted(served: Served, host_token: str) -> None:
    task, words = served.new_task(), "Clause 4 caps the liability at two hundred thousand euros, and so on."
    watcher: Doc[Any] = Doc()
    replica: Doc[Any] = Doc()
    async with turn_host(served.server.port, host_token) as host, served.join(task, watcher):
        served.api.json("POST", f"/tasks/{task}/messages", {"text": "Write clause 4."})
        lease = await host.lease((await host.until("offer", task=task))["turn"])
        async with served.join(task, replica, token=lease["grant"]["token"]) as agent:
            writing = asyncio.ensure_future(_stream(agent, replica, lease["answer"], words))  # until it is thrown out
            await _until(lambda: len(_text(watcher, lease["answer"])) > 40)
            await _stop(served, lease["turn"])
            written = await asyncio.to_thread(served.api.json, "GET", f"/tasks/{task}/working-set")
            await host.until("stop", lease["turn"])
            assert (await agent.end()).code == 4403
            sent = await writing
            await asyncio.sleep(0.3)
            after = await asyncio.to_thread(served.api.json, "GET", f"/tasks/{task}/working-set")
            await _until(lambda: _text(watcher, lease["answer"]) == written["messages"][-1]["text"])
    assert after["seq"] == written["seq"] and after["messages"] == written["messages"]
    assert len(written["messages"][-1]["text"]) <= sent
    with pytest.raises(Closed) as refused:
        async with served.join(task, token=lease["grant"]["token"]):
            pass
    assert refused.value.code == 4401


async def test_a_stop_reaches_the_stream_before_it_returns(served: Served, host_token: str) -> None:
    """With -s it prints how long that took, a renewal included: 20 to 50 ms on two cores that have other work to do."""
    task = served.new_task()
    async with turn_host(served.server.port, host_token) as host:
        for _ in range(5):
            served.api.json("POST", f"/tasks/{task}/messages", {"text": "Go."})
            lease = await host.lease((await host.until("offer", task=task))["turn"])
            began = time.monotonic()
            answer = await host.client.post(f"turns/{lease['turn']}/renew", json={})
            assert answer.json()["stop"] is False
            stopping = asyncio.ensure_future(_stop(served, lease["turn"]))
            await host.until("stop", lease["turn"])
            print(f"told after {1000 * (time.monotonic() - began):.1f} ms")
            assert (await stopping)["status"] == "stopped"


async def test_a_host_that_was_killed_loses_its_turn_and_the_next_goes_on_with_it(
    served: Served, host_token: str
) -> None:
    task = served.new_task()
    served.api.json("POST", f"/tasks/{task}/messages", {"text": "Still there?"})
    process = subprocess.Popen(  # noqa: ASYNC220 - it starts in no time
        [sys.executable, "-c", LEASE_AND_HANG, str(served.server.port), task],
        env={**environment(), "CLEW_TOKEN": host_token}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        lease = json.loads(await asyncio.to_thread(process.stdout.readline))
        assert (await turns_of(served, task))[0]["status"] == "running"
        os.kill(process.pid, signal.SIGKILL)
    second = own_host(served)
    async with turn_host(served.server.port, second) as host:
        offer = await host.until("offer", lease["turn"], attempt=2)
        again = await host.lease(offer["turn"])
        assert (again["answer"], again["attempt"]) == (lease["answer"], 2)
        with pytest.raises(Closed):
            async with served.join(task, token=lease["grant"]["token"]):
                pass
        for attempt in (2, 3, 4):
            if attempt > 2:
                await host.lease((await host.until("offer", lease["turn"], attempt=attempt))["turn"])
            body = {"outcome": "failed", "why": "the model is out of order"}
            assert (await host.ask("end", lease["turn"], body)).status_code == 204
    (turn,) = await turns_of(served, task)
    assert (turn["status"], turn["attempt"], turn["why"]) == ("failed", 4, "the model is out of order")


LEASE_AND_HANG = """
import json, os, sys, time, urllib.request
port, task = sys.argv[1:]
bearer = {"Authorization": "Bearer " + os.environ["CLEW_TOKEN"], "Content-Type": "application/json"}
def ask(path, body=None):
    return urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/api/v1{path}", body, bearer))
for line in ask("/turns/offers"):
    if line.startswith(b"data: ") and json.loads(line[6:]).get("task") == task:
        print(ask(f"/turns/{json.loads(line[6:])['turn']}/lease", b"{}").read().decode(), flush=True)
        time.sleep(600)
"""


async def test_neither_a_host_s_bearer_nor_another_task_s_grant_opens_a_socket(served: Served, host_token: str) -> None:
    task, other = served.new_task(), served.new_task()
    async with turn_host(served.server.port, host_token) as host:
        served.api.json("POST", f"/tasks/{task}/messages", {"text": "Hello"})
        lease = await host.lease((await host.until("offer", task=task))["turn"])
        for token, there in ((host_token, task), (lease["grant"]["token"], other)):
            with pytest.raises(Closed) as refused:
                async with served.join(there, token=token):
                    pass
            assert refused.value.code == 4404


async def test_a_demoted_user_s_agent_is_gone_in_mid_sentence(served: Served) -> None:
    bearer = served.new_user("demoted")
    task = served.new_task()
    served.api.add_member(task, "demoted", "editor")
    theirs = own_host(served, "--task", task, user="demoted")
    doc: Doc[Any] = Doc()
    async with turn_host(served.server.port, theirs) as host:
        async with served.join(task, doc, token=bearer) as writer:
            new_message(doc, "Write something.", "demoted")
            await writer.push()
            lease = await host.lease((await host.until("offer", task=task))["turn"])
        replica: Doc[Any] = Doc()
        async with served.join(task, replica, token=lease["grant"]["token"]) as agent:
            served.api.ask("PATCH", f"/tasks/{task}/members/{lease['user']['id']}", {"role": "viewer"})
            new_message(replica, "too late", "Helper")
            with suppress(Closed):
                await agent.push()
            assert (await agent.end()).code == 4403
        await host.until("stop", lease["turn"])
        (turn,) = await turns_of(served, task)
        assert turn["status"] == "failed" and turn["why"]
        served.api.ask("DELETE", f"/tasks/{task}/members/{lease['user']['id']}")
        await asyncio.wait_for(host.ended.wait(), 20)  # the host's bearer was for this task alone
    said = served.api.json("GET", f"/tasks/{task}/working-set")["messages"]
    assert [message["text"] for message in said] == ["Write something."]


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that may be killed and stopped."""
    with serve(tmp_path_factory.mktemp("mortal")) as running:
        yield running


@pytest.fixture
def own(mortal: Served) -> Served:
    if mortal.server.process is None:
        mortal.server.start()
    return mortal


@pytest.mark.own_server
async def test_a_message_that_was_committed_when_the_server_died_is_a_turn_at_the_next_start(own: Served) -> None:
    """The database is held by somebody else, so the message gets into the log and its turn nowhere."""
    task = own.new_task()
    doc: Doc[Any] = Doc()
    async with own.join(task, doc) as ann:
        holder = sqlite3.connect(own.server.data / "clew.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        message = new_message(doc, "Is anybody there?")
        await ann.push()
        await ann.barrier()
        await asyncio.to_thread(own.server.kill)
        assert holder.execute("SELECT count(*) FROM turn_messages").fetchone() == (0,)
        holder.execute("ROLLBACK")
        holder.close()
    await asyncio.to_thread(own.server.start)
    assert [turn["messages"] for turn in await turns_of(own, task)] == [[message]]


@pytest.mark.own_server
async def test_a_server_that_is_told_to_end_ends_its_streams_and_waits_for_nobody(own: Served) -> None:
    token = own_host(own)
    async with turn_host(own.server.port, token) as host:
        began = time.monotonic()
        assert await asyncio.to_thread(own.server.stop) == 0
        took = time.monotonic() - began
        await asyncio.wait_for(host.ended.wait(), 5)
        assert host.status == 200 and host.trouble is None  # ended, and not cut
    assert took < 4.5, "it waited for the stream until its patience was over"
    assert "Traceback" not in own.server.log.read_text()


@pytest.fixture(scope="module")
def attended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with its built-in agent."""
    with serve(tmp_path_factory.mktemp("attended"), agent=True) as running:
        yield running


def get(served: Served, path: str) -> str:
    with urllib.request.urlopen(f"{served.server.url}{path}", timeout=20) as answer:
        return str(answer.read().decode())


async def test_the_operator_is_told_of_the_agent(attended: Served) -> None:
    await _until(lambda: "clew_agent_hosts 1" in get(attended, "/metrics"))
    assert get(attended, "/healthz") == "ok\nagent running\n"
    assert "clew_agent_up 1" in get(attended, "/metrics")
    findings = json.loads(attended.server.clew("doctor", "--json"))["findings"]
    (found,) = [finding["said"] for finding in findings if finding["what"] == "agent"]
    assert found.startswith("running, ") and "1 connected" in found
    listed = json.loads(attended.server.clew("token", "list", "--json"))["tokens"]
    assert {token["agent"] for token in listed} == {None}


async def test_secrets_of_turns_stand_in_no_log_no_argument_and_no_file(attended: Served) -> None:
    task = attended.new_task()
    attended.api.json("POST", f"/tasks/{task}/messages", {"text": "Never below 150 k€."})
    turn = await until_turn(attended, task, "running", "done")
    token = own_host(attended)
    arguments = _arguments_of_children(attended.server.pid)
    (host,) = [line for line in arguments if "--token-file" in line]
    assert host.endswith(f"--server {attended.server.url} --token-file - --until-eof")
    async with turn_host(attended.server.port, token) as own:
        attended.api.json("POST", f"/tasks/{task}/messages", {"text": "And yours?"})
        await until_turn(attended, task, "running", "done", after=turn["id"])
        assert own.status == 200
    secrets = [token, attended.token]
    held = b"".join(file.read_bytes() for file in attended.server.data.iterdir() if file.is_file())
    said = attended.server.log.read_bytes() + "\n".join(attended.server.said).encode()
    assert not any(secret in line for secret in secrets for line in _arguments_of_children(attended.server.pid))
    assert not any(secret.encode() in held + said for secret in secrets)
    assert b"Bearer" not in said and b"token." not in said


def _arguments_of_children(parent: int) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip())
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


async def _stream(agent: Peer, doc: Doc[Any], answer: str, words: str) -> int:
    """Write an answer word by word, over and over, until the socket is closed; how many characters were sent."""
    messages: Map[Any] = doc.get("messages", type=Map)
    messages[answer] = Map({"author": "Helper", "role": "agent", "text": Text(), "at": time.time() * 1000.0})
    text = messages[answer]["text"]
    sent = 0
    for word in itertools.cycle(words.split(" ")):
        if agent.closed.done():
            break
        text += word + " "
        sent += len(word) + 1
        await agent.push()
        await asyncio.sleep(0.002)
    return sent


async def _stop(served: Served, turn: str) -> Any:
    return await asyncio.to_thread(served.api.json, "POST", f"/turns/{turn}/stop", {})


def _text(doc: Doc[Any], message: str) -> str:
    messages: Map[Any] = doc.get("messages", type=Map)
    return str(messages[message]["text"]) if message in messages else ""


async def _until(holds: Any) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - what it waits for is not an event of ours
            await asyncio.sleep(0.005)
