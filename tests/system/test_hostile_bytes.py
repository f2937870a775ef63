"""Bytes that crash, hang or confuse other servers: ours stays up, other tasks notice nothing, no peer gets them."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from kit.served import Served
from kit.suspect_bytes import applies_natively
from kit.wire import Peer
from kit.yjs_oracle import YjsOracle
from pycrdt import Array, Doc, Map, Text, XmlElement, XmlFragment

from crdt_docs.lib0 import varbytes, varstring, varuint
from crdt_docs.messages.vocabulary import SyncStep1, SyncStep2, Update
from crdt_docs.messages.ywebsocket import encode

CRASHERS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "fixtures" / "native_crashers.json").read_text())
CASES = {case["name"]: case for case in CRASHERS["cases"]}
HONEST = {"emoji_in_array_root"}
"""Hangs an engine that reads the root as an Array; yet it is what a browser sends for an emoji."""
Replica = Doc[Any]

pytestmark = pytest.mark.node


def base_of(case: dict[str, Any]) -> bytes | None:
    if case["on"] == "base":
        return bytes.fromhex(CRASHERS["base_document_hex"])
    if case["on"].startswith("text of 300 characters"):
        doc = Replica(client_id=1)
        text = doc.get("t", type=Text)
        text += "x" * 300
        return doc.get_update()
    return None


@asynccontextmanager
async def quiet_life(served: Served) -> AsyncIterator[None]:
    """Two peers on another task who notice nothing, before, during and after."""
    task = served.new_task("Bystanders")
    async with served.join(task, Replica()) as ann, served.join(task, Replica()) as wei:
        await _chat(served, ann, wei)
        pid = served.server.pid
        yield
        await _chat(served, wei, ann)
        assert not ann.closed.done() and not wei.closed.done()
        assert served.server.pid == pid and served.server.process is not None
        assert served.server.process.poll() is None


async def _chat(served: Served, one: Peer, other: Peer) -> None:
    """Say something that is heard at once: by the server's own time, for the machine does other things too."""
    assert one.doc is not None and other.doc is not None
    began, busy = time.monotonic(), served.server.cpu()
    text = one.doc.get("notes", type=Text)
    text += f"hello {began}. "
    await one.push()
    there = other.doc.get("notes", type=Text)
    await other.until(lambda: str(there).endswith(f"{began}. "))
    assert served.server.cpu() - busy < 1


async def assert_all_can_apply(served: Served, task: str, heard: list[bytes], yjs: YjsOracle) -> None:
    """What the witness heard, and what a newcomer hears, is well for yjs and for yrs."""
    async with served.join(task) as newcomer:
        for updates in (heard, newcomer.heard, [served.api.export(task)]):
            assert not yjs.load(updates).pending
            assert applies_natively(updates)


@pytest.mark.parametrize("name", CASES)
async def test_what_crashes_native_engines_reaches_nobody(served: Served, yjs: YjsOracle, name: str) -> None:
    """Attack 30."""
    case = CASES[name]
    async with quiet_life(served):
        task = served.new_task(name)
        async with served.join(task) as witness:
            base = base_of(case)
            if base is not None:
                async with served.join(task) as founder:
                    await founder.update(base)
                    await founder.barrier()
            await witness.barrier()  # by now it has heard what was there
            before = len(witness.heard)
            codes = [await say(served, task, encode(Update(bytes.fromhex(update)))) for update in case["updates"]]
            again = [await say(served, task, encode(SyncStep2(bytes.fromhex(update)))) for update in case["updates"]]
            await witness.barrier()
            if name in HONEST:
                assert codes == again == [None]
                assert len(witness.heard) == before + 1
            else:
                assert set(codes) <= {4400, 4409, 4413, None} and set(codes) != {None}
            await assert_all_can_apply(served, task, witness.heard, yjs)


async def say(served: Served, task: str, frame: bytes) -> int | None:
    """Say one frame on a connection of its own; the close code, None if the connection stays."""
    async with served.join(task) as peer:
        await peer.send(frame)
        try:
            await peer.barrier()
        except Exception:
            return (await peer.end()).code
        return None


def item(client: int, clock: int, content: bytes) -> bytes:
    """An update of one struct."""
    return b"\x01\x01" + varuint(client) + varuint(clock) + content + b"\x00"


def nested_values(depth: int) -> bytes:
    """One value in a root Map: arrays in arrays."""
    return item(7, 0, b"\x28\x01" + varstring("free") + varstring("k") + b"\x01" + b"\x75\x01" * depth + b"\x7e")


def nested_types(depth: int) -> bytes:
    """Elements in elements, as pycrdt writes them."""
    doc = Replica(client_id=7)
    parent = doc.get("draft", type=XmlFragment)
    with doc.transaction():
        for _ in range(depth):
            parent = parent.children.append(XmlElement("blockquote"))
    return doc.get_update()


def text_into(root: str, words: str) -> bytes:
    doc = Replica(client_id=7)
    text = doc.get(root, type=Text)
    text += words
    return doc.get_update()


