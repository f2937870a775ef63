"""How faithful a summary is to a task's ledger: deterministic, pure, English and Chinese.

Owns the judgement that a model's words pass before people see them. Must never do I/O, call a model, or raise for a
text.
"""

from __future__ import annotations

from collections.abc import Sequence

from .ledger import Blocked, Fidelity, Finding, Kind, LedgerItem, Passed, Severity, Status, Verdict

# What judges is loaded by who judges: it compiles its rules, which takes longer than a server should take to start.


def score(summary: str, ledger: Sequence[LedgerItem], source: str = "", *, budget_words: int = 120) -> Fidelity:
    """See ``scoring.score``."""
    from .scoring import score

    return score(summary, ledger, source, budget_words=budget_words)


def coverage(insight: str, summary: str) -> float:
    """See ``overlap.coverage``."""
    from .overlap import coverage

    return coverage(insight, summary)


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
