"""``clew backup``: a copy of the data folder as it is at one moment, also while it is served."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from server.cli.asking import answer, print_json
from server.cli.flags import Commands, command, with_folder, with_json
from server.cli.table import counted

LONGEST: Final = 86400.0
"""Seconds: a large folder on a slow disk takes long, and nobody waits for it but this command."""


def add(commands: Commands) -> None:
    """Its flags."""
    parser = command(commands, "backup", "copy the data folder, also while it is served")
    where = "a folder that is not there yet, one to make it in, or a file that ends in .tar"
    parser.add_argument("--to", metavar="B", type=Path, required=True, help=where)
    with_folder(parser)
    with_json(parser)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Back up, and say what is in it and where."""
    said = answer(asked, "backup", {"to": str(asked.to.absolute())}, within=LONGEST)
    if asked.json:
        print_json(said)
    else:
        counts = said["manifest"]["counts"]
        size = sum(file["bytes"] for file in said["manifest"]["files"].values())
        held = f"{counted(counts['tasks'], 'task')}, {counted(counts['documents'], 'document')}, {size} bytes"
        print(f"{said['to']}: {held}, in {said['seconds']:.1f} seconds.")
        print(f"Its keys are in {said['keys']}: keep that apart, and only the newest. No backup is read without it.")
    return 0
