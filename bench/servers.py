"""The servers that are measured: each starts on a free port over an empty folder and says where a document is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NODE = ROOT / "tests" / "interop" / "node"
sys.path.insert(0, str(ROOT / "tests"))

from kit.running_server import free_port  # noqa: E402
from kit.served import serve  # noqa: E402


@dataclass
class Running:
    """A server under measurement. ``documents`` are URLs, ``protocols`` what a client offers."""

    name: str
    pid: int
    documents: list[str]
    protocols: list[str]

    def cpu(self) -> float:
        """Seconds of CPU, user and system, that the serving process has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def clew(folder: Path, durability: str, documents: int) -> Iterator[Running]:
    """Clew, with so many fresh tasks."""
    with serve(folder, "--durability", durability) as served:
        tasks = [served.new_task(f"Bench {at}") for at in range(documents)]
        urls = [f"ws://127.0.0.1:{served.server.port}/sync/{task}" for task in tasks]
        yield Running(f"clew {durability}", served.server.pid, urls, ["clew.v1", f"token.{served.token}"])


@contextmanager
def y_websocket(folder: Path, documents: int) -> Iterator[Running]:
    """@y/websocket-server as it comes, without persistence."""
    port = free_port()
    script = NODE / "node_modules" / "@y" / "websocket-server" / "src" / "server.js"
    environment = {**os.environ, "HOST": "127.0.0.1", "PORT": str(port)}
    process = subprocess.Popen(["node", str(script)], env=environment, stdout=subprocess.DEVNULL, cwd=folder)
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield Running(
            "@y/websocket-server", process.pid, [f"ws://127.0.0.1:{port}/doc{at}" for at in range(documents)], []
        )
    finally:
        process.terminate()
        process.wait()
