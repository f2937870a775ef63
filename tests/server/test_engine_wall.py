"""The serving process never loads the engine, nor what only workers need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROBE = "import sys, json, server.app; json.dump(sorted(sys.modules), sys.stdout)"


def test_the_server_is_composed_without_native_crdt_code() -> None:
    root = Path(__file__).parents[2]
    probe = subprocess.run([sys.executable, "-c", PROBE], cwd=root, capture_output=True, check=True, timeout=60)
    loaded = set(json.loads(probe.stdout))
    assert "server.engine.pool" in loaded
    for kept_out in ("pycrdt", "pycrdt._pycrdt", "docx", "lxml", "crdt_docs.contents", "server.engine.projections"):
        assert kept_out not in loaded
