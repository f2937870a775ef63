"""How a job can fail for good. Owns the verdicts; what follows from one (quarantine, repair) is the caller's."""

from __future__ import annotations

from enum import Enum

from server.domain.errors import Unavailable


class Verdict(Enum):
    """Why a job has no result. The first four speak of the document, the others of the moment."""

    CRASHED = "the engine crashed on this document"
    HUNG = "the engine did not come back in time"
    OUTGREW = "the engine ran out of its memory"
    REFUSED = "the engine cannot read this document"
    STARVED = "the machine had no time for this document"
    ABSENT = "the engine cannot be started"
    BUSY = "the engine has too much to do"
    CLOSED = "the engine is shutting down"

    @property
    def quarantine(self) -> bool:
        """Whether the document is to be marked: its projections fail until it changes, its syncing goes on."""
        return self in (Verdict.CRASHED, Verdict.HUNG, Verdict.OUTGREW, Verdict.REFUSED)


class EngineFailed(Unavailable):
    """The engine could not do this."""

    def __init__(self, verdict: Verdict, detail: str = "") -> None:
        super().__init__(verdict.value)
        self.verdict = verdict
        self.detail = detail
        """For the operator's log: names the error, may quote a few words of the document."""
