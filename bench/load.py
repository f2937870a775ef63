"""The load client. Owns building it, its process, and the talk with it: it stops at checkpoints until it is sent on.

A compiled client, for in Python one would be slower than the servers that it is to measure.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.servers.server import Server

SOURCES = Path(__file__).parent / "client"
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror")
Told = dict[str, Any]


class LoadFailed(Exception):
    """The client gave up; carries what it said."""


def build(folder: Path) -> Path:
    """Compile the client into a folder. Raises SystemExit with a sentence if there is no C compiler."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("make bench compiles its load client: install a C compiler (cc), then run it again.")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "load"
    sources = sorted(SOURCES.glob("*.c"))
    if not target.exists() or target.stat().st_mtime < max(path.stat().st_mtime for path in SOURCES.iterdir()):
        subprocess.run([compiler, *FLAGS, "-o", str(target), *map(str, sources)], check=True)
    return target


class Load:
    """One run of the client against a server: ``with Load(...) as load: load.next(); …; load.go(); load.next()``."""

    client: Path

    def __init__(self, server: Server, scenario: str, names: list[str], stream: Path | None, **options: float) -> None:
        own = {"port": server.port, "wire": server.wire, "at_once": server.at_once, **options}
        self._names = tempfile.NamedTemporaryFile("w", suffix=".names")
        self._names.write("\n".join(names))
        self._names.flush()
        words = ["--path", server.path, "--names", self._names.name]
        if stream is not None:
            words += ["--stream", str(stream)]
        for name, value in own.items():
            words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
        self._command = [str(self.client), scenario, *words]
        self._environment = {"LOAD_PROTOCOLS": server.protocols}

    def next(self, within: float = 120.0) -> Told:
        """Wait for the next checkpoint and what it tells. Raises LoadFailed."""
        assert self._process.stdout is not None and self._process.stderr is not None
        ready, _, _ = select.select([self._process.stdout], [], [], within)
        line = self._process.stdout.readline() if ready else ""
        if line:
            told: Told = json.loads(line)
            return told
        self._process.kill()
        raise LoadFailed(self._process.stderr.read().strip() or f"nothing within {within:g} s")

    def go(self, rate: float = 0, updates: int = 0) -> None:
        """On from the checkpoint; a typing run with another rate and so many updates, if they are given."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{rate:g} {updates}\n" if updates else "\n")
        self._process.stdin.flush()

    def run(self, rate: float = 0, updates: int = 0) -> Told:
        """On from the checkpoint, to the next."""
        self.go(rate, updates)
        return self.next()

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, env=self._environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._process.communicate("\n", timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._names.close()
