"""The console script ``clew``: finds the command and runs it. Owns the exit codes and how errors are worded.

0 done, 1 it could not be done (one sentence on standard error), 2 it was not understood, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from server.cli import (
    agent,
    audit,
    backup,
    demo,
    doctor,
    erase,
    link,
    login,
    repair,
    restore,
    serve,
    sessions,
    tasks,
    token,
    user,
    verify,
    version,
)
from server.domain.errors import ClewError

COMMANDS = (
    serve,
    demo,
    agent,
    login,
    link,
    token,
    user,
    tasks,
    sessions,
    audit,
    backup,
    restore,
    verify,
    repair,
    erase,
    doctor,
    version,
)


def parser() -> argparse.ArgumentParser:
    """All commands and their flags."""
    top = argparse.ArgumentParser(
        prog="clew", description="A self-hosted server on which the task is the unit of work.", allow_abbrev=False
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    asked = parser().parse_args(words)
    try:
        code: int = asked.run(asked)
        sys.stdout.flush()
    except ClewError as error:
        print(f"clew: {error.why}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read it has seen enough
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