def array_into(root: str) -> bytes:
    doc = Replica(client_id=7)
    doc.get(root, type=Array).append(1)
    return doc.get_update()


def map_entry_in_a_fragment() -> bytes:
    """``documents → d → body`` is a fragment; a key is set on it all the same."""
    doc = Replica(client_id=7)
    entry: Any = Map()
    doc.get("documents", type=Map)["d"] = entry
    entry["body"] = XmlFragment()
    good = doc.get_state()
    clock = 2
    assert good == b"\x01\x07\x02"
    return b"\x01\x01\x07" + varuint(clock) + b"\x28\x00\x07\x01" + varstring("k") + b"\x01\x78" + b"\x00"


def update(data: bytes) -> bytes:
    return encode(Update(data))


FRAMES: dict[str, tuple[bytes, int | None]] = {
    "a state vector that claims 2**29 entries in five bytes": (encode(SyncStep1(b"\xff\xff\xff\xff\x01")), 4400),
    "a varint of 200 kB": (b"\xff" * 200_000, 4400),
    "an update that starts with a varint of 200 kB": (update(b"\xff" * 200_000), 4400),
    "a length that lies": (b"\x00\x02\xff\xff\xff\x7f\x00", 4400),
    "an overlong varint": (b"\x00\x82\x00" + varbytes(text_into("notes", "x")), 4400),
    "trailing bytes": (update(text_into("notes", "x")) + b"\x00", 4400),
    "trailing bytes inside": (update(text_into("notes", "x") + b"\x00"), 4400),
    "values nested 100 deep": (update(nested_values(100)), 4413),
    "values nested 100,000 deep": (update(nested_values(100_000)), 4413),
    "types nested 200 deep": (update(nested_types(200)), 4413),
    "text in the root of messages": (update(text_into("messages", "hi 😀")), 4400),
    "an array in the root of decisions": (update(array_into("decisions")), 4400),
    "a key on nothing": (update(map_entry_in_a_fragment()), None),  # a gap: its parent never came
    "a struct of length zero": (update(item(7, 0, b"\x04\x01" + varstring("notes") + b"\x00")), 4400),
    "a struct that is its own parent": (update(item(7, 0, b"\x04\x00\x07\x00\x01x")), 4400),
    "unknown content": (update(item(7, 0, b"\x0b\x01" + varstring("notes") + b"\x01x")), 4400),
    "a client twice": (update(b"\x02" + item(7, 0, b"\x04\x01\x01n\x01x")[1:-1] * 2 + b"\x00"), 4400),
    "clocks past 32 bits": (update(item(7, 2**40, b"\x04\x01\x01n\x01x")), 4413),
    "a delete of what nobody wrote": (update(b"\x00\x01\x07\x01\x00\xff\xff\xff\x7f"), None),
    "an unknown message type": (b"\x07\x00", 4400),
    "no message at all": (b"", 4400),
    "presence that is not JSON": (bytes.fromhex("010901050105") + b"{oops", 4400),
    "presence of one who claims 2**40 states": (b"\x01" + varbytes(varuint(2**40)), 4413),
}


@pytest.mark.parametrize("name", FRAMES)
async def test_a_frame_that_no_honest_client_sends_has_its_promised_end(served: Served, name: str) -> None:
    frame, code = FRAMES[name]
    async with quiet_life(served):
        task = served.new_task("Suspect")
        async with served.join(task) as witness:
            given, busy = list(witness.heard), served.server.cpu()
            assert await say(served, task, frame) == code
            assert served.server.cpu() - busy < 2
            await witness.barrier()
            async with served.join(task) as newcomer:
                assert witness.heard == newcomer.heard == given


async def test_every_message_type_that_is_not_a_clients_to_send_ends_the_connection(served: Served) -> None:
    task = served.new_task("Types")
    async with served.join(task) as witness:
        given = list(witness.heard)
        for kind in (2, *range(4, 14), 66, 99, 101, *range(103, 107), 127, 128, 255, 2**40):
            assert await say(served, task, varuint(kind) + b"\x00") == 4400, kind
        await witness.barrier()
        assert witness.heard == given
        assert not witness.closed.done()


async def test_a_text_frame_ends_the_connection(served: Served) -> None:
    task = served.new_task("Words")
    async with served.join(task) as peer:
        await peer.socket.send("hello")
        assert (await peer.end()).code == 4400


async def test_memory_does_not_follow_what_a_frame_claims(served: Served) -> None:
    """Attack 32."""
    task = served.new_task("Bombs")
    before = peak(served.server.pid)
    for _ in range(5):
        assert await say(served, task, encode(SyncStep1(b"\xff\xff\xff\xff\x01"))) == 4400
        assert await say(served, task, update(b"\xff\xff\xff\xff\x01")) == 4400
        assert await say(served, task, update(b"\x01\xff\xff\xff\xff\x01\x07\x00")) == 4400
    assert peak(served.server.pid) - before < 20_000


def peak(pid: int) -> int:
    """The most memory that the process ever held, kB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise AssertionError("no VmHWM")
