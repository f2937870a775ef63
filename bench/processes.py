"""What a process and its children use, as the system counts it. Owns reading ``/proc``; nothing is ever ended here."""

from __future__ import annotations

import os
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


class ProcessTree:
    """A process and all that it has started, at the moment of each question."""

    def __init__(self, pid: int) -> None:
        self._root = pid

    def pids(self) -> list[int]:
        """The root first."""
        found = [self._root]
        for pid in found:
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                found += [int(child) for child in _read(children).split()]
        return found

    def cpu(self) -> float:
        """Seconds, user and system, also of children that have ended."""
        return sum(_cpu(pid) for pid in self.pids())

    def resident(self) -> float:
        """kB of memory that the serving process holds now, files left out. Workers hold no connection."""
        return _anonymous(self._root)

    def wait_until_quiet(self, least: float = 1.0, most: float = 20.0) -> float:
        """Wait until it has used next to nothing for a second; the CPU it had used by then."""
        start = time.monotonic()
        seen = [self.cpu()]
        while (waited := time.monotonic() - start) < most:
            time.sleep(0.5)
            seen.append(self.cpu())
            if waited >= least and len(seen) > 2 and seen[-1] - seen[-3] < 0.04:
                break
        return seen[-1]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""  # it has ended meanwhile


def _cpu(pid: int) -> float:
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / TICKS


def _anonymous(pid: int) -> float:
    for line in _read(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith("RssAnon:"):
            return float(line.split()[1])
    return 0.0
