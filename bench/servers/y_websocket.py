"""@y/websocket-server, its own script, with its own LevelDB persistence."""

from __future__ import annotations

from bench.servers.node import PEERS, PRODUCTION
from bench.servers.server import Server


class YWebsocket(Server):
    """``YPERSISTENCE`` is its documented switch."""

    def command(self) -> list[str]:
        """The script that ``npx y-websocket`` starts."""
        return ["node", str(PEERS / "node_modules" / "@y" / "websocket-server" / "src" / "server.js")]

    def environment(self) -> dict[str, str]:
        """As its documentation has it."""
        return {**PRODUCTION, "HOST": "127.0.0.1", "PORT": str(self.port), "YPERSISTENCE": str(self.folder / "level")}
