"""The agent's command line: ``python -m agent --server URL``, which ``clew agent`` and ``clew serve`` run.

Owns flags, environment and exit codes. Must never take a bearer where others can read it, unless it is insisted on.

0 asked to end, 1 it can't go on (one sentence on standard error), 2 it was not understood.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import anyio

from agent.door import open_door
from agent.errors import AgentError, Usage, first_of
from agent.host import Host
from agent.process import BOOT, HANGS_AFTER, Nursery
from agent.workers import open_workers
from crdt_docs.ids import is_id

MAX_TOKEN: Final = 4096


def parser() -> argparse.ArgumentParser:
    """All flags."""
    made = argparse.ArgumentParser(
        prog="clew agent", description="Join a server's tasks and answer what people say there.", allow_abbrev=False
    )
    made.add_argument("--server", metavar="URL", help="the server (or $CLEW_SERVER)")
    made.add_argument("--task", metavar="ID", help="answer in this task only; clew tasks list has the ids")
    made.add_argument("--model", metavar="PROVIDER:NAME", help="who thinks (or $CLEW_MODEL; default: the clerk)")
    made.add_argument("--token-file", metavar="F", help="a file with the bearer, - for a line of standard input")
    made.add_argument("--token", metavar="T", help="the bearer itself; others can read it in the list of processes")
    made.add_argument("--until-eof", action="store_true", help="end when standard input does")
    made.add_argument("--verbose", action="store_true", help="tell on standard error what happens")
    made.epilog = "The bearer comes from $CLEW_TOKEN where neither --token-file nor --token is given."
    return made


def main(words: Sequence[str] | None = None, *, boot: str = BOOT, patience: float = HANGS_AFTER) -> int:
    """Run until told to end; the exit code. ``boot`` is the nursery's program; ``patience`` in seconds, see there."""
    asked = parser().parse_args(words)
    logging.basicConfig(
        level=logging.INFO if asked.verbose else logging.WARNING, format="clew agent: %(message)s", stream=sys.stderr
    )
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    try:
        if asked.task is not None and not is_id(asked.task):
            raise Usage("--task wants a task's id, whole; clew tasks list has them")
        server = _server(asked, os.environ)
        bearer = _bearer(asked, os.environ)
        anyio.run(_run, asked, server, bearer, boot, patience)
    except AgentError as error:
        print(f"clew agent: {error}", file=sys.stderr)
        return 2 if isinstance(error, Usage) else 1
    except KeyboardInterrupt:
        return 0
    return 0


async def _run(asked: argparse.Namespace, server: str, bearer: str, boot: str, patience: float) -> None:
    model = asked.model or os.environ.get("CLEW_MODEL") or None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_end_when_asked, tasks.cancel_scope)
            if asked.until_eof:
                tasks.start_soon(_end_with_input, tasks.cancel_scope)
            async with (
                open_door(server, bearer) as door,
                open_workers(Nursery(server, model, boot, patience)) as workers,
            ):
                await Host(door, workers, asked.task).run()
    except BaseExceptionGroup as several:
        raise first_of(several) from None


async def _end_when_asked(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
            return


async def _end_with_input(scope: anyio.CancelScope) -> None:
    """Whoever started us holds the other end, and is gone when it closes."""
    while True:
        await anyio.wait_readable(0)
        if not os.read(0, 4096):
            scope.cancel()
            return


def _server(asked: argparse.Namespace, environment: Mapping[str, str]) -> str:
    server = asked.server or environment.get("CLEW_SERVER") or ""
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise Usage("--server wants the URL of a server, such as http://127.0.0.1:8484")
    return str(server).rstrip("/")


def _bearer(asked: argparse.Namespace, environment: Mapping[str, str]) -> str:
    if asked.token_file == "-":
        bearer = _first_line(0)
    elif asked.token_file:
        try:
            bearer = Path(asked.token_file).read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            raise Usage(f"the token file can't be read ({type(error).__name__})") from None
    else:
        bearer = (asked.token or environment.get("CLEW_TOKEN") or "").strip()
    if not bearer or not bearer.isascii() or not bearer.isprintable() or " " in bearer:
        raise Usage("give the bearer by --token-file or $CLEW_TOKEN; clew token create makes one")
    return bearer


def _first_line(descriptor: int) -> str:
    """A line, read byte by byte: what follows it is not ours."""
    line = bytearray()
    while len(line) < MAX_TOKEN and (byte := os.read(descriptor, 1)) not in (b"", b"\n"):
        line += byte
    return line.decode("ascii", "replace").strip()
