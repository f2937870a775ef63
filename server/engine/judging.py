"""Whether a model's summary may be shown, judged against the ledger. Runs only in workers, for it takes its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crdt_docs.fidelity import LedgerItem, Passed, score


def judge(summary: str, ledger: Sequence[Mapping[str, Any]], source: str) -> bytes:
    """One byte if it passes, none if it is blocked. ``ledger`` has the fields of ``LedgerItem``."""
    verdict = score(summary, [LedgerItem(**item) for item in ledger], source).verdict
    return b"1" if isinstance(verdict, Passed) else b""
