"""``clew verify``: proves of every document that the log is whole (I1 to I4), beside a living server or without one.

Reads only. A line a document and a line a finding on standard output; exit code 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from crdt_docs.ids import DocName
from server.cli.asking import print_json
from server.cli.flags import Commands, command, settings, with_folder, with_json
from server.cli.table import counted
from server.domain.errors import NotFound
from server.domain.log import CorruptLog
from server.rooms.soundness import check
from server.store.examine import Examined, check_file, examine, known_tasks, strays, tasks_with_words
from server.store.keys import copy_name
from server.store.log_file import LOG
from server.store.manifest import MANIFEST, differing, load
from server.store.nouns import DATABASE
from server.store.vault import Vault

TRIES: Final = 5
BREATH: Final = 0.1


def add(commands: Commands) -> None:
    """Its flags."""
    parser = command(commands, "verify", "prove that every document in the log is whole")
    with_folder(parser)
    with_json(parser)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Check everything, and say what was found."""
    began = time.monotonic()
    folder = settings(asked).config.data
    if not (folder / LOG).exists():
        raise NotFound(f"{folder} holds no log; is it a data folder?")
    files = _files(folder)
    tasks, documents = known_tasks(folder / DATABASE), []
    for line in _documents(folder, tasks):
        documents.append(line)
        if not asked.json:
            print(_worded(line), flush=True)
    missing = _without_document(folder, tasks, documents)
    found = sum(len(line["damage"]) for line in documents) + sum(map(len, files.values())) + len(missing)
    seconds = time.monotonic() - began
    if asked.json:
        told = {"files": files, "documents": documents, "without_document": missing, "seconds": seconds}
        print_json({**told, "sound": not found})
    else:
        for name, damage in files.items():
            print("\n".join(f"DAMAGED  {name}: {what}" for what in damage) or f"ok       {name}")
        for task in missing:
            print(f"DAMAGED  {task}: this task has no document")
        outcome = "all is sound" if not found else f"something is DAMAGED: {found} findings"
        print(f"{counted(len(documents), 'document')} in {seconds:.1f} seconds, {outcome}.")
    return 1 if found else 0


def _files(folder: Path) -> dict[str, list[str]]:
    files = {name: check_file(folder / name) for name in (DATABASE, LOG) if (folder / name).exists()}
    try:
        files[LOG] += strays(folder / LOG)
    except CorruptLog:
        pass  # the documents will say so
    if (folder / MANIFEST).exists():
        manifest = load((folder / MANIFEST).read_bytes())
        files[MANIFEST] = differing(lambda name: (folder / name).open("rb"), manifest)
    return files


def _documents(folder: Path, tasks: frozenset[str] | None) -> Iterator[dict[str, Any]]:
    try:
        for found in examine(folder / LOG, vault=_vault(folder)):
            yield _line(folder, found, tasks)
    except CorruptLog as error:
        yield {"document": LOG, "seq": 0, "damage": [error.why]}


def _vault(folder: Path) -> Vault | None:
    """A backup's keys lie beside it, a data folder's in it."""
    if not (folder / MANIFEST).exists():
        return None
    name = copy_name(load((folder / MANIFEST).read_bytes()).keys)
    return Vault.beside(folder.absolute().parent, name, readonly=True)


def _line(folder: Path, found: Examined, tasks: frozenset[str] | None) -> dict[str, Any]:
    covered = found.snapshot.seq if found.snapshot else 0
    orphan = tasks is not None and found.name.task not in tasks and _stays_orphan(folder, found.name)
    return {
        "document": str(found.name),
        "generation": found.generation,
        "seq": found.head,
        "snapshot": covered,
        "bytes": len(found.snapshot.update if found.snapshot else b"")
        + sum(len(stored.update) for stored in found.updates),
        "set_aside": found.asides,
        "quarantined": found.quarantined,
        "orphan": orphan,
        "damage": [*check(found), *(["its task is gone"] if orphan else [])],
    }


def _stays_orphan(folder: Path, name: DocName) -> bool:
    """A task that was begun since has one by now; one that is being deleted loses its document in a moment."""
    for _ in range(TRIES):
        if name.task in (known_tasks(folder / DATABASE) or ()) or next(examine(folder / LOG, name), None) is None:
            return False
        time.sleep(BREATH)
    return True


def _without_document(folder: Path, tasks: frozenset[str] | None, documents: list[dict[str, Any]]) -> list[str]:
    """Tasks that had no document at the beginning and have none at the end: each is begun just before its document."""
    if tasks is None or any(line["document"] == LOG for line in documents):
        return []
    missing = tasks - {line["document"] for line in documents if line["seq"]}
    for _ in range(TRIES):
        if missing:
            time.sleep(BREATH)
            missing = missing & (known_tasks(folder / DATABASE) or frozenset()) - tasks_with_words(folder / LOG)
    return sorted(missing)


def _worded(line: dict[str, Any]) -> str:
    if line["damage"]:
        return "\n".join(f"DAMAGED  {line['document']}: {what}" for what in line["damage"])
    marks = [
        f"generation {line['generation']}, seq {line['seq']}, snapshot to {line['snapshot']}, {line['bytes']} bytes",
        f"{line['set_aside']} generations kept aside" if line["set_aside"] else "",
        f"quarantined: {line['quarantined']}" if line["quarantined"] else "",
    ]
    return f"ok       {line['document']}: {', '.join(mark for mark in marks if mark)}"
