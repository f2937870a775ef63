"""``clew demo``: a laptop, a phone and the agent on one sample task, told as it happens.

Owns a server of its own over a throw-away folder, started as a person would start it with the built-in agent, and two
devices that sign in by links and talk over real sockets. Must never do anything that a stranger could not do with the
README: the console script, HTTP, the client. What the agent says is its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pycrdt import Doc

from crdt_docs.client import connect
from crdt_docs.presence import Presence
from crdt_docs.working_set import WorkingSet, read
from server.cli.flags import Commands, command
from server.domain.clock import SystemClock
from server.domain.errors import Unavailable

FIRST: Final = (
    "Let's revise the Acme contract. The liability cap must never go below 150 k€. We'll go with net 30."
    " We still need to find out which law governs."
)
SECOND: Final = "Let's use net 45 instead of net 30. Next I'll send the redline to Dana."
THIRD: Final = "Dana wants to see the redline by Friday noon. We must not send her the old draft."
BACK: Final = "did the redline for Dana go out, and is the liability cap in it?"
CLEW: Final = (sys.executable, "-P", "-c", "import sys; from server.cli.main import main; sys.exit(main())")
_LINK: Final = re.compile(r"https?://\S+/#k=\S+")


def add(commands: Commands) -> None:
    """Its flags."""
    parser = command(commands, "demo", "laptop, phone and the agent on one sample task")
    parser.add_argument("--port", default="0", help="the port to serve on (default: a free one)")
    parser.add_argument("--exit", dest="leave", action="store_true", help="end after the story instead of serving on")
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Tell the story; then serve until interrupted, so that it can be looked at in a browser."""
    with tempfile.TemporaryDirectory(prefix="clew-demo-") as folder, _server(Path(folder) / "data", asked.port) as site:
        asyncio.run(_tell(site))
        if not asked.leave:
            print(
                f"\nLook at it in your browser (this link signs you in once):\n\n  {site.link}\n\nCtrl+C ends the demo."
            )
            site.process.wait()
    return 0


