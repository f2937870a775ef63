"""Under ``--durability full`` a receipt leaves the machine only after the fdatasync that covers it: seen by strace."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kit import running_server
from kit.served import Served
from pycrdt import Doc, Text

from server.store.rows import place
from server.store.vault import Vault

ROUNDS = 12
CALLS = "fsync,fdatasync,write,writev,pwrite64,pwritev,sendto,sendmsg"
LINE = re.compile(r"^(?P<thread>\d+) +(?P<rest>.*)$")
SYNC = re.compile(r"^(?:fsync|fdatasync)\(\d+<(?P<path>[^>]*)>")
RESUMED = re.compile(r"^<\.\.\. (?:fsync|fdatasync) resumed>")
WRITE = re.compile(r"^(?:write|writev|pwrite64|pwritev)\(\d+<(?P<path>\\x2f[^>]*)>")  # -xx writes paths in hex, too
SEND = re.compile(r"^(?:write|writev|sendto|sendmsg)\(\d+<(?:TCP|socket)[^>]*>")


@dataclass
class Order:
    """When, in lines of the trace, a mark was written to the log, synced there, and sent to a socket; 0 for never."""

    written: int = 0
    synced: int = 0
    sent: int = 0


def stored_marks(data: Path, marks: list[bytes]) -> dict[bytes, bytes]:
    """How the row begins in which each mark is stored: what is written of it is sealed."""
    found: dict[bytes, bytes] = {}
    with closing(Vault.beside(data, readonly=True)) as vault, closing(sqlite3.connect(data / "log.db")) as log:
        for doc, seq, n, kid, row in log.execute("SELECT doc, seq, n, kid, CAST(data AS BLOB) FROM updates"):
            text = vault.open(kid, place(doc, seq, n), row)
            found.update({mark: row[:20] for mark in marks if mark in text and mark not in found})
    return found


def _hexed(needle: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in needle)


def read_order(trace: list[str], mark: bytes, stored: bytes) -> Order:
    """Follow one mark through the trace: it is written as it is ``stored``, and sent as it is.

    A sync counts when it has returned, a send from when it begins.
    """
    needle, sealed = _hexed(mark), _hexed(stored)
    order = Order()
    log = ""
    syncing: dict[str, bool] = {}  # thread -> whether the sync that it is in covers the mark
    for number, line in enumerate(trace, 1):
        match = LINE.match(line)
        if match is None:
            continue
        thread, rest = match["thread"], match["rest"]
        if RESUMED.match(rest):
            if syncing.pop(thread, False) and not order.synced:
                order.synced = number
        elif sync := SYNC.match(rest):
            covers = bool(order.written) and sync["path"] == log
            if "<unfinished" in rest:
                syncing[thread] = covers
            elif covers and not order.synced:
                order.synced = number
        elif needle in rest and SEND.match(rest):
            order.sent = order.sent or number
        elif sealed in rest and (write := WRITE.match(rest)) and not order.written:
            order.written, log = number, write["path"]
    return order


@contextmanager
def traced(folder: Path, monkeypatch: pytest.MonkeyPatch, durability: str) -> Iterator[tuple[Served, Path]]:
    """A server that runs under strace from its first instruction on."""
    assert shutil.which("strace"), "This test needs strace: `make test` installs it."
    trace = folder / "trace"
    # -D: strace is the grandchild, so that the process we start and end is the server itself
    strace = ("strace", "-D", "-f", "-yy", "-xx", "-s", "8192", "-e", f"trace={CALLS}", "-o", str(trace))
    clew = running_server.CLEW
    with monkeypatch.context() as patch:
        patch.setattr(running_server, "CLEW", (*strace, *clew))
        server = running_server.RunningServer(
            folder / "data", running_server.free_port(), ("--no-agent", "--durability", durability)
        ).start()
    try:
        yield Served(server, str(server.new_token("owner", "--role", "owner")["token"])), trace
    finally:
        server.stop()


async def type_marks(served: Served) -> list[bytes]:
    """Two peers; each mark is one update, waited for by a barrier, by an echo, or by the other peer."""
    task = served.new_task()
    doc, other = Doc[Any](), Doc[Any]()
    text, seen = doc.get("notes", type=Text), other.get("notes", type=Text)
    marks = [f"mark-{secrets.token_hex(6)}".encode() for _ in range(ROUNDS)]
    async with served.join(task, doc) as writer, served.join(task, other) as reader:
        for number, mark in enumerate(marks):
            text += mark.decode()
            await writer.push()
            if number % 2:
                await writer.barrier()
            else:
                await reader.until(lambda mark=mark: mark.decode() in str(seen))  # type: ignore[misc]
            await asyncio.sleep(0.02)
    return marks


@pytest.mark.timeout(120)
async def test_no_receipt_leaves_before_the_sync_that_covers_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with traced(tmp_path, monkeypatch, "full") as (served, trace):
        marks = await type_marks(served)
    lines = trace.read_text(errors="replace").splitlines()
    stored = stored_marks(tmp_path / "data", marks)
    for mark in marks:
        order = read_order(lines, mark, stored[mark])
        assert 0 < order.written < order.synced < order.sent, (mark, order)


@pytest.mark.timeout(120)
async def test_the_trace_would_show_a_receipt_that_came_too_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under ``process`` nothing is synced before the receipt, and the same reading of the trace says so."""
    with traced(tmp_path, monkeypatch, "process") as (served, trace):
        marks = await type_marks(served)
    lines = trace.read_text(errors="replace").splitlines()
    stored = stored_marks(tmp_path / "data", marks)
    orders = [read_order(lines, mark, stored[mark]) for mark in marks]
    assert all(0 < order.written < order.sent for order in orders), orders
    assert sum(0 < order.synced < order.sent for order in orders) < ROUNDS // 2
