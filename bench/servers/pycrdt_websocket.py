"""pycrdt-websocket under uvicorn with uvloop, with the SQLite store of pycrdt-store, in a venv of its own."""

from __future__ import annotations

from pathlib import Path

from bench.servers.server import Server

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".stamps" / "bench-peers" / "bin" / "python"
SCRIPT = ROOT / "bench" / "peers" / "pycrdt_server.py"


class PycrdtWebsocket(Server):
    """Its clients come in one at a time: of those that open a fresh room together, one never syncs."""

    at_once = 1

    def command(self) -> list[str]:
        """Started by a script of ours, for it is a library."""
        return [str(PYTHON), str(SCRIPT), str(self.port), str(self.folder / "updates.sqlite")]
