"""The servers that are measured, by the name that tables have."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.servers.clew import Clew
from bench.servers.hocuspocus import Hocuspocus
from bench.servers.pycrdt_websocket import PycrdtWebsocket
from bench.servers.server import Server
from bench.servers.y_websocket import YWebsocket

Make = Callable[[Path], Server]
"""A server over an empty folder, not started."""

PEERS: dict[str, Make] = {
    "y-websocket": YWebsocket,
    "hocuspocus": Hocuspocus,
    "pycrdt-websocket": PycrdtWebsocket,
}


def clews(name: str, tree: Path) -> dict[str, Make]:
    """Clew from a source tree, in both durabilities."""
    return {f"{name} {durability}": partial(Clew, tree, durability) for durability in ("full", "process")}
