"""What people and agents add to a working set, as data that any writer can put into a document.

Owns the fields of each new entry of schema 1. Must never hold an existing entry: nothing here overwrites. The same
entry is written by a Python peer (``put_entry``, with the engine) and by the server (``compose_entry``, bytes without
one).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crdt_docs.updates.compose import Composer
from crdt_docs.updates.parse import Id

Severity = Literal["critical", "important", "normal"]


@dataclass(frozen=True, slots=True)
class Words:
    """Becomes a shared Text, which two people may edit at once."""

    text: str


@dataclass(frozen=True, slots=True)
class Body:
    """Becomes an empty XmlFragment."""


Entry = Mapping[str, "Words | Body | Mapping[str, Any] | Any"]
"""Fields by name. A mapping becomes a shared Map, None is left out, anything else is a plain value."""


def message(
    text: str,
    *,
    author: str,
    at: int,
    role: str = "user",
    session: str | None = None,
    turn: str | None = None,
    refs: Sequence[str] | None = None,
) -> Entry:
    """Something said in the task. ``at`` is milliseconds since the epoch, ``role`` is ``user`` or ``agent``."""
    fields = {"author": author, "role": role, "session": session, "turn": turn, "at": at}
    return {"text": Words(text), **fields, "refs": list(refs) if refs else None}


def constraint(text: str, *, by: str, at: int, severity: Severity = "normal", source: str | None = None) -> Entry:
    """Something that must hold, as somebody said it; ``source`` is the message it comes from."""
    return {"text": Words(text), "severity": severity, "source": source, "by": by, "at": at, "retired": {}}


def decision(
    text: str,
    *,
    by: str,
    at: int,
    topic: str | None = None,
    supersedes: Sequence[str] = (),
    source: str | None = None,
) -> Entry:
    """Something settled. ``supersedes`` are the decisions that it takes the place of; they stay as they are."""
    old = list(supersedes)
    named: str | list[str] | None = old[0] if len(old) == 1 else (old or None)
    return {"text": Words(text), "topic": topic, "supersedes": named, "source": source, "by": by, "at": at}


def question(text: str, *, by: str, at: int) -> Entry:
    """Something open."""
    return {"text": Words(text), "by": by, "at": at, "answers": {}, "dropped": {}}


def answer(text: str, *, by: str, at: int, supersedes: Sequence[str] = ()) -> Entry:
    """One answer to a question; another that differs stands beside it until one supersedes it."""
    old = list(supersedes)
    return {"text": Words(text), "by": by, "at": at, "supersedes": old or None}


def next_step(text: str, *, by: str, at: int, source: str | None = None) -> Entry:
    """What somebody said they will do next: an entry of ``slots`` with the intent ``next_step``.

    ``state`` is ``open`` until it is ``done`` or ``dropped``.
    """
    fields = {"text": Words(text), "by": by, "at": at, "source": source}
    return {"intent": "next_step", "state": "open", "fields": fields}


def note(*, by: str, at: int, why: str | None = None) -> Entry:
    """The entry that retires a constraint or a document, or drops a question: who, when and why."""
    return {"by": by, "at": at, "why": why}


def document(title: str, *, order: float, kind: str = "text") -> Entry:
    """A document to write in; ``order`` sorts it among the others."""
    return {"title": Words(title), "kind": kind, "order": order, "body": Body(), "retired": {}}


def output(
    title: str,
    *,
    by: str,
    at: int,
    kind: str = "text",
    state: str = "draft",
    run: str | None = None,
    blob: str | None = None,
    next: str | None = None,
) -> Entry:
    """A result: rich text, or the SHA-256 of a blob."""
    held: dict[str, Any] = {"blob": blob} if blob else {"body": Body()}
    return {"title": Words(title), "kind": kind, "run": run, "state": state, "next": next, "by": by, "at": at, **held}


def compose_entry(composer: Composer, parent: str | Id, key: str, entry: Entry) -> Id:
    """Add an entry to a root or map by bytes. Returns the id of its map, for what is to go inside."""
    made = composer.set_map(parent, key)
    for name, value in entry.items():
        if isinstance(value, Words):
            composer.set_text(made, name, value.text)
        elif isinstance(value, Body):
            composer.set_fragment(made, name)
        elif isinstance(value, Mapping):
            compose_entry(composer, made, name, value)
        elif value is not None:
            composer.set(made, name, value)
    return made
