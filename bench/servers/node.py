"""Where the peers that run in Node are, and what their environment is."""

from __future__ import annotations

from pathlib import Path

PEERS = Path(__file__).resolve().parents[1] / "peers"
PRODUCTION = {"NODE_ENV": "production"}
