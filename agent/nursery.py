"""The process that workers are born from: loaded once, it forks a worker in a few milliseconds whenever it is asked.

Owns what is loaded beforehand, and the fork. Must never start a thread or a loop, touch a document, or draw a random
number from the engine: a fork would share them.

Nobody outlives the host. The nursery ends with its socket. A worker has a lifeline: when its other end closes, SIGIO
ends the worker, even while native code holds the interpreter's lock.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable

BORN = b"!"
Run = Callable[[int, str, str | None], None]
"""A worker's life: the descriptor of its pipe, the server's URL, the model."""
Load = Callable[[str | None], None]
"""What is to be imported beforehand for a model."""


def main(run: Run, load: Load) -> None:
    """Fork for as long as the host wants, with ``sys.argv[1]`` a JSON list: control descriptor, server URL, model."""
    descriptor, server, model = json.loads(sys.argv[1])
    control = socket.socket(fileno=descriptor)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries them
    load(model)
    gc.collect()
    gc.freeze()  # what is shared stays shared
    control.sendall(BORN)
    while True:
        asked, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not asked or len(descriptors) != 2:
            return
        pipe, lifeline = descriptors
        if os.fork() == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                _hang_on(lifeline)
                run(pipe, server, model)
            finally:
                os._exit(0)  # neither the parent's clean-up nor a mind's threads are ours to wait for
        os.close(pipe)
        os.close(lifeline)


def _hang_on(lifeline: int) -> None:
    """End when the lifeline's other end closes."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    try:
        if os.read(lifeline, 1) == b"":
            os._exit(1)  # it had closed before anybody listened
    except BlockingIOError:
        pass
