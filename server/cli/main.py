"""The console script ``clew``: finds the command and runs it. Owns the exit codes and how errors are worded.

0 done, 1 it could not be done (one sentence on standard error), 2 it was not understood, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from server.domain.errors import ClewError

COMMANDS = (
    "serve",
    "demo",
    "agent",
    "login",
    "link",
    "token",
    "user",
    "tasks",
    "sessions",
    "audit",
    "backup",
    "restore",
    "verify",
    "repair",
    "erase",
    "doctor",
    "version",
)
"""Each is a module of this package: ``add(commands)`` adds its flags and what runs it."""


def parser(names: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """These commands and their flags."""
    top = argparse.ArgumentParser(
        prog="clew", description="A self-hosted server on which the task is the unit of work.", allow_abbrev=False
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for name in names:
        import_module(f"server.cli.{name}").add(commands)
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    words = sys.argv[1:] if words is None else words
    # One command's modules are read in a third of the time that all of them take.
    asked = parser(words[:1] if words and words[0] in COMMANDS else COMMANDS).parse_args(words)
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
