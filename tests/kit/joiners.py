"""Newcomers in a process of their own: what each is sent may be tens of megabytes, and whoever takes that is busy.

Owns that process. Must never share one with typists whose letters are timed: those would wait for it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


async def join(number: int, port: int, task: str, token: str) -> set[int]:
    """Let so many come at once; the sizes of what they were sent. Raises AssertionError if any was not let in."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        said, _ = await process.communicate(json.dumps([number, port, task, token]).encode())
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, "the newcomers failed"
    return set(json.loads(said))


async def _join(number: int, port: int, task: str, token: str) -> list[int]:
    from kit.typists import PlainClient, come

    clients = [PlainClient(port, task, token) for _ in range(number)]
    try:
        await come(clients, at_once=number)
        return [client.synced.result() for client in clients]
    finally:
        for client in clients:
            client.close()


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]
    print(json.dumps(asyncio.run(_join(*json.load(sys.stdin)))))
