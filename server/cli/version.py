"""``clew version``."""

from __future__ import annotations

import argparse
import platform
import sqlite3
from importlib.metadata import version

from server.cli.asking import print_json
from server.cli.flags import Commands, command, with_json


def add(commands: Commands) -> None:
    """Its flags."""
    parser = command(commands, "version", "print the version")
    with_json(parser)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Print it, and those it stands on."""
    versions = {
        "clew": version("clew"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "pycrdt": version("pycrdt"),
    }
    if asked.json:
        print_json(versions)
    else:
        print(f"clew {versions['clew']}")
    return 0
