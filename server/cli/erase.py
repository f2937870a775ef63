"""``clew erase``: takes a person out of a data folder, says beforehand where, and proves afterwards that it is so.

``--verify MARKER`` reads every byte of the folder and of other places that are named, opens what is sealed, and changes
nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from server.cli.asking import answer, print_json
from server.cli.flags import Commands, command, settings, with_folder, with_json
from server.cli.table import counted, print_table
from server.domain.errors import Invalid, NotFound
from server.store.keys import KEYS, copy_name
from server.store.log_file import LOG
from server.store.manifest import MANIFEST, load
from server.store.opening import opened_texts
from server.store.vault import Vault

LONGEST: Final = 86400.0
PIECE: Final = 1 << 20
ENCODINGS: Final = ("utf-8", "utf-16-le", "utf-16-be")


def add(commands: Commands) -> None:
    """Its flags."""
    parser = command(commands, "erase", "erase a person; or say where that would be, or prove that it was done")
    parser.add_argument("--user", metavar="U", help="whom: a name")
    parser.add_argument("--dry-run", action="store_true", help="print every place that it will touch, and touch none")
    parser.add_argument("--texts", action="store_true", help="delete what they wrote in others' tasks, too")
    parser.add_argument(
        "--refuse-owned",
        action="store_true",
        help="do nothing if others are on tasks that they alone own; else the longest-standing member gets those",
    )
    parser.add_argument("--verify", metavar="MARKER", help="only look for these words in every byte of the data folder")
    parser.add_argument(
        "--also", metavar="PATH", type=Path, action="append", default=[], help="with --verify: look there, too"
    )
    with_folder(parser)
    with_json(parser)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Erase, and say what came of it; with ``--verify``, exit code 1 if the words are anywhere."""
    if asked.verify is not None:
        return _verify(asked)
    if not asked.user:
        raise Invalid("Whom to erase is wanted: --user NAME.")
    wanted = {
        "user": asked.user,
        "dry_run": asked.dry_run,
        "texts": asked.texts,
        "owned": "refuse" if asked.refuse_owned else "transfer",
    }
    said = answer(asked, "erase", wanted, documents=True, within=LONGEST)
    if asked.json:
        print_json(said)
    elif asked.dry_run:
        print(f"{said['user']}: {counted(said['private'], 'private task')}, {said['shared']} shared with others.")
        print_table(("WHERE", "WHAT", "THEN"), [(p["where"], p["what"], p["then"]) for p in said["places"]])
        print("Nothing was touched.")
    else:
        _tell(said)
    return 0


def _tell(said: dict[str, Any]) -> None:
    gone = counted(said["private"], "private task") + (" is" if said["private"] == 1 else " are")
    print(f"{said['user']} is erased: {gone} gone, {counted(said['shared'], 'shared one')} kept.")
    named = f"{counted(said['documents'], 'document')} and {counted(said['events'], 'audit event')}"
    print(f"No longer named in: {named}.")
    for left in said["left"]:
        print(f"LEFT  {left}")
    print("Prove it with words that they wrote: clew erase --verify 'WORDS'.")


def _verify(asked: argparse.Namespace) -> int:
    if not asked.verify.strip():
        raise Invalid("Words to look for are wanted.")
    folder = settings(asked).config.data
    if not folder.is_dir():
        raise NotFound(f"There is no folder {folder}.")
    places = [folder, *asked.also]
    files = sorted({file for place in places for file in _files(place)})
    found = [str(file) for file in files if _holds(file, asked.verify)]
    for file in files:
        if file.name == LOG:
            found += _in_log(file, asked.verify)
    if asked.json:
        print_json({"files": len(files), "found": found})
    else:
        print("\n".join(f"FOUND  {file}" for file in found) or f"In none of {len(files)} files.")
    return 1 if found else 0


def _in_log(log: Path, words: str) -> list[str]:
    """The documents that hold the words, opened by the folder's keys, or by those beside a backup."""
    manifest = log.parent / MANIFEST
    name = copy_name(load(manifest.read_bytes()).keys) if manifest.exists() else KEYS
    vault = Vault.beside(log.parent.absolute().parent if manifest.exists() else log.parent, name, readonly=True)
    marks = _marks(words)
    found = {name for name, text in opened_texts(log, vault) if any(mark in text for mark in marks)}
    return sorted(f"{log}: {name}" for name in found)


def _marks(words: str) -> list[bytes]:
    return [words.encode(encoding) for encoding in ENCODINGS]


def _files(place: Path) -> Iterator[Path]:
    if not place.exists():
        raise NotFound(f"There is no {place}.")
    yield from (place,) if place.is_file() else (path for path in place.rglob("*") if path.is_file())


def _holds(file: Path, words: str) -> bool:
    """Whether any of its bytes are these words, however they are encoded; also across the pieces that are read."""
    marks = _marks(words)
    longest = max(map(len, marks))
    before = b""
    with file.open("rb") as opened:
        while piece := opened.read(PIECE):
            window = before + piece
            if any(mark in window for mark in marks):
                return True
            before = window[-longest:]
    return False
