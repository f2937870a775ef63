"""What a summary is held against, and what comes of it, as values. Must never judge anything itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["constraint", "decision", "question", "next_step", "output", "fact"]
Status = Literal["active", "superseded", "open", "answered", "retired", "forgotten"]
Severity = Literal["critical", "important", "normal"]
Code = Literal["omitted", "stale", "asserted", "unsupported", "leaked", "negated", "blurred", "unfinished"]


@dataclass(frozen=True)
class LedgerItem:
    """One row of the ledger. ``topic`` names what the row is about, where its text does not say it."""

    id: str
    kind: Kind
    text: str
    status: Status
    severity: Severity = "normal"
    topic: str = ""
    superseded_by: str = ""


@dataclass(frozen=True)
class Finding:
    """One fault: ``item`` is the id of the row that it is about, empty if the fault stands for itself.

    ``omitted`` a row, or a value or name of it, is not told · ``stale`` what no longer holds is told as holding ·
    ``asserted`` what is open or still to do is told as settled · ``unsupported`` a value, name or sentence that nobody
    said, or that was said of something else · ``leaked`` what was to be forgotten is told · ``negated`` the opposite
    of a row is told, or less than it demands · ``blurred`` a question without its point, or a settled matter told as
    open · ``unfinished`` the text is empty, breaks off, or is too long to be checked.
    """

    code: Code
    item: str
    detail: str


@dataclass(frozen=True)
class Passed:
    """Nothing stands against showing the summary."""


@dataclass(frozen=True)
class Blocked:
    """The summary must not be shown, whatever its score."""

    reasons: tuple[Finding, ...]


Verdict = Passed | Blocked


@dataclass(frozen=True)
class Fidelity:
    """``score`` is 0 to 100; ``coverage`` 0 to 1, what of the ledger is told, weighted by severity."""

    score: float
    coverage: float
    findings: tuple[Finding, ...]
    verdict: Verdict
