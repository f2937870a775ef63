"""``clew restore``: a new data folder from a backup. Must never write where anything is."""

from __future__ import annotations

import argparse
from pathlib import Path

import anyio

from server.cli.asking import print_json
from server.cli.flags import Commands, command, settings, with_folder, with_json
from server.domain.clock import SystemClock
from server.store.restore import restore


def add(commands: Commands) -> None:
    """Its flags."""
    parser = command(commands, "restore", "make a new data folder from a backup")
    parser.add_argument(
        "--from", dest="backup", metavar="B", type=Path, required=True, help="what `clew backup` has made"
    )
    parser.add_argument(
        "--keep-logins", action="store_true", help="let browsers and bearers of then in again, revoked since or not"
    )
    with_folder(parser)
    with_json(parser)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Restore, and say what has ended by it."""
    data = settings(asked).config.data
    manifest = anyio.run(restore, asked.backup, data, SystemClock().now(), asked.keep_logins)
    counts = manifest.counts
    if asked.json:
        print_json(
            {"data": str(data), "made_at": manifest.made_at, "counts": dict(counts), "logins": asked.keep_logins}
        )
        return 0
    print(f"{data} is as of {manifest.made_at}: {counts['tasks']} tasks, {counts['documents']} documents.")
    print("Every document begins a new generation: what a page has that is newer, it keeps aside.")
    if asked.keep_logins:
        print("Whoever was signed in then is so again, and bearers of then are good.")
    else:
        print("Nobody is signed in and no bearer is good any more: clew link, clew token create.")
    return 0
