"""The operator's door: a socket in the data folder, over which commands ask the server that holds it.

Owns the framing (one line of JSON each way per connection) and the socket's mode, which is its only lock: who may read
the data folder may do all of this. Must never be reachable from a network, nor put a secret anywhere but in an answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from server.domain.errors import ClewError, Code, Invalid, Unavailable

SOCKET: Final = "control.sock"
MAX_LINE: Final = 1 << 20
MAX_ANSWER: Final = 1 << 30
LONGEST_PATH: Final = 100
"""A socket's address holds 104 bytes on some systems, 108 on others."""

Arguments = Mapping[str, Any]
Answer = Callable[[str, Arguments], Awaitable[Any]]
"""Takes a command's name and arguments, gives something that JSON can hold, or raises ClewError."""


class CommandRefused(ClewError):
    """The server refused the command."""

    def __init__(self, code: Code, why: str) -> None:
        super().__init__(why)
        self.code = code


@asynccontextmanager
async def listen(folder: Path, answer: Answer) -> AsyncIterator[None]:
    """Answer commands for the block. The caller holds the folder, so a socket that is there is a dead server's."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readline()
            writer.write(json.dumps(await _respond(answer, line)).encode() + b"\n")
            await writer.drain()
        except (OSError, ValueError):
            pass  # the command has gone away, or said more than a line may hold
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    with _bound(folder) as listening:
        async with await asyncio.start_unix_server(converse, sock=listening, limit=MAX_LINE):
            yield


async def ask(folder: Path, command: str, arguments: Arguments) -> Any:
    """Let the server that holds the folder do it. Raises OSError if none answers, CommandRefused, Unavailable."""
    with _address(folder) as path:
        reader, writer = await asyncio.open_unix_connection(path, limit=MAX_ANSWER)
    try:
        writer.write(json.dumps({"command": command, "arguments": arguments}).encode() + b"\n")
        await writer.drain()
        line = await reader.readline()
    finally:
        writer.close()
    if not line.endswith(b"\n"):
        raise Unavailable("The server ended before it had answered.")
    said = json.loads(line)
    if "error" in said:
        raise CommandRefused(said["error"]["code"], said["error"]["why"])
    return said["answer"]


async def _respond(answer: Answer, line: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(line)
        if not isinstance(asked, dict) or not isinstance(asked.get("arguments"), dict):
            raise Invalid("A command is an object with a name and arguments.")
        return {"answer": await answer(str(asked.get("command")), asked["arguments"])}
    except json.JSONDecodeError:
        return {"error": {"code": "invalid", "why": "A command is one line of JSON."}}
    except ClewError as error:
        return {"error": {"code": error.code, "why": error.why}}


@contextmanager
def _bound(folder: Path) -> Iterator[socket.socket]:
    (folder / SOCKET).unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        mask = os.umask(0o177)  # the socket is never wider than 0600, not even for a moment
        try:
            with _address(folder) as path:
                listening.bind(path)
        finally:
            os.umask(mask)
        listening.setblocking(False)
        listening.listen(16)
        yield listening
    finally:
        listening.close()
        (folder / SOCKET).unlink(missing_ok=True)


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    """The socket's path; through an open folder where it is too long for an address."""
    path = os.path.abspath(folder / SOCKET)
    if len(os.fsencode(path)) <= LONGEST_PATH:
        yield path
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        through = f"/proc/self/fd/{descriptor}"
        if not os.path.exists(through):
            raise Invalid(f"{folder} is too long a path for a socket; give --data a shorter one.")
        yield f"{through}/{SOCKET}"
    finally:
        os.close(descriptor)
