"""``clew tasks``: what is on this server, as text and as files."""

from __future__ import annotations

import argparse
import base64
import sys
from pathlib import Path
from typing import Any, get_args

from server.cli.asking import answer, print_json
from server.cli.flags import Commands, command, with_folder, with_json
from server.cli.table import plain, print_table
from server.control.operator import FORMATS
from server.domain.errors import Conflict, Invalid
from server.domain.language import LANGUAGES
from server.domain.task import Status

KINDS = ("constraints", "decisions", "questions", "outputs", "messages")


def add(commands: Commands) -> None:
    """Its commands and their flags."""
    actions = command(commands, "tasks", "what is on this server").add_subparsers(metavar="ACTION", required=True)
    listing = command(actions, "list", "list the tasks, the one that last changed first")
    listing.add_argument("--user", metavar="NAME", help="only this user's")
    listing.add_argument("--status", choices=get_args(Status), help="only of this status")
    listing.set_defaults(run=run_list)
    show = command(actions, "show", "print a task's working set")
    show.set_defaults(run=run_show)
    export = command(actions, "export", "write a task as a file")
    export.add_argument("--format", choices=FORMATS, default="md", help="of which kind (default md)")
    export.add_argument("--out", metavar="FILE", type=Path, help="where to; - or nothing is standard output")
    export.set_defaults(run=run_export)
    resume = command(actions, "resume", "print where a task stands")
    resume.add_argument("--lang", choices=LANGUAGES, default="en", help="in which language (default en)")
    resume.set_defaults(run=run_resume)
    unlock = command(actions, "unlock", "ask nothing more of whoever opens a task: for owners who are shut out of it")
    unlock.set_defaults(run=run_unlock)
    for parser in (show, export, resume, unlock):
        parser.add_argument("task", metavar="T", help="the task's id, the beginning of it, or its name")
    for parser in (listing, show, export, resume, unlock):
        with_folder(parser)
    for parser in (listing, show, resume, unlock):
        with_json(parser)


def run_list(asked: argparse.Namespace) -> int:
    """Print the tasks."""
    said = answer(asked, "tasks.list", {"user": asked.user, "status": asked.status})
    if asked.json:
        print_json(said)
    else:
        fields = ("id", "status", "updated_at", "name")
        print_table(("ID", "STATUS", "CHANGED", "NAME"), [[task[field] for field in fields] for task in said["tasks"]])
    return 0


def run_show(asked: argparse.Namespace) -> int:
    """Print a working set."""
    said = answer(asked, "tasks.show", {"task": asked.task}, documents=True)
    if asked.json:
        print_json(said)
    else:
        print(plain(_working_set(said)))
    return 0


def run_export(asked: argparse.Namespace) -> int:
    """Write a file."""
    to_terminal = asked.out is None or str(asked.out) == "-"
    if to_terminal and asked.format in ("docx", "yjs") and sys.stdout.isatty():
        raise Invalid(f"A terminal cannot show {asked.format}; give --out FILE.")
    said = answer(asked, "tasks.export", {"task": asked.task, "format": asked.format}, documents=True)
    content = base64.b64decode(said["content"])
    if to_terminal:
        sys.stdout.buffer.write(content)
        return 0
    try:
        with asked.out.open("xb") as file:
            file.write(content)
    except FileExistsError:
        raise Conflict(f"{asked.out} is there already.") from None
    except OSError as error:
        raise Invalid(f"{asked.out} cannot be written ({error.strerror}).") from None
    return 0


def run_resume(asked: argparse.Namespace) -> int:
    """Print where a task stands."""
    said = answer(asked, "tasks.resume", {"task": asked.task, "lang": asked.lang}, documents=True)
    if asked.json:
        print_json(said)
    else:
        print(plain(said["text"]))
    return 0


def run_unlock(asked: argparse.Namespace) -> int:
    """Take a task's rules away."""
    said = answer(asked, "tasks.unlock", {"task": asked.task}, documents=True)
    if asked.json:
        print_json(said)
    else:
        print(plain(f"{said['task']['name']} opens again to everybody on it, on any device."))
    return 0


def _working_set(said: dict[str, Any]) -> str:
    task = said["task"]
    parts = [f"{task['name']} ({task['status']}, {task['id']}, seq {said['seq']})"]
    for document in said["documents"]:
        parts.append(f"\n# {document['title'] or 'Untitled'}\n\n{document['markdown'].strip()}")
    if removed := said["retired_documents"]:
        parts.append("\nRemoved documents: " + ", ".join(document["title"] or "Untitled" for document in removed))
    for kind in KINDS:
        items = said[kind]
        if items:
            parts.append(f"\n{kind.capitalize()}:")
            parts += [f"- {item['text']} [{item['status']}]" for item in items]
    return "\n".join(parts)
