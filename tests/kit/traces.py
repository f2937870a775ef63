"""Editing traces of real people: ``tests/fixtures/traces``. Owns reading them; positions are Unicode code points."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

from pycrdt import Text

FOLDER = Path(__file__).parents[1] / "fixtures" / "traces"


class Patch(NamedTuple):
    """At a code point, delete so many, then insert."""

    at: int
    delete: int
    insert: str


class Transaction(NamedTuple):
    """By one agent; applies to the merge of its parents."""

    parents: tuple[int, ...]
    agent: int
    patches: tuple[Patch, ...]


class Trace(NamedTuple):
    """What was typed, and the text that it makes."""

    transactions: list[Transaction]
    start: str
    end: str

    @property
    def is_ascii(self) -> bool:
        """Whether code points, UTF-16 units and UTF-8 bytes are the same here."""
        return all(patch.insert.isascii() for txn in self.transactions for patch in txn.patches)


def read_trace(name: str) -> Trace:
    """A trace; in a sequential one, each transaction's parent is the one before it."""
    raw: dict[str, Any] = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    transactions = []
    for at, txn in enumerate(raw["txns"]):
        parents = txn.get("parents", [at - 1] if at else [])
        patches = tuple(Patch(*patch) for patch in txn["patches"])
        transactions.append(Transaction(tuple(parents), txn.get("agent", 0), patches))
    return Trace(transactions, raw.get("startContent", ""), raw["endContent"])


def counts_seen(trace: Trace) -> list[dict[int, int]]:
    """For each transaction, how many of each agent's it builds on. Raises ValueError if that is not all its own."""
    ordinal: list[int] = []
    seen: list[dict[int, int]] = []
    made: dict[int, int] = {}
    for txn in trace.transactions:
        known: dict[int, int] = {}
        for parent in txn.parents:
            agent = trace.transactions[parent].agent
            for other, count in (*seen[parent].items(), (agent, ordinal[parent] + 1)):
                known[other] = max(known.get(other, 0), count)
        if known.get(txn.agent, 0) != made.get(txn.agent, 0):
            raise ValueError("an agent that forgot what it wrote")
        ordinal.append(made.get(txn.agent, 0))
        made[txn.agent] = ordinal[-1] + 1
        seen.append(known)
    return seen


def edit(text: Text, patch: Patch, is_ascii: bool) -> None:
    """Apply one patch to a pycrdt text, which counts UTF-8 bytes. ``is_ascii`` saves reading it for that."""
    start, end = patch.at, patch.at + patch.delete
    if not is_ascii:
        content = str(text)
        start, end = len(content[:start].encode()), len(content[:end].encode())
    if patch.delete:
        del text[start:end]
    if patch.insert:
        text.insert(start, patch.insert)
