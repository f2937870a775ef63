"""``clew sessions``: who was here, on what, and for how long."""

from __future__ import annotations

import argparse

from server.cli.asking import answer, print_json
from server.cli.flags import Commands, command, with_folder, with_json
from server.cli.table import print_table


def add(commands: Commands) -> None:
    """Its commands and their flags."""
    actions = command(commands, "sessions", "who was here").add_subparsers(metavar="ACTION", required=True)
    listing = command(actions, "list", "list the sessions, the latest first")
    listing.add_argument("--user", metavar="NAME", help="only this user's")
    with_folder(listing)
    with_json(listing)
    listing.set_defaults(run=run_list)


def run_list(asked: argparse.Namespace) -> int:
    """Print the sessions."""
    said = answer(asked, "sessions.list", {"user": asked.user})
    if asked.json:
        print_json(said)
    else:
        fields = ("id", "user", "device_name", "framework", "task", "started_at", "ended_at")
        header = ("ID", "USER", "DEVICE", "FRAMEWORK", "TASK", "STARTED", "ENDED")
        print_table(header, [[session[field] for field in fields] for session in said["sessions"]])
    return 0
