"""A running server with an owner's bearer in hand. Owns nothing but the two together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.running_server import RunningServer, running_server
from kit.wire import Api, Peer, join
from pycrdt import Doc


@dataclass
class Served:
    """``token`` is a bearer of the first user, ``owner``."""

    server: RunningServer
    token: str

    @property
    def api(self) -> Api:
        """The API as the owner."""
        return Api(self.server.port, self.token)

    def new_task(self, name: str = "Trial") -> str:
        """A fresh task of the owner's."""
        return self.api.new_task(name)

    def new_user(self, name: str) -> str:
        """Another person; a bearer of theirs."""
        self.server.clew("user", "add", name)
        return str(self.server.new_token(name)["token"])

    def join(
        self, task: str, doc: Doc[Any] | None = None, *, token: str | None = None, **options: Any
    ) -> AbstractAsyncContextManager[Peer]:
        """A socket to a task, the owner's if no bearer is given."""
        return join(self.server.port, task, token or self.token, doc, **options)


@contextmanager
def serve(folder: Path, *options: str, agent: bool = False) -> Iterator[Served]:
    """Serve a data folder, without the built-in agent unless it is asked for, until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with running_server(folder / "data", options, agent=agent) as server:
        yield Served(server, str(server.new_token("owner", "--role", "owner")["token"]))
