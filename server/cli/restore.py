"""``clew restore``: a new data folder from a backup. Must never write where anything is."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import anyio

from server.cli.asking import print_json
from server.cli.flags import Commands, command, settings, with_folder, with_json
from server.cli.table import counted
from server.config import Config
from server.domain.clock import SystemClock
from server.store.erasure import Erasures
from server.store.nouns import open_nouns
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
    where = "the keys that `clew backup` wrote beside it (default: found there)"
    parser.add_argument("--keys", metavar="K", type=Path, help=where)
    with_folder(parser)
    with_json(parser)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Restore, and say what has ended by it."""
    data = settings(asked).config.data
    manifest = anyio.run(restore, asked.backup, data, SystemClock().now(), asked.keep_logins, asked.keys)
    counts, erased = manifest.counts, anyio.run(_replay, settings(asked).config, manifest.keys)
    if asked.json:
        print_json(
            {
                "data": str(data),
                "made_at": manifest.made_at,
                "counts": dict(counts),
                "logins": asked.keep_logins,
                "erased": erased,
            }
        )
        return 0
    held = f"{counted(counts['tasks'], 'task')}, {counted(counts['documents'], 'document')}"
    print(f"{data} is as of {manifest.made_at}: {held}.")
    print("Every document begins a new generation: what a page has that is newer, it keeps aside.")
    if erased is None:
        print("It was made before there were keys, or they are others: what was erased since is there again.")
    elif erased:
        print(f"{erased} people and tasks were erased since, and are erased from it again.")
    if asked.keep_logins:
        print("Whoever was signed in then is so again, and bearers of then are good.")
    else:
        print("Nobody is signed in and no bearer is good any more: clew link, clew token create.")
    return 0


async def _replay(config: Config, fingerprint: str) -> int | None:
    """Erase again what was erased since: how many people and tasks. None where the folder's keys were not found."""
    async with open_nouns(config.data) as nouns:
        if nouns.keys.fingerprint != fingerprint:
            return None
        if not nouns.keys.count_erased():
            return 0
        before = sum(len(ids) for ids in await Erasures(nouns.database).everything())
    from server.services import open_services  # half a second that only this case pays

    async with open_services(replace(config, agent=False)) as services:
        return before - sum(len(ids) for ids in await Erasures(services.nouns.database).everything())
