"""A server whose disk fails: the kernel's own answer, put in by strace. Owns when it fails; must never fake a layer.

Also a writer that goes on until it is told that nothing can be stored.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kit import running_server
from kit.served import Served
from kit.wire import Closed
from pycrdt import Doc, Text


@contextmanager
def failing(folder: Path, path: str, call: str, error: str, when: str, *options: str) -> Iterator[Served]:
    """Serve ``folder/data``; ``call`` on ``path`` in it fails with ``error`` ``when`` it is called so many times.

    Each thread counts for itself. After a restart the disk is well again.
    """
    assert shutil.which("strace"), "This test needs strace: `make test` installs it."
    # -D: strace is the grandchild, so that the process we start and end is the server itself
    strace = (
        "strace",
        "-D",
        "-f",
        "--seccomp-bpf",
        "-qq",
        "-o",
        str(folder / "trace"),
        "-P",
        str(folder / "data" / path),
    )
    inject = ("-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}")
    with patch.object(running_server, "CLEW", (*strace, *inject, *running_server.CLEW)):
        server = running_server.RunningServer(folder / "data", running_server.free_port(), options).start()
    try:
        yield Served(server, str(server.new_token("owner", "--role", "owner")["token"]))
    finally:
        server.stop()


def text_of(doc: Doc[Any]) -> Text:
    """Where the words go."""
    text: Text = doc.get("t", type=Text)
    return text


async def write_until_it_fails(served: Served, task: str, confirmed: list[str], size: int = 2_000) -> Closed:
    """Write words, each waited for, until the server closes; those that a barrier confirmed are in ``confirmed``."""
    doc = Doc[Any]()
    async with served.join(task, doc) as peer:
        await asyncio.wait_for(peer.synced.wait(), 20)
        for at in range(10_000):
            word = f"{at}:" + "x" * size + " "
            text_of(doc).__iadd__(word)
            await peer.push()
            try:
                await peer.barrier()
            except Closed as closed:
                return closed
            confirmed.append(word)
    raise AssertionError("the disk never failed")


async def read_words(served: Served, task: str) -> str:
    """What a newcomer is given."""
    doc = Doc[Any]()
    async with served.join(task, doc) as peer:
        await asyncio.wait_for(peer.synced.wait(), 20)
        return str(text_of(doc))


async def write_when_taken(served: Served, task: str, word: str) -> int:
    """Write it as soon as the server takes anything again; how often it said that it does not yet."""
    refused = 0
    async with asyncio.timeout(30):
        while True:
            try:
                await write_word(served, task, word)
            except Closed as closed:
                assert closed.code == 1013
                refused += 1
                await asyncio.sleep(0.3)
            else:
                return refused


async def write_word(served: Served, task: str, word: str) -> None:
    """Write one more word, and have it confirmed. Raises Closed."""
    doc = Doc[Any]()
    async with served.join(task, doc) as peer:
        await asyncio.wait_for(peer.synced.wait(), 20)
        text_of(doc).__iadd__(word)
        await peer.push()
        await peer.barrier()
