"""``clew verify``: proves of every document that the log is whole (I1 to I3), beside a living server or without one.

Reads only. A line a document on standard output; exit code 1 if anything is damaged.
"""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from server.cli.asking import print_json
from server.cli.flags import Commands, command, settings, with_folder, with_json
from server.domain.errors import NotFound
from server.domain.log import CorruptLog
from server.rooms.soundness import check
from server.store.examine import Examined, check_file, examine
from server.store.log_file import LOG, open_for_reading
from server.store.nouns import DATABASE


def add(commands: Commands) -> None:
    """Its flags."""
    parser = command(commands, "verify", "prove that every document in the log is whole")
    with_folder(parser)
    with_json(parser)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Check everything, and say what was found."""
    folder = settings(asked).config.data
    if not (folder / LOG).exists():
        raise NotFound(f"{folder} holds no log; is it a data folder?")
    files = {name: check_file(folder / name) for name in (DATABASE, LOG) if (folder / name).exists()}
    documents = []
    for line in _documents(folder, known_tasks(folder / DATABASE)):
        documents.append(line)
        if not asked.json:
            print(_worded(line), flush=True)
    damaged = sum(bool(line["damage"]) for line in documents) + sum(bool(found) for found in files.values())
    if asked.json:
        print_json({"files": files, "documents": documents, "sound": not damaged})
    else:
        for name, found in files.items():
            print("\n".join(f"DAMAGED  {name}: {what}" for what in found) or f"ok       {name}")
        print(f"{len(documents)} documents, {'all is sound' if not damaged else 'something is DAMAGED'}.")
    return 1 if damaged else 0


def _documents(folder: Path, tasks: frozenset[str] | None) -> Iterator[dict[str, Any]]:
    try:
        for found in examine(folder / LOG):
            yield _line(found, tasks)
    except CorruptLog as error:
        yield {"document": LOG, "damage": [error.why]}


def _line(found: Examined, tasks: frozenset[str] | None) -> dict[str, Any]:
    covered = found.snapshot.seq if found.snapshot else 0
    return {
        "document": str(found.name),
        "generation": found.generation,
        "seq": found.head,
        "snapshot": covered,
        "bytes": len(found.snapshot.update if found.snapshot else b"")
        + sum(len(update) for _, update in found.updates),
        "set_aside": found.asides,
        "quarantined": found.quarantined,
        "orphan": tasks is not None and found.name.task not in tasks,
        "damage": check(found),
    }


def _worded(line: dict[str, Any]) -> str:
    if line["damage"]:
        return "\n".join(f"DAMAGED  {line['document']}: {what}" for what in line["damage"])
    marks = [
        f"generation {line['generation']}, seq {line['seq']}, snapshot to {line['snapshot']}, {line['bytes']} bytes",
        f"{line['set_aside']} generations kept aside" if line["set_aside"] else "",
        f"quarantined: {line['quarantined']}" if line["quarantined"] else "",
        "its task is gone" if line["orphan"] else "",
    ]
    return f"ok       {line['document']}: {', '.join(mark for mark in marks if mark)}"


def known_tasks(path: Path) -> frozenset[str] | None:
    """The ids of the tasks that the database has; None if it cannot say."""
    try:
        with closing(open_for_reading(path)) as connection:
            return frozenset(row[0] for row in connection.execute("SELECT id FROM tasks"))
    except sqlite3.Error:
        return None
