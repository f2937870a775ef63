"""A document of any size, as people make one: much of it many small edits by several hands, the rest pasted in.

Owns the edits, by pycrdt, and how they get into a data folder that nobody serves. Must never write bytes by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from kit.log_entries import actor
from pycrdt import Doc, Map, Text, TransactionEvent

from crdt_docs.ids import DocName, TaskId
from crdt_docs.updates.parse import parse
from server.domain.access import PrincipalKey
from server.domain.log import Append, Claim, Entry
from server.store.log import SqliteLog

WRITERS: Final = 4
EDITS: Final = 150
"""In one note, and one update."""
PASTED: Final = 500_000
"""Characters at once."""
LETTERS: Final = "etaoin shrdlu, cmfwyp. vbgk"
ROOT: Final = "notes"


def edits(size: int, seed: int = 5) -> Iterator[bytes]:
    """Updates of ``size`` bytes in all: half of them of many small structs and some deletions, half of few large."""
    random = Random(seed)
    docs: list[Doc[Any]] = [Doc(client_id=random.randrange(2**31, 2**32)) for _ in range(WRITERS)]
    made: list[bytes] = []
    for doc in docs:
        doc.observe(lambda event: made.append(_update(event)))
    typed = pasted = number = 0
    while typed + pasted < size:
        doc, number = docs[number % WRITERS], number + 1
        if pasted < typed - PASTED:
            _paste(doc, f"p{number}", random)
            pasted += len(made[-1])
        else:
            _type(doc, f"n{number}", random)
            typed += len(made[-1])
        yield made[-1]
        made.clear()


def _update(event: TransactionEvent) -> bytes:
    return event.update


def _type(doc: Doc[Any], key: str, random: Random) -> None:
    """A note by one person, in no order: each edit is a struct of its own."""
    with doc.transaction():
        text = doc.get(ROOT, type=Map)[key] = Text()
        length = 0
        for _ in range(EDITS):
            if random.random() < 0.1 and length > 9:
                at = random.randrange(length - 4)
                del text[at : at + 3]
                length -= 3
            else:
                word = "".join(random.choices(LETTERS, k=random.randrange(1, 8)))
                text.insert(random.randrange(length + 1), word)
                length += len(word)


def _paste(doc: Doc[Any], key: str, random: Random) -> None:
    with doc.transaction():
        text = doc.get(ROOT, type=Map)[key] = Text()
        text.insert(0, "".join(random.choices(LETTERS, k=1000)) * (PASTED // 1000))


def plant(data: Path, task: str, updates: Sequence[bytes]) -> None:
    """Append the updates to a task's log, as a server would have that was then stopped before it compacted."""
    who = actor(PrincipalKey("user:planter"))
    with SqliteLog(data / "log.db", "process") as log:
        opened = log.open(DocName(TaskId(task)))
        head, known = opened.head, {claim.client for claim in opened.claims}
        for at in range(0, len(updates), 64):
            some = updates[at : at + 64]
            clients = {section.client for update in some for section in parse(update).sections} - known
            known |= clients
            claims = tuple(Claim(client, who.principal, False) for client in clients)
            entries = tuple(Entry(update, who, 1000.0) for update in some)
            (moved,) = log.append([Append(opened.doc, head, entries, claims)])
            assert moved is not None
            head = moved
