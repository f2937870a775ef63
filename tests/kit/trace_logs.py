"""Editing traces as logs of updates.

Owns how keystrokes become updates. One author's trace is written down without an engine, byte for byte as yrs puts it,
because the engine takes half a minute for the longest; two authors' trace is typed into two replicas.
"""

from __future__ import annotations

from array import array

from kit.traces import counts_seen, read_trace
from pycrdt import Doc, Text

from crdt_docs.lib0 import varstring, varuint

ROOT = "text"
AUTHORS = (3_000_000_001, 3_000_000_002)


def write_down(name: str) -> list[bytes]:
    """A sequential, ASCII trace as one update for each insertion or deletion: the text ``ROOT`` by ``AUTHORS[0]``."""
    author = varuint(AUTHORS[0])
    visible = array("I")  # the clock of each character that shows
    after: dict[int, int] = {}  # clock → the clock right of it, deleted or not; -1 stands before the first
    gone: set[int] = set()
    clock = 0
    log: list[bytes] = []
    for position, deleted, text in (patch for txn in read_trace(name).transactions for patch in txn.patches):
        if deleted:
            log.append(_delete(author, visible[position : position + deleted]))
            gone.update(visible[position : position + deleted])
            del visible[position : position + deleted]
        if text:
            left = visible[position - 1] if position else -1
            while (right := after.get(left, -1)) in gone:  # as yrs does
                left = right
            origins = b"".join(author + varuint(one) for one in (left, right) if one >= 0)
            info = (0x80 if left >= 0 else 0) | (0x40 if right >= 0 else 0) | 4
            parent = b"" if origins else b"\x01" + varstring(ROOT)
            head = b"\x01\x01" + author + varuint(clock) + bytes((info,))
            log.append(head + origins + parent + varstring(text) + b"\x00")
            new = range(clock, clock + len(text))
            visible[position:position] = array("I", new)
            after.update(zip([left, *new[:-1]], new, strict=True))
            after[new[-1]] = right
            clock += len(text)
    return log


def _delete(author: bytes, clocks: array[int]) -> bytes:
    ranges: list[list[int]] = []
    for clock in clocks:
        if ranges and sum(ranges[-1]) == clock:
            ranges[-1][1] += 1
        else:
            ranges.append([clock, 1])
    pairs = b"".join(varuint(value) for pair in ranges for value in pair)
    return b"\x00\x01" + author + varuint(len(ranges)) + pairs


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
