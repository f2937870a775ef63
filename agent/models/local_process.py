"""The process that a local model runs in: ``python -m agent.models.local_process``.

Owns nothing that lasts. Reads one line of JSON from stdin, loads the model, prints where it listens, and ends when
stdin does, which is when its parent is gone. Must never fetch a model, or listen anywhere but on 127.0.0.1.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any, Final

_BATCH: Final = 64
"""Tokens of a prompt that are read at once: between two batches it is noticed that the asker is gone."""


def parameters(xllamacpp: Any, wanted: dict[str, Any]) -> Any:
    """The engine's settings."""
    params = xllamacpp.CommonParams()
    params.model.path = wanted["model"]
    params.offline = True
    params.n_ctx = wanted["window"]
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = wanted["threads"]
    params.cache_ram_mib = 0
    params.warmup = False
    params.api_keys = [wanted["key"]]
    params.hostnames = ["127.0.0.1"]
    params.n_threads_http = 2
    params.ui = params.endpoint_slots = params.endpoint_props = params.endpoint_metrics = False
    params.verbosity = 0
    return params


def main() -> None:
    """Serve until stdin ends."""
    wanted = json.loads(sys.stdin.readline())
    # What the engine prints goes nowhere; the line with the address is all that the parent reads.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    xllamacpp = importlib.import_module("xllamacpp")
    server = xllamacpp.Server(parameters(xllamacpp, wanted))
    print(json.dumps({"address": f"{server.listening_address}/v1"}), file=out, flush=True)
    sys.stdin.read()
    os._exit(0)  # the engine's threads are not waited for


if __name__ == "__main__":
    main()