@dataclass(frozen=True, slots=True)
class Site:
    """A running server. ``link`` signs one browser in."""

    process: subprocess.Popen[str]
    data: Path
    link: str

    @property
    def url(self) -> str:
        """The server's address."""
        return self.link.partition("/#")[0]

    def new_link(self) -> str:
        """Another link."""
        command = [*CLEW, "link", "--data", str(self.data)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = _LINK.search(said)
        if found is None:
            raise Unavailable("the demo's server gave no link")
        return found[0]


@contextmanager
def _server(data: Path, port: str) -> Iterator[Site]:
    process = subprocess.Popen(
        [*CLEW, "serve", "--data", str(data), "--port", port, "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    try:
        yield Site(process, data, _await_link(process))
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _await_link(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        found = _LINK.search(line)
        if found:
            return found[0]
    raise Unavailable("the demo's server did not start")


class Device:
    """A signed-in device with its replica of the task, which outlives its connections."""

    def __init__(self, site: Site, name: str) -> None:
        self.name = name
        self.doc: Doc[Any] = Doc()
        self.work = WorkingSet(self.doc, name, lambda: int(SystemClock().now() * 1000))
        self._url = site.url
        self._headers = {"content-type": "application/json", "origin": site.url}
        self._headers["cookie"] = self._sign_in(site.new_link())
        self.token: str = self.ask("/tokens", {"role": "editor"})["token"]

    def _sign_in(self, link: str) -> str:
        given = {"key": link.partition("#k=")[2], "device": self.name}
        with self._request("/signin", given) as answer:
            return str(answer.headers["set-cookie"]).partition(";")[0]

    def _request(self, path: str, body: dict[str, Any] | None, method: str | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/api/v1{path}", data, self._headers, method=method)
        return urllib.request.urlopen(request, timeout=20)

    def ask(self, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> dict[str, Any]:
        """One request to the API, as this device."""
        with self._request(path, body, method) as answer:
            found: dict[str, Any] = json.loads(answer.read() or b"{}")
            return found

    @asynccontextmanager
    async def online(self, task: str) -> AsyncIterator[Callable[[], Any]]:
        """Connected for the length of the block; gives what waits until all that was said is durable."""
        presence = Presence(status=f"on the {self.name}")
        async with connect(self._url, task=task, token=self.token, doc=self.doc, presence=presence) as client:
            yield client.barrier

    async def answered(self, messages: int) -> None:
        """Wait until the agent has answered so many times, and print what it said last."""
        async with asyncio.timeout(30):
            while len(turns := self._ended()) < messages:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        said = {item["id"]: item["text"] for item in self.ask(f"/tasks/{self.task}/working-set")["messages"]}
        print("    The agent:")
        print(*(f"      {line}" for line in said[turns[0]["answer"]].splitlines()), sep="\n")

    def _ended(self) -> list[dict[str, Any]]:
        return [turn for turn in self.ask(f"/tasks/{self.task}/turns")["turns"] if turn["status"] == "done"]

    task = ""

    def sees(self) -> str:
        """Its working set, in a few words."""
        found = read(self.doc)
        parts = [f"“{words}”" for document in found["documents"] if (words := document["markdown"].strip())]
        for kind in ("constraints", "decisions", "questions"):
            if found[kind]:
                parts.append(f"{kind}: " + "; ".join(f"{item['text']} [{item['status']}]" for item in found[kind]))
        return f"    {self.name} sees {', '.join(parts)}"


async def _agree(*devices: Device) -> None:
    """Wait until all show the same, then say what."""
    async with asyncio.timeout(20):
        while len({json.dumps(read(device.doc), sort_keys=True) for device in devices}) > 1:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    for device in devices:
        print(device.sees())


async def _tell(site: Site) -> None:
    laptop, phone = Device(site, "laptop"), Device(site, "phone")
    session = laptop.ask("/sessions", {"device": "laptop"})["id"]
    laptop.task = phone.task = task = laptop.ask("/tasks", {})["id"]
    laptop.ask(f"/sessions/{session}", {"task_id": task}, "PATCH")
    print(f"A task that nobody has named yet, on {site.url}")
    async with laptop.online(task) as saved:
        print(f"\n1. On the laptop, somebody says:\n    {FIRST}")
        laptop.work.add_message(FIRST, session=session)
        await saved()
        await laptop.answered(1)
        print(f"    and has named the task “{laptop.ask(f'/tasks/{task}')['name']}”.")
        await _part_and_meet(laptop, phone, task, saved)
        print(f"\n4. Back on the laptop, a decision gives way to another:\n    {SECOND}")
        laptop.work.add_message(SECOND, session=session)
        await saved()
        await laptop.answered(2)
    laptop.ask(f"/sessions/{session}/end", {})
    print(f"\n5. The laptop is closed. The phone, without a connection of its own, says in passing:\n    {THIRD}")
    phone.ask(f"/tasks/{task}/messages", {"text": THIRD})
    await phone.answered(3)
    print(f"\n6. The laptop is opened again, with a message that names no task:\n    {BACK}")
    begun = laptop.ask("/sessions", {"device": "laptop", "first_message": BACK})
    for candidate in begun["candidates"]:
        print(f"    “{candidate['task']['name']}”? {candidate['why']}")
    print(f"\n    {laptop.ask(f'/tasks/{task}/resume')['text']}")


async def _part_and_meet(laptop: Device, phone: Device, task: str, saved: Callable[[], Any]) -> None:
    async with phone.online(task):
        pass
    print("\n2. The phone has seen it and loses its network. Both go on writing.")
    question = read(phone.doc)["questions"][0]["id"]
    phone.work.answer(question, "Swiss law, says Ann")
    phone.work.add_document("From the phone", "Called Wei at noon 😀")
    laptop.work.answer(question, "德国法律 (the client's lawyer)")
    laptop.work.add_document("Draft", "Clause 4: the liability cap is **200 k€**.")
    await saved()
    print(phone.sees(), laptop.sees(), sep="\n")
    print("\n3. The phone is back: both are merged, and the two answers stand side by side, marked as a conflict.")
    async with phone.online(task) as delivered:
        await delivered()
        await _agree(laptop, phone)
