"""``clew agent``: an agent's host, here or on any machine, for a server that is reached by its URL.

Owns only the way there: the agent is a program of its own, and this process becomes it. Must never import it, nor let
a bearer stay in the list of processes.
"""

from __future__ import annotations

import argparse
import os

from server.cli.credentials import credentials_file, find, server_of
from server.cli.flags import Commands
from server.domain.errors import ClewError, Unavailable

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
    if token is None and "CLEW_TOKEN" not in os.environ and "--token-file" not in words:
        token = _kept(words)
    environment = {**os.environ, **({"CLEW_TOKEN": token} if token is not None else {})}
    try:
        os.execve(COMMAND[0], [*COMMAND, *words], environment)
    except OSError as error:
        raise Unavailable(f"The agent can't be started: {error.strerror}.") from None


def _kept(words: list[str]) -> str | None:
    """The bearer that ``clew login --agent`` has kept for the server that is meant."""
    after = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "--server"]
    named = [word.partition("=")[2] for word in words if word.startswith("--server=")]
    server = next(iter([*after, *named]), os.environ.get("CLEW_SERVER", ""))
    try:
        kept = find(credentials_file(os.environ), server_of(server, insecure=True))
    except ClewError:
        return None
    return kept.token if kept is not None and kept.agent is not None else None


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
