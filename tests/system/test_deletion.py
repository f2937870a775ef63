"""What somebody deletes is gone from the disk: its words, its name, and what hung on it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from kit.disk_faults import text_of
from kit.served import Served
from pycrdt import Doc

from server.store.opening import opened_texts


def stored(folder: Path, mark: bytes) -> list[str]:
    """The files of the data folder in which the bytes are, and the documents whose sealed rows hold them."""
    files = [file.name for file in folder.iterdir() if file.is_file() and mark in file.read_bytes()]
    return sorted({*files, *(name for name, text in opened_texts(folder / "log.db") if mark in text)})


async def test_a_deleted_tasks_bytes_are_in_none_of_the_files(served: Served) -> None:
    kept, task = served.new_task("KEPT-NAME"), served.new_task("GONE-NAME")
    for name, words in ((task, "GONE-WORDS "), (kept, "KEPT-WORDS ")):
        doc = Doc[Any]()
        async with served.join(name, doc) as peer:
            await asyncio.wait_for(peer.synced.wait(), 20)
            for number in range(30):
                text_of(doc).__iadd__(f"{words}{number} " * 20)
                await peer.push()
            await peer.barrier()
    folder = served.server.data
    assert stored(folder, b"GONE-NAME") and stored(folder, b"GONE-WORDS")
    await asyncio.to_thread(served.api.ask, "DELETE", f"/tasks/{task}")
    assert stored(folder, b"GONE-WORDS") == []
    assert stored(folder, b"GONE-NAME") == []
    assert stored(folder, b"KEPT-NAME") and stored(folder, b"KEPT-WORDS")
