"""``clew repair``: saves what can be read of a damaged document into a clean generation, and says what was left out."""

from __future__ import annotations

import argparse

from server.cli.asking import answer, print_json
from server.cli.flags import Commands, command, with_folder, with_json


def add(commands: Commands) -> None:
    """Its flags."""
    parser = command(commands, "repair", "save what can be read of a damaged task into a clean generation")
    parser.add_argument("--task", metavar="T", required=True, help="the task's id, the beginning of it, or its name")
    parser.add_argument("--part", choices=("main", "margin"), default="main", help="which document (default main)")
    with_folder(parser)
    with_json(parser)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Repair, and say how it went. Exit code 0 also if something was left out: it was said."""
    said = answer(asked, "repair", {"task": asked.task, "part": asked.part}, documents=True)
    if asked.json:
        print_json(said)
    elif not said["repaired"]:
        print("Nothing to repair: the document is sound.")
    else:
        print(f"Generation {said['generation']} begins with what could be read; the one before is kept aside.")
        print("\n".join(f"left out: {what}" for what in said["left_out"]) or "Nothing was left out.")
    return 0
