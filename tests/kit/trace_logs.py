"""Editing traces as updates.

Owns how keystrokes become updates. One author's trace is written down without an engine, byte for byte as yrs puts it,
because the engine takes half a minute for the longest; two authors' trace is typed into two replicas.
"""

from __future__ import annotations

import gzip
import json
from array import array
from itertools import islice
from typing import Any

from kit.traces import FOLDER, counts_seen, read_trace
from pycrdt import Doc, Text

from crdt_docs.lib0 import varstring, varuint
from crdt_docs.updates.parse import STRING
from crdt_docs.updates.splice import encode_update
from crdt_docs.updates.vectors import DeleteSet

ROOT = "text"
AUTHORS = (3_000_000_001, 3_000_000_002)


def end_of(name: str) -> str:
    """The text that a trace makes."""
    return str(_load(name)["endContent"])


def _load(name: str) -> dict[str, Any]:
    """The bare JSON: as tuples, the longest trace takes four times as long."""
    return dict(json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes())))


def write_down(name: str, edits: int | None = None) -> bytes:
    """A sequential, ASCII trace as one update, a struct for each insertion and a range for each deleted character.

    The text is ``ROOT``, its author ``AUTHORS[0]``; ``edits`` are how many patches are taken, all if not given.
    """
    author = varuint(AUTHORS[0])
    visible = array("I")  # the clock of each character that shows
    after: dict[int, int] = {}  # clock → the clock right of it, deleted or not; -1 stands before the first
    gone: set[int] = set()
    clock = 0
    structs: list[bytes] = []
    deletes: list[tuple[int, int]] = []
    patches = (patch for txn in _load(name)["txns"] for patch in txn["patches"])
    for at, deleted, text in islice(patches, edits):
        if deleted:
            clocks = visible[at : at + deleted]
            deletes += ((one, 1) for one in clocks)
            gone.update(clocks)
            del visible[at : at + deleted]
        if text:
            left = visible[at - 1] if at else -1
            while (right := after.get(left, -1)) in gone:  # as yrs does
                left = right
            structs.append(_insertion(author, text, left, right))
            new = range(clock, clock + len(text))
            visible[at:at] = array("I", new)
            after.update(zip([left, *new[:-1]], new, strict=True))
            after[new[-1]] = right
            clock += len(text)
    section = (AUTHORS[0], 0, len(structs), b"".join(structs))
    return encode_update([section], DeleteSet([(AUTHORS[0], sorted(deletes))]).items())


def _insertion(author: bytes, text: str, left: int, right: int) -> bytes:
    info = (0x80 if left >= 0 else 0) | (0x40 if right >= 0 else 0) | STRING
    origins = b"".join(author + varuint(one) for one in (left, right) if one >= 0)
    return bytes((info,)) + (origins or b"\x01" + varstring(ROOT)) + varstring(text)


def type_together(name: str) -> list[bytes]:
    """The log of an ASCII trace by two authors, in an order that a server could have seen."""
    docs = [Doc[Text](client_id=author) for author in AUTHORS]
    texts = [doc.get(ROOT, type=Text) for doc in docs]
    fresh: list[bytes] = []
    subscriptions = [doc.observe(lambda event: fresh.append(bytes(event.update))) for doc in docs]
    sent: tuple[list[bytes], list[bytes]] = ([], [])
    heard = [0, 0]
    log: list[bytes] = []
    trace = read_trace(name)
    for txn, known in zip(trace.transactions, counts_seen(trace), strict=True):
        me, other = txn.agent, 1 - txn.agent
        while heard[me] < known.get(other, 0):
            docs[me].apply_update(sent[other][heard[me]])
            heard[me] += 1
        fresh.clear()
        with docs[me].transaction():
            for patch in txn.patches:
                del texts[me][patch.at : patch.at + patch.delete]  # code points and bytes are one in ASCII
                texts[me].insert(patch.at, patch.insert)
        sent[me].append(fresh[0])
        log.extend(fresh)
    del subscriptions
    return log
