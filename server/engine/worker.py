"""The process in which jobs run: one at a time, bounded, and free to die.

Owns the worker's own limits and its side of the pipe. Must never run a function that is not on the list it was
started with, nor outlive the server: idle, it ends with the pipe; busy, SIGIO ends it when the other end closes, even
while native code holds the GIL, and SIGALRM ends it soon after its job's time.

A request is ``length (4 bytes), marshal((job, seconds, arguments))``, where an argument is ``(value,)``, or the length
of bytes that follow, in the arguments' order; a reply ``status (1), resident kB (4), length
(4), bytes``. Replies are plain bytes, because whoever corrupts this process must not reach the server through an
unpickler.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import resource
import signal
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from crdt_docs.errors import Malformed, TooLarge

REQUEST: Final = struct.Struct(">I")
REPLY: Final = struct.Struct(">BII")

DONE: Final = 0
MALFORMED: Final = 1
TOO_LARGE: Final = 2
REFUSED: Final = 3
"""The job raised: it will again, and the process is as good as before."""
BROKEN: Final = 4
"""Memory ran out or native code panicked: this process ends."""

PATIENCE: Final = 6
"""How many times its CPU time a job may take by the clock on the wall, before the server ends it."""
GRACE: Final = 3
"""Seconds after that at which the kernel ends a worker that the server did not end."""
MAX_WHY: Final = 300

Job = Callable[..., bytes]


def main(descriptor: int, jobs: Mapping[str, str], memory: int) -> None:
    """Serve requests on the socket until the server closes it. ``memory`` is the most address space in bytes."""
    _limit(memory)
    pipe = socket.socket(fileno=descriptor)
    pipe.setblocking(True)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    try:
        known = {name: _find(path) for name, path in jobs.items()}
    except Exception as error:
        _reply(pipe, BROKEN, _why(error))
        return
    _reply(pipe, DONE, b"")
    while (head := _receive(pipe, REQUEST.size)) is not None:
        request = _receive_request(pipe, REQUEST.unpack(head)[0])
        if request is None:
            return
        status, reply = _attend(pipe, known, *request)
        _reply(pipe, status, reply)
        if status == BROKEN:
            return


def _limit(memory: int) -> None:
    os.nice(10)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _resident() -> int:
    """Memory held now, in kB; 0 where the system does not say. (``ru_maxrss`` counts the parent.)"""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * (resource.getpagesize() // 1024)
    except OSError:
        return 0


def _reply(pipe: socket.socket, status: int, data: bytes) -> None:
    pipe.sendall(REPLY.pack(status, _resident(), len(data)))
    pipe.sendall(data)


def _receive(pipe: socket.socket, size: int) -> bytes | None:
    out = bytearray()
    while len(out) < size:
        part = pipe.recv(min(size - len(out), 1 << 20))
        if not part:
            return None
        out += part
    return bytes(out)


def _receive_request(pipe: socket.socket, size: int) -> tuple[str, float, list[Any]] | None:
    head = _receive(pipe, size)
    if head is None:
        return None
    name, seconds, brief = marshal.loads(head)
    arguments = []
    for one in brief:
        argument = _receive(pipe, one) if isinstance(one, int) else one[0]
        if argument is None and isinstance(one, int):
            return None
        arguments.append(argument)
    return name, seconds, arguments


def _attend(
    pipe: socket.socket, known: Mapping[str, Job], name: str, seconds: float, arguments: Sequence[Any]
) -> tuple[int, bytes]:
    flags = fcntl.fcntl(pipe, fcntl.F_GETFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * PATIENCE + GRACE)
    fcntl.fcntl(pipe, fcntl.F_SETFL, flags | os.O_ASYNC)
    try:
        return _run(known[name], arguments)
    finally:
        fcntl.fcntl(pipe, fcntl.F_SETFL, flags)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)


def _find(path: str) -> Job:
    module, _, function = path.partition(":")
    job: Job = getattr(import_module(module), function)
    return job


def _run(job: Job, arguments: Sequence[Any]) -> tuple[int, bytes]:
    try:
        return DONE, job(*arguments)
    except TooLarge as error:
        return TOO_LARGE, _why(error)
    except Malformed as error:
        return MALFORMED, _why(error)
    except (MemoryError, RecursionError) as error:
        return BROKEN, _why(error)
    except Exception as error:
        return REFUSED, _why(error)
    except BaseException as error:  # pycrdt's PanicException is one
        return BROKEN, _why(error)


def _why(error: BaseException) -> bytes:
    """The kind of error and what it says, cut short; an engine's message may quote the document's words only so far."""
    return f"{type(error).__name__}: {error}"[:MAX_WHY].encode("utf-8", "replace")
