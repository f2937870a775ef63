"""``clew token``: bearers for scripts and agents. The secret is printed once, on standard output."""

from __future__ import annotations

import argparse
import re
from typing import Final

from server.cli.asking import answer, print_json
from server.cli.flags import Commands, command, with_folder, with_json
from server.cli.table import print_table
from server.domain.access import ROLE_NAMES
from server.domain.errors import Invalid

UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def add(commands: Commands) -> None:
    """Its commands and their flags."""
    actions = command(commands, "token", "bearers for scripts and agents").add_subparsers(
        metavar="ACTION", required=True
    )
    create = command(actions, "create", "make a bearer and print it")
    create.add_argument("--task", metavar="T", help="only for this task: its id, the beginning of it, or its name")
    create.add_argument(
        "--role", choices=tuple(ROLE_NAMES), default="editor", help="at most this role (default editor)"
    )
    create.add_argument(
        "--agent", dest="agent_name", metavar="NAME", help="for `clew agent`: let an agent of that name answer the user"
    )
    create.add_argument("--ttl", default="1h", metavar="TIME", help="how long it lives: 90s, 15m, 1h, 30d (default 1h)")
    create.set_defaults(run=run_create)
    listing = command(actions, "list", "list a user's bearers, without their secrets")
    listing.set_defaults(run=run_list)
    revoke = command(actions, "revoke", "end a bearer, at once also on its open connections")
    revoke.add_argument("id", metavar="ID")
    revoke.set_defaults(run=run_revoke)
    for parser in (create, listing, revoke):
        parser.add_argument("--user", metavar="NAME", help="whose it is (default: whose server it is)")
        with_folder(parser)
        with_json(parser)


def run_create(asked: argparse.Namespace) -> int:
    """Print a new bearer."""
    wanted = {"user": asked.user, "task": asked.task, "role": asked.role, "ttl": read_span(asked.ttl)}
    if asked.agent_name is not None:
        wanted["agent"] = asked.agent_name
    made = answer(asked, "token.create", wanted)
    if asked.json:
        print_json(made)
    else:
        print(made["token"])
    return 0


def run_list(asked: argparse.Namespace) -> int:
    """Print the user's bearers."""
    said = answer(asked, "token.list", {"user": asked.user})
    if asked.json:
        print_json(said)
    else:
        fields = ("id", "role", "task", "agent", "expires_at", "revoked_at")
        print_table(
            ("ID", "ROLE", "TASK", "AGENT", "EXPIRES", "REVOKED"), [[t[f] for f in fields] for t in said["tokens"]]
        )
    return 0


def run_revoke(asked: argparse.Namespace) -> int:
    """End a bearer."""
    said = answer(asked, "token.revoke", {"user": asked.user, "id": asked.id}, documents=True)
    if asked.json:
        print_json(said)
    return 0


def read_span(text: str) -> int:
    """Seconds of ``90s``, ``15m``, ``1h``, ``30d`` or a bare number. Raises Invalid."""
    match = re.fullmatch(r"(\d{1,9})([smhd]?)", text)
    if match is None or int(match[1]) == 0:
        raise Invalid(f"A time is written 90s, 15m, 1h or 30d, not {text}.")
    return int(match[1]) * UNITS[match[2] or "s"]
