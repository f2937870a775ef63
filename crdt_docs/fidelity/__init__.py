"""How faithful a summary is to a task's ledger: deterministic, pure, English and Chinese.

Owns the judgement that a model's words pass before people see them. Must never do I/O, call a model, or raise for a
text.
"""

from __future__ import annotations

from .ledger import Blocked, Fidelity, Finding, Kind, LedgerItem, Passed, Severity, Status, Verdict
from .overlap import coverage
from .scoring import score

__all__ = [
    "Blocked",
    "Fidelity",
    "Finding",
    "Kind",
    "LedgerItem",
    "Passed",
    "Severity",
    "Status",
    "Verdict",
    "coverage",
    "score",
]
