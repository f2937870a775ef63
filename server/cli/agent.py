"""``clew agent``: an agent's host, here or on any machine, for a server that is reached by its URL.

Owns only the way there: the agent is a program of its own, and this process becomes it. Must never import it, nor let
a bearer stay in the list of processes.
"""

from __future__ import annotations

import argparse
import os

from server.cli.flags import Commands
from server.domain.errors import Unavailable

TOKEN = "--token"


def add(commands: Commands) -> None:
    """All that follows is the agent's own: what begins with a dash, too."""
    parser = commands.add_parser(
        "agent", help="run an agent for a server: clew agent --help", add_help=False, prefix_chars="\0"
    )
    parser.add_argument("words", nargs=argparse.REMAINDER)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Become the agent; does not return."""
    from server.turns.built_in import COMMAND  # only for who runs one

    words, token = without_token(asked.words)
    environment = {**os.environ, **({"CLEW_TOKEN": token} if token is not None else {})}
    try:
        os.execve(COMMAND[0], [*COMMAND, *words], environment)
    except OSError as error:
        raise Unavailable(f"The agent can't be started: {error.strerror}.") from None


def without_token(words: list[str]) -> tuple[list[str], str | None]:
    """The words without ``--token T`` or ``--token=T``, and T: it goes on in the environment."""
    kept: list[str] = []
    token = None
    rest = iter(words)
    for word in rest:
        if word == TOKEN:
            token = next(rest, None)
        elif word.startswith(f"{TOKEN}="):
            token = word.removeprefix(f"{TOKEN}=")
        else:
            kept.append(word)
    return kept, token
