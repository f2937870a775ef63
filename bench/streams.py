"""What is typed: real Yjs updates, made once and kept, so that nothing is computed while a server is measured.

Owns the files that the load client reads: ``u8 writer, u32 need, u32 length, update`` again and again. ``need`` is how
many updates of the other writer must have come before.
"""

from __future__ import annotations

import random
import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pycrdt import Doc, Text, TransactionEvent

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from kit.trace_logs import AUTHORS, ROOT
from kit.traces import counts_seen, edit, read_trace

from crdt_docs.lib0 import varstring, varuint
from crdt_docs.updates.parse import STRING
from crdt_docs.updates.splice import encode_update
from crdt_docs.updates.vectors import DeleteSet

LETTERS = 1_000_000
TYPED = 4_000
PAPER_STEP = 260


class Record(NamedTuple):
    """One update of one of the two writers."""

    writer: int
    need: int
    update: bytes


class _Replica:
    """One author's document. ``made`` are the updates since it was last emptied."""

    def __init__(self, author: int) -> None:
        self.doc = Doc[Text](client_id=author)
        self.text = self.doc.get(ROOT, type=Text)
        self.made: list[bytes] = []
        self._watch = self.doc.observe(self._note)

    def _note(self, event: TransactionEvent) -> None:
        self.made.append(bytes(event.update))


def letters() -> Iterator[Record]:
    """One writer who types on and on, a letter an update, as an editor sends it."""
    author = varuint(AUTHORS[0])
    for clock in range(LETTERS):
        start = b"\x84" + author + varuint(clock - 1) if clock else b"\x04\x01" + varstring(ROOT)
        letter = "etaoinshrdlu "[clock % 13]
        yield Record(0, 0, encode_update([(AUTHORS[0], clock, 1, start + varstring(letter))], []))


def typing() -> Iterator[Record]:
    """Two typists who know nothing of each other: runs of letters, a tenth of them taken back, now and then a jump.

    Every tenth is a letter, so that the end of ten can be seen to have come.
    """
    for writer, author in enumerate(AUTHORS):
        chance = random.Random(writer)
        replica = _Replica(author)
        length = caret = 0
        for at in range(TYPED):
            if chance.random() < 0.02:
                caret = chance.randint(0, length)
            if chance.random() < 0.11 and caret and at % 10 != 9:
                caret, length = caret - 1, length - 1
                del replica.text[caret : caret + 1]
            else:
                replica.text.insert(caret, chance.choice("abcdefghijklmnopqrstuvwxyz  "))
                caret, length = caret + 1, length + 1
        yield from (Record(writer, 0, update) for update in replica.made)


def paper() -> Iterator[Record]:
    """A paper of 260,000 edits, 260 an update; then, by a second writer, what is typed while others come to read it.

    Written down as ``kit.trace_logs.write_down`` does, without an engine, which would take minutes.
    """
    patches = [patch for txn in read_trace("automerge-paper").transactions for patch in txn.patches]
    visible = array("I")  # the clock of each character that shows
    after: dict[int, int] = {}  # clock → the clock right of it, deleted or not; -1 stands before the first
    gone: set[int] = set()
    clock = 0
    for start in range(0, len(patches), PAPER_STEP):
        structs: list[bytes] = []
        deleted: list[int] = []
        first = clock
        for at, take, text in patches[start : start + PAPER_STEP]:
            deleted += visible[at : at + take]
            gone.update(visible[at : at + take])
            del visible[at : at + take]
            if not text:
                continue
            left = visible[at - 1] if at else -1
            while (right := after.get(left, -1)) in gone:
                left = right
            structs.append(_insertion(text, left, right))
            new = range(clock, clock + len(text))
            visible[at:at] = array("I", new)
            after.update(zip([left, *new[:-1]], new, strict=True))
            after[new[-1]] = right
            clock += len(text)
        sections = [(AUTHORS[0], first, len(structs), b"".join(structs))] if structs else []
        deletes = DeleteSet([(AUTHORS[0], [(one, 1) for one in sorted(deleted)])]) if deleted else DeleteSet([])
        yield Record(0, 0, encode_update(sections, deletes.items()))
    yield from (record for record in typing() if record.writer == 1)


def _insertion(text: str, left: int, right: int) -> bytes:
    info = (0x80 if left >= 0 else 0) | (0x40 if right >= 0 else 0) | STRING
    origins = b"".join(varuint(AUTHORS[0]) + varuint(one) for one in (left, right) if one >= 0)
    return bytes((info,)) + (origins or b"\x01" + varstring(ROOT)) + varstring(text)


def friends() -> Iterator[Record]:
    """Two people who really wrote one text together, letter by letter."""
    trace = read_trace("friendsforever")
    replicas = [_Replica(author) for author in AUTHORS]
    sent: tuple[list[bytes], list[bytes]] = ([], [])
    heard = [0, 0]
    is_ascii = trace.is_ascii
    for txn, known in zip(trace.transactions, counts_seen(trace), strict=True):
        me, other = txn.agent, 1 - txn.agent
        while heard[me] < known.get(other, 0):
            replicas[me].doc.apply_update(sent[other][heard[me]])
            heard[me] += 1
        replicas[me].made.clear()
        with replicas[me].doc.transaction():
            for patch in txn.patches:
                edit(replicas[me].text, patch, is_ascii)
        sent[me].append(replicas[me].made[0])
        yield Record(me, heard[me], sent[me][-1])


KINDS: dict[str, Callable[[], Iterable[Record]]] = {
    "letters": letters, "typing": typing, "paper": paper, "friends": friends
}  # fmt: skip


class Streams:
    """The files, each made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> Path:
        path = self._folder / f"{name}.updates"
        if not path.exists():
            part = path.with_suffix(".part")
            with part.open("wb") as file:
                for writer, need, update in KINDS[name]():
                    file.write(struct.pack("<BII", writer, need, len(update)) + update)
            part.rename(path)
        return path
