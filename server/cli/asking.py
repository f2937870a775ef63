"""How a command gets its answer: from the server that holds the data folder, or from the folder if none does.

Must never open a database that a server holds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any, Final

import anyio

from server.cli.flags import settings
from server.config import Config
from server.control import wire
from server.control.backing_up import BackingUp
from server.control.operator import Operator
from server.domain.clock import SystemClock
from server.domain.errors import ClewError, Invalid, Unavailable
from server.store.folder import FolderHeld, hold
from server.store.nouns import open_nouns

PATIENCE: Final = 5.0
"""Seconds that a server may take from holding its folder to answering, or from closing its door to letting go."""

LONGEST: Final = 300.0
"""Seconds that a server may take for a command; repairing a large document is the longest."""


def answer(
    asked: argparse.Namespace,
    command: str,
    arguments: Mapping[str, Any],
    *,
    documents: bool = False,
    within: float = LONGEST,
) -> Any:
    """Have the command done within so many seconds, by a server. Raises ClewError.

    ``documents`` says that it needs more than the database.
    """
    loaded = settings(asked)
    folder = loaded.config.data
    if loaded.origins["data"] == "default" and not folder.exists():
        raise Invalid(f"There is no {folder} here. Go to where the server is started, or name its folder by --data.")
    return anyio.run(_answer, loaded.config, command, arguments, documents, within)


def print_json(said: Any) -> None:
    """One JSON value on standard output."""
    json.dump(said, sys.stdout, ensure_ascii=False, indent=2)
    print()


async def _answer(config: Config, command: str, arguments: Mapping[str, Any], documents: bool, within: float) -> Any:
    began = anyio.current_time()
    while True:
        try:
            with anyio.fail_after(within):
                return await wire.ask(config.data, command, arguments)
        except TimeoutError:
            raise Unavailable(f"The server that holds {config.data} does not answer.") from None
        except OSError:
            pass  # nobody listens: then nobody should hold it either
        try:
            return await _alone(config, command, arguments, documents)
        except FolderHeld:
            if anyio.current_time() > began + PATIENCE:
                raise
        await anyio.sleep(0.1)


async def _alone(config: Config, command: str, arguments: Mapping[str, Any], documents: bool) -> Any:
    if documents:
        from server.app import local_url, operator  # half a second that only these commands pay
        from server.services import open_services

        async with open_services(config) as services:
            try:
                return await operator(services, lambda: local_url(config, config.port)).answer(command, arguments)
            except ClewError as error:
                refused = error
        raise refused  # only now: on its way through the task groups it would come out as one of several
    with hold(config.data):
        async with open_nouns(config.data) as nouns:
            scheme = "https" if config.tls_cert else "http"
            url = f"{scheme}://localhost:{config.port}"
            clock = SystemClock()
            backs_up = BackingUp(config.data, nouns.database, clock).make
            return await Operator(nouns, clock, lambda: url, backs_up=backs_up).answer(command, arguments)
