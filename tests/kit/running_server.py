"""A real server process over a temporary folder, as a person would start it.

Owns the process and ends it, frozen or not. Must never reach into the server: what a test knows of it is what was
printed, what the folder holds, and what the wires say.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
CLEW = (sys.executable, "-c", "import sys; from server.cli.main import main; sys.exit(main())")
"""The console script, run from the tree whether or not it is installed."""
LINK = re.compile(r"https?://[^\s#]+/#k=[A-Za-z0-9_-]+")
SECRET = re.compile(r"(?<![\w-])[A-Za-z0-9_-]{43}(?![\w-])")
PATIENCE = 90.0
PORTS = range(11_000, 32_000)
"""Below those of outgoing connections, above those that browsers will not open."""


class DidNotStart(Exception):
    """The server ended, or said nothing, before it was ready; carries all that it printed."""


@dataclass
class RunningServer:
    """``url`` has no trailing slash; ``link`` is the one-time sign-in link that was printed at the start."""

    data: Path
    port: int
    options: tuple[str, ...] = ()
    agent: bool = False
    link: str = ""
    process: subprocess.Popen[str] | None = None
    said: list[str] = field(default_factory=list)
    program: tuple[str, ...] = field(default_factory=lambda: CLEW)  # looked up late: tests put strace before it
    patience: float = PATIENCE

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``, or ``https``; what it prints may say ``localhost``, which it must accept too."""
        return f"{'https' if '--tls-cert' in self.options else 'http'}://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process that owns the port."""
        assert self.process is not None, "the server is not running"
        return self.process.pid

    def cpu(self) -> float:
        """Seconds of CPU, user and system, that the serving process has used; its workers' are not among them."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def log(self) -> Path:
        """What it wrote to standard error, over all its lives."""
        return self.data.parent / f"{self.data.name}.stderr"

    def start(self) -> Self:
        """Start, and wait until it has printed a link and answers ``/readyz``."""
        command = [
            *self.program,
            "serve",
            "--port",
            str(self.port),
            "--data",
            str(self.data),
            "--no-browser",
            *self.options,
        ]
        if not self.agent:
            command.append("--no-agent")
        with self.log.open("ab") as errors:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=errors,
                stdin=subprocess.DEVNULL,
                text=True,
                env=environment(),
            )
        self.said.clear()
        threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()
        deadline = time.monotonic() + self.patience
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise DidNotStart("\n".join([*self.said, self.log.read_text(errors="replace")[-4000:]]))
            time.sleep(0.05)
        return self

    def stop(self) -> int:
        """Ask it to end (SIGTERM) and wait; its exit code. Kills it if it does not end."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int:
        """kill -9."""
        return self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """SIGSTOP: sockets stay open and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def clew(self, *arguments: str) -> str:
        """Run another command on this data folder; what it printed. Raises if it failed."""
        done = subprocess.run(
            [*CLEW, *arguments, "--data", str(self.data)],
            cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, env=environment(), check=False,
        )  # fmt: skip
        if done.returncode:
            raise AssertionError(
                f"clew {' '.join(arguments)} failed with {done.returncode}:\n{done.stdout}\n{done.stderr}"
            )
        return done.stdout

    def new_link(self, user: str = "owner") -> str:
        """One more one-time link, by ``clew link``."""
        found = LINK.search(self.clew("link", "--user", user))
        assert found, "clew link printed no link"
        return found[0]

    def new_token(self, user: str = "owner", *options: str) -> dict[str, Any]:
        """A bearer as ``clew token create --json`` prints it: id, token, expires_at."""
        token: dict[str, Any] = json.loads(self.clew("token", "create", "--user", user, "--json", *options))
        return token

    def logged_secrets(self) -> list[str]:
        """What in its log looks like a secret of ours: 256 random bits in base64url."""
        found = SECRET.findall(self.log.read_text(errors="replace"))
        return [one for one in found if all(re.search(kind, one) for kind in ("[A-Z]", "[a-z]", "[0-9]"))]

    def _end(self, how: signal.Signals) -> int:
        if self.process is None:
            return 0
        process, self.process = self.process, None
        if process.poll() is None:
            process.send_signal(how)
            process.send_signal(signal.SIGCONT)
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        """Drain standard output for as long as it lasts, so that the server never waits on a full pipe."""
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self.said.append(line.rstrip("\n"))

    def _is_ready(self) -> bool:
        found = LINK.search("\n".join(self.said))
        if not found:
            return False
        self.link = found[0]
        try:
            anyone = ssl._create_unverified_context() if self.url.startswith("https") else None
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=2, context=anyone) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False


@contextmanager
def running_server(data: Path, options: Sequence[str] = (), *, agent: bool = False) -> Iterator[RunningServer]:
    """Serve that folder on a free port until the block ends; with the built-in agent, if ``agent`` says so.

    Attack 26, over the whole suite: whatever was done meanwhile, no secret may stand in its log. (Of the audit trail,
    which takes nothing but ids, and of all else ``system/test_attacks_secrets.py`` makes sure.)
    """
    server = RunningServer(data, free_port(), tuple(options), agent).start()
    try:
        yield server
    finally:
        server.stop()
    assert server.logged_secrets() == [], "a secret was logged"


def free_port() -> int:
    """A port on 127.0.0.1 that was free a moment ago.

    None of those that outgoing connections get: one of them may take the port of a server that is away for a moment.
    """
    while True:
        port = PORTS[SystemRandom().randrange(len(PORTS))]
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def environment() -> dict[str, str]:
    """This process's environment without ``CLEW_*``, unbuffered, never with a proxy in front of the loopback."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    return {**kept, "PYTHONUNBUFFERED": "1", "NO_PROXY": "127.0.0.1,localhost"}
