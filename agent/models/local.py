"""A model in a file, run on this machine.

Owns the process that it runs in. The engine is native code that can crash, grow and keep a core busy: in a process of
its own a crash costs one turn, and what is asked can be called off by closing a connection. The process listens on
127.0.0.1 alone, for whoever has the key that only its parent knows, and ends with it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Final, Self

import anyio
from anyio.abc import Process
from httpx2 import HTTPError, Request

from agent.models.engine import Engine
from agent.models.errors import Failed
from agent.models.limits import Limits
from agent.models.services import client, local_engine

_WINDOW: Final = 8_192
"""Tokens of context, if the model was trained for so many: all of it is held in memory."""
_LOADING: Final = 120.0
_LOOKING: Final = 2.0
_SECRET: Final = re.compile(r"^CLEW_|KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
"""Variables that the process has no use for."""
_WHERE: Final = "http://127.0.0.1"


class LocalModel:
    """Started by the first turn, ended on leaving."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._client = client(limits, _WHERE)
        self._lock = anyio.Lock()
        self._process: Process | None = None
        self._engine: Engine | None = None
        self._about: Request | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        with anyio.CancelScope(shield=True):
            await self._end()
            await self._client.aclose()

    @property
    def pid(self) -> int | None:
        """The process that the model runs in, if it does."""
        return self._process.pid if self._process and _is_running(self._process) else None

    async def engine(self) -> Engine:
        """The running model; it is loaded first if it is not. Raises Failed."""
        async with self._lock:
            if self._engine is None or self.pid is None or await self._is_gone():
                await self._end()
                try:
                    with anyio.fail_after(_LOADING):
                        self._engine = await self._load()
                except BaseException as error:
                    with anyio.CancelScope(shield=True):
                        await self._end()
                    if isinstance(error, Exception):
                        raise Failed("The local model could not be loaded.") from None
                    raise
            return self._engine

    async def _load(self) -> Engine:
        key = secrets.token_urlsafe(32)
        threads = max(1, (os.cpu_count() or 2) // 2)
        wanted = {"model": str(self._path), "window": _WINDOW, "threads": threads, "key": key}
        self._process = await anyio.open_process(
            [sys.executable, "-m", "agent.models.local_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if not _SECRET.search(name)},
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        await self._process.stdin.send(json.dumps(wanted).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            line += await self._process.stdout.receive()
        address = json.loads(line)["address"]
        self._about = Request("GET", f"{address}/models", headers={"Authorization": f"Bearer {key}"})
        about = (await self._client.send(self._about)).raise_for_status().json()["data"][0]["meta"]
        window = min(about["n_ctx"], about["n_ctx_train"])
        return local_engine(self._path.name, address, key, window, self._client)

    async def _is_gone(self) -> bool:
        """Whether nobody is there to answer: who is killed hangs up a moment before the system says that it ended."""
        assert self._about is not None
        with anyio.move_on_after(_LOOKING):  # one that is busy is there
            for _ in range(2):  # a connection that was kept may have been given up meanwhile
                try:
                    await self._client.send(self._about)
                    return False
                except HTTPError:
                    continue
            return True
        return False

    async def _end(self) -> None:
        process, self._process, self._engine = self._process, None, None
        if process is not None:
            if process.returncode is None:
                process.kill()  # it holds nothing that could be lost, and may be busy
            await process.aclose()


def _is_running(process: Process) -> bool:
    """Whether it has not ended, asked of the system: the event loop hears of an end only some time after it."""
    if process.returncode is not None or not hasattr(os, "waitid"):
        return process.returncode is None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False
