"""``clew link``: another one-time sign-in link, for a second device or after a lost cookie."""

from __future__ import annotations

import argparse

from server.cli.asking import answer, print_json
from server.cli.flags import Commands, command, with_folder, with_json


def add(commands: Commands) -> None:
    """Its flags."""
    parser = command(commands, "link", "print another one-time sign-in link")
    with_folder(parser)
    with_json(parser)
    parser.add_argument("--user", metavar="NAME", help="whom it signs in (default: whose server it is)")
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Print the link."""
    made = answer(asked, "link", {"user": asked.user})
    if asked.json:
        print_json(made)
    else:
        print(made["link"])
    return 0
