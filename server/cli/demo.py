"""``clew demo``: a phone, a laptop and a scripted third peer on one sample task, told as it happens.

Owns a server of its own over a throw-away folder, started as a person would start it, and three ordinary peers on real
sockets. Must never do anything that a stranger could not do with the README: the console script, HTTP, the client.
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

TASK: Final = "Acme contract revision"
CLEW: Final = (sys.executable, "-c", "import sys; from server.cli.main import main; sys.exit(main())")
_LINK: Final = re.compile(r"https?://\S+/#k=\S+")


def add(commands: Commands) -> None:
    """Its flags."""
    parser = command(commands, "demo", "phone, laptop and a third peer on one sample task")
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
    """A running server and a bearer of its owner."""

    process: subprocess.Popen[str]
    link: str
    token: str

    @property
    def url(self) -> str:
        """The server's address."""
        return self.link.partition("/#")[0]

    def ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """One request to the API."""
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1{path}", data, headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


@contextmanager
def _server(data: Path, port: str) -> Iterator[Site]:
    process = subprocess.Popen(
        [*CLEW, "serve", "--data", str(data), "--port", port, "--no-browser", "--no-agent"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        link = _await_link(process)
        made = subprocess.run(
            [*CLEW, "token", "create", "--data", str(data)], capture_output=True, text=True, check=True
        )
        yield Site(process, link, made.stdout.strip())
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
    """A peer with a name: a replica that outlives its connections."""

    def __init__(self, site: Site, task: str, name: str) -> None:
        self.name = name
        self.doc: Doc[Any] = Doc()
        self.work = WorkingSet(self.doc, name, lambda: int(SystemClock().now() * 1000))
        self._site = site
        self._task = task

    @asynccontextmanager
    async def online(self) -> AsyncIterator[Callable[[], Any]]:
        """Connected for the length of the block; gives what waits until all that was said is durable."""
        presence = Presence(status=f"on the {self.name}")
        async with connect(
            self._site.url, task=self._task, token=self._site.token, doc=self.doc, presence=presence
        ) as client:
            yield client.barrier

    def sees(self) -> str:
        """Its working set, in one line."""
        found = read(self.doc)
        words = [document["markdown"].strip().replace("\n\n", " / ") for document in found["documents"]]
        parts = [f"document “{' | '.join(word for word in words if word)}”"]
        for kind in ("constraints", "decisions", "questions", "messages"):
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
    task = site.ask("/tasks", {"name": TASK, "goal": "Sign by Friday."})["id"]
    print(f"A task, “{TASK}”, on {site.url}\n")
    laptop, phone, keeper = (Device(site, task, name) for name in ("laptop", "phone", "keeper"))
    async with laptop.online() as saved, keeper.online() as kept:
        async with phone.online():
            print("1. On the laptop: a clause, a constraint and a question.")
            laptop.work.add_document("Draft", "Clause 4: the liability cap is **200 k€**.")
            laptop.work.add_constraint("Never below 150 k€", severity="critical")
            question = laptop.work.ask("Which law governs?")
            await saved()
            await _agree(laptop, phone, keeper)
        print("\n2. The phone loses its network, and both go on writing.")
        phone.work.decide("Cap at 180 k€", topic="liability cap")
        phone.work.answer(question, "Swiss law, says Ann")
        laptop.work.answer(question, "德国法律 (the client's lawyer)")
        laptop.work.add_document("Notes", "Called Wei at noon 😀")
        await saved()
        print(phone.sees(), laptop.sees(), sep="\n")
        print("\n3. The phone is back: both are merged, and the two answers stand side by side, marked as a conflict.")
        async with phone.online() as delivered:
            await delivered()
            await _agree(laptop, phone, keeper)
            print("\n4. The third peer, a script, says what is still open.")
            keeper.work.add_message("Still open: which law governs? There are two answers.", role="agent")
            await kept()
            await _agree(laptop, phone, keeper)
    print("\n5. Tomorrow, on any device:")
    print(f"    {site.ask(f'/tasks/{task}/resume')['text']}")
