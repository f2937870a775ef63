"""A real agent process, its workers thinking by script.

Owns the host's process and ends it. Knows of its workers what the operating system tells.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.running_server import PATIENCE, ROOT, environment

NURSERY = (
    "from functools import partial; from agent.nursery import main; from agent.worker import run; "
    "from kit.scripted_mind import open_scripted; main(partial(run, open_mind=open_scripted), print)"
)
HOST = (
    "import sys; sys.path[:0] = [{root!r}, {tests!r}]; from agent.cli import main; "
    "sys.exit(main(sys.argv[1:], boot={boot!r}, patience={patience}))"
)


class AgentProcess:
    """``pid`` is the host's."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log

    @property
    def pid(self) -> int:
        return self.process.pid

    def workers(self) -> list[int]:
        """The workers that run."""
        return [worker for nursery in children_of(self.pid) for worker in children_of(nursery)]

    def processes(self) -> list[int]:
        """All processes that it has started and that run."""
        return [*children_of(self.pid), *self.workers()]

    def wait_until_loaded(self) -> None:
        """Wait until workers can be had at once."""
        wait_until(lambda: any(map(is_loaded, children_of(self.pid))))

    def kill(self) -> None:
        """kill -9, the host alone."""
        self.process.kill()
        self.wait()

    def close_input(self) -> None:
        """What a parent's end does to it."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self) -> int:
        """Wait until it has ended; its exit code."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.close_input()

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.send_signal(signal.SIGCONT)
        return self.wait()


def start_agent(server: str, bearer: str, log: Path, *options: str, patience: float = 10.0) -> AgentProcess:
    """Start one for the server at that URL; it reads its bearer from standard input."""
    program = HOST.format(root=str(ROOT), tests=str(ROOT / "tests"), boot=NURSERY, patience=patience)
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", program, "--server", server, "--token-file", "-", "--verbose", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=environment(),
        )
    assert process.stdin is not None
    process.stdin.write(bearer.encode() + b"\n")
    process.stdin.flush()
    return AgentProcess(process, log)


@contextmanager
def running_agent(server: str, bearer: str, log: Path, *options: str, patience: float = 10.0) -> Iterator[AgentProcess]:
    """An agent until the block ends, and with it all its workers."""
    agent = start_agent(server, bearer, log, *options, patience=patience)
    try:
        yield agent
    finally:
        processes = agent.processes()
        agent.stop()
        wait_until(lambda: not any(is_alive(pid) for pid in processes))


def children_of(parent: int) -> list[int]:
    """The processes that it has started and that run."""
    found = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in found if parent_of(pid) == parent]


def parent_of(pid: int) -> int | None:
    """Whose child a process is; None if there is none of that id, or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[1])


def is_alive(pid: int) -> bool:
    return parent_of(pid) is not None


def is_loaded(pid: int) -> bool:
    """Whether a process has loaded the engine."""
    try:
        return "_pycrdt" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def resident(pid: int) -> float:
    """Memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def wait_until(holds: Callable[[], bool], within: float = PATIENCE) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.02)
