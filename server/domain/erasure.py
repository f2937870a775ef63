"""Erasing a person: what is asked for, and all the places it touches. Owns shapes only; must never hold content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from crdt_docs.ids import TaskId, UserId

Owned = Literal["transfer", "refuse"]
"""What becomes of a task that others are on and that the person alone owns: the longest-standing member gets it, or
nothing is erased."""


@dataclass(frozen=True, slots=True)
class Wish:
    """``texts``: what they wrote in tasks that stay goes, too, for everyone; else only who wrote it is cut."""

    texts: bool = False
    owned: Owned = "transfer"


@dataclass(frozen=True, slots=True)
class Belongings:
    """What is a person's. ``ids`` are all that name them anywhere; ``heirs`` who gets which task that they alone own.

    ``private`` are the tasks that nobody else is on, ``shared`` all others that they are on or ever wrote in.
    """

    user: UserId
    ids: frozenset[str]
    agents: frozenset[str]
    private: tuple[TaskId, ...]
    shared: tuple[TaskId, ...]
    heirs: Mapping[TaskId, UserId]
    rows: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere that erasing touches: a file or a memory, what there, and what happens to it."""

    where: str
    what: str
    then: str


@dataclass(frozen=True, slots=True)
class Erased:
    """What came of it. ``left`` are sentences on what could not be reached from here."""

    private: int
    shared: int
    events: int
    documents: int
    left: tuple[str, ...]
