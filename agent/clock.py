"""What time it is, for the agent. Owns its one reading of the wall clock; must never measure durations."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
