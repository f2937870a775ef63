"""Clew, as ``clew serve`` starts it: presence, leases, policy and the built-in agent on."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.servers.server import Server

ENTRY = "import sys; from server.cli.main import main; sys.exit(main())"
CONNECTIONS = {"CLEW_USER_CONNECTIONS": "50000"}
"""Here one user opens more documents than the 1,000 that the default setting lets one person open."""


class Clew(Server):
    """From a source tree, by this Python."""

    path = "/sync/"
    patience = 900.0

    def __init__(self, tree: Path, durability: str, folder: Path) -> None:
        super().__init__(folder)
        self._tree = tree
        self._durability = durability
        self._token = ""
        self._tasks: list[str] = []

    def command(self) -> list[str]:
        """``clew serve``."""
        options = ["--port", str(self.port), "--durability", self._durability, "--no-browser"]
        return [sys.executable, "-c", ENTRY, "serve", "--data", str(self.folder / "data"), *options]

    def environment(self) -> dict[str, str]:
        """The one setting that differs from the defaults."""
        return {**CONNECTIONS, "PYTHONPATH": str(self._tree)}

    def directory(self) -> Path:
        """The tree, so that its packages come first."""
        return self._tree

    def is_ready(self) -> bool:
        """Whether it can commit."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def admit(self) -> None:
        """A bearer of the owner's, which a client shows as a subprotocol."""
        options = ["--data", str(self.folder / "data"), "--user", "owner", "--role", "owner", "--json"]
        made = subprocess.run(
            [sys.executable, "-c", ENTRY, "token", "create", *options],
            cwd=self._tree, env={**os.environ, **self.environment()}, capture_output=True, check=True,
        )  # fmt: skip
        self._token = json.loads(made.stdout)["token"]
        self.protocols = f"clew.v1, token.{self._token}"

    def names(self, count: int) -> list[str]:
        """A task for each document; made when it is asked for."""
        missing = range(len(self._tasks), count)
        with ThreadPoolExecutor(8) as threads:
            for made in threads.map(self._make_tasks, [missing[at::8] for at in range(8)]):
                self._tasks += made
        return self._tasks[:count]

    def _make_tasks(self, numbers: Sequence[int]) -> list[str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        head = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        made = []
        for number in numbers:
            connection.request("POST", "/api/v1/tasks", json.dumps({"name": f"Task {number}"}), head)
            made.append(json.loads(connection.getresponse().read())["id"])
        connection.close()
        return made
