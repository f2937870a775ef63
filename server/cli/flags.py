"""Flags that several commands share, and the settings that they make with the environment and the file."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TypeAlias

from server.config import Loaded, load

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def command(commands: Commands, name: str, about: str) -> argparse.ArgumentParser:
    """A command of that name."""
    made = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
    return made


def with_folder(parser: argparse.ArgumentParser) -> None:
    """``--data`` and ``--config``."""
    parser.add_argument("--data", metavar="D", help="the data folder (default ./clew-data, or $CLEW_DATA)")
    parser.add_argument("--config", metavar="FILE", type=Path, help="the settings file (default ./clew.toml)")


def with_json(parser: argparse.ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")


def settings(asked: argparse.Namespace) -> Loaded:
    """The settings in effect. Raises Invalid."""
    return load(vars(asked), os.environ, asked.config or _named_file())


def _named_file() -> Path | None:
    named = os.environ.get("CLEW_CONFIG")
    return Path(named) if named else None
