"""Jobs that behave badly, for workers of tests. Each takes plain data and returns bytes."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import time
from collections.abc import Sequence
from typing import Any

from pycrdt import Array, Doc, Map, Text

from crdt_docs.updates.parse import Parsed

KINDS: dict[str, Any] = {"array": Array, "map": Map, "text": Text}


def apply_all(updates: Sequence[bytes], kind: str) -> bytes:
    """Apply updates in order and read every root as ``kind``, as a careless server would."""
    doc: Doc[Any] = Doc()
    for update in updates:
        doc.apply_update(update)
    for name in list(doc.keys()):
        str(doc.get(name, type=KINDS[kind]).to_py())
    return b"survived"


def echo(data: bytes) -> bytes:
    return data


def about_me() -> bytes:
    """This process: pid, niceness, and what its descriptors are."""
    open_files = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            open_files[name] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            pass
    return json.dumps({"pid": os.getpid(), "nice": os.nice(0), "files": open_files}).encode()


def segfault() -> bytes:
    ctypes.string_at(0)
    return b""


def leave() -> bytes:
    os._exit(0)


def spin() -> bytes:
    """Loop in native code with the GIL held: half a surrogate pair in a root that is read as an Array."""
    doc: Doc[Any] = Doc()
    doc.apply_update(bytes.fromhex("010101000401016104f09f988000"))
    doc.get("a", type=Array).to_py()
    return b""


def doze(seconds: float) -> bytes:
    time.sleep(seconds)
    return b"rested"


def hoard() -> bytes:
    held = [bytearray(1 << 26) for _ in range(1_000)]
    return bytes(len(held))


def hoard_natively() -> bytes:
    """A five-byte state vector for which the engine reserves a gigabyte."""
    doc: Doc[Any] = Doc()
    doc.get_update(bytes.fromhex("ffffffff01"))
    return b""


def refuse() -> bytes:
    raise ValueError("no such thing")


def panic() -> bytes:
    raise BaseException("as a native panic")


def count_sections(parsed: Parsed) -> bytes:
    """Stands where the gate's state is made at compaction."""
    return str(len(parsed.sections)).encode()


STARTS = "ENGINE_STARTS"
"""The variable that names a folder; a worker that imports this module puts a file there and dies, until it has two."""


def _start() -> None:
    if folder := os.environ.get(STARTS):
        died = len(os.listdir(folder))
        if died < 2:
            open(os.path.join(folder, str(died)), "x").close()
            os.kill(os.getpid(), signal.SIGKILL)


_start()
