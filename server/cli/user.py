"""``clew user``: who is on this server."""

from __future__ import annotations

import argparse

from server.cli.asking import answer, print_json
from server.cli.flags import Commands, command, with_folder, with_json
from server.cli.table import print_table


def add(commands: Commands) -> None:
    """Its commands and their flags."""
    actions = command(commands, "user", "who is on this server").add_subparsers(metavar="ACTION", required=True)
    adding = command(actions, "add", "add a user; `clew link --user NAME` lets them in")
    adding.add_argument("name", metavar="NAME")
    adding.set_defaults(run=run_add)
    listing = command(actions, "list", "list the users")
    listing.set_defaults(run=run_list)
    planning = command(actions, "plan", "put a user on a plan; what plans there are is yours to say")
    planning.add_argument("name", metavar="NAME")
    planning.add_argument("plan", metavar="PLAN")
    planning.set_defaults(run=run_plan)
    for parser in (adding, listing, planning):
        with_folder(parser)
        with_json(parser)


def run_add(asked: argparse.Namespace) -> int:
    """Add a user."""
    said = answer(asked, "user.add", {"name": asked.name})
    if asked.json:
        print_json(said)
    else:
        print(f"Added {said['name']} ({said['id']}).")
    return 0


def run_plan(asked: argparse.Namespace) -> int:
    """Put a user on a plan."""
    said = answer(asked, "user.plan", {"user": asked.name, "plan": asked.plan})
    if asked.json:
        print_json(said)
    else:
        print(f"{said['name']} is on the plan {said['plan']}.")
    return 0


def run_list(asked: argparse.Namespace) -> int:
    """Print the users."""
    said = answer(asked, "user.list", {})
    if asked.json:
        print_json(said)
    else:
        fields = ("id", "name", "plan", "created_at")
        print_table(("ID", "NAME", "PLAN", "SINCE"), [[user[field] for field in fields] for user in said["users"]])
    return 0
