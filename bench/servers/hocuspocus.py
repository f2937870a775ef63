"""@hocuspocus/server with its SQLite extension, at its defaults: stored two to ten seconds after an edit."""

from __future__ import annotations

from pathlib import Path

from bench.servers.node import PEERS, PRODUCTION
from bench.servers.server import HOCUSPOCUS, Server


class Hocuspocus(Server):
    """``window`` (ms) is its ``flushDelay``: how long it gathers updates before it sends them; its default is none."""

    wire = HOCUSPOCUS

    def __init__(self, folder: Path, window: int = 0) -> None:
        super().__init__(folder)
        self._window = window

    def command(self) -> list[str]:
        """Started by a script of ours, for it is a library."""
        return ["node", str(PEERS / "hocuspocus.mjs")]

    def environment(self) -> dict[str, str]:
        """Port, file, window."""
        own = {"PORT": str(self.port), "DATABASE": str(self.folder / "hocuspocus.sqlite")}
        return {**PRODUCTION, **own, "FLUSH_DELAY": str(self._window)}
