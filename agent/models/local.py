"""A model in a file, run on this machine.

Owns the process that it runs in. The engine is native code that can crash, grow and keep a core busy: in a process of
its own a crash costs one turn, and what is asked can be called off by closing a connection. The process listens on
127.0.0.1 alone, for whoever has the key that only its parent knows, and ends with it.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self

import anyio
import httpx2
from anyio.abc import Process

from agent.models.engine import Engine
from agent.models.errors import Failed
from agent.models.limits import Limits
from agent.models.services import client, local_engine

_CONTEXT: Final = 8_192
"""Tokens of context at most, of which the answer takes its part; small machines have to hold it all."""
_LOADING: Final = 120.0
_GRACE: Final = 2.0
_WHERE: Final = "http://127.0.0.1"


class LocalModel:
    """Started by the first turn, ended on leaving."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        answer = min(limits.answer_tokens, _CONTEXT // 4)
        self.limits = replace(
            limits, answer_tokens=answer, context_tokens=min(limits.context_tokens, _CONTEXT - 2 * answer)
        )
        self._stack = AsyncExitStack()
        self._process: Process | None = None
        self._engine: Engine | None = None

    async def __aenter__(self) -> Self:
        self._http: httpx2.AsyncClient = await self._stack.enter_async_context(client(self.limits, _WHERE))
        return self

    async def __aexit__(self, *error: Any) -> None:
        with anyio.CancelScope(shield=True):
            await self._end()
            await self._stack.aclose()

    @property
    def pid(self) -> int | None:
        """The process that the model runs in, if it does."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def engine(self) -> Engine:
        """The running model; it is loaded first if it is not. Raises Failed."""
        if self._engine is None or self.pid is None:
            await self._end()
            try:
                self._engine = await self._load()
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await self._end()
                raise
        return self._engine

    async def _load(self) -> Engine:
        key = secrets.token_urlsafe(32)
        threads = max(1, (os.cpu_count() or 2) // 2)
        wanted = {"model": str(self._path), "context": _CONTEXT, "threads": threads, "key": key}
        self._process = await anyio.open_process(
            [sys.executable, "-m", "agent.models.local_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        try:
            with anyio.fail_after(_LOADING):
                await self._process.stdin.send(json.dumps(wanted).encode() + b"\n")
                line = b""
                while not line.endswith(b"\n"):
                    line += await self._process.stdout.receive()
        except (TimeoutError, anyio.EndOfStream, anyio.BrokenResourceError):
            raise Failed("The local model could not be loaded.") from None
        return local_engine(self._path.name, json.loads(line)["address"], key, self._http)

    async def _end(self) -> None:
        """Close its pipe, at which it ends; kill it if it does not."""
        process, self._process, self._engine = self._process, None, None
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        await process.aclose()
