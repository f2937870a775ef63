"""What was taken back a moment ago. Owns that nobody who was authenticated before it acts after it (I5).

Closing connections is not enough: a request may have been authenticated and be on its way to its document, a ticket
between its look-up and its join. Must never outlive its use: a minute is longer than any request may take.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from crdt_docs.ids import DocName
from server.domain.access import Principal
from server.domain.errors import Forbidden

Matches = Callable[[Principal, DocName], bool]


class Revocation(NamedTuple):
    """Whom it concerns, since when (monotonic seconds), and what they are told."""

    at: float
    matches: Matches
    why: str
    about: Hashable = None


class Revocations:
    """Recent revocations of one kind."""

    def __init__(self) -> None:
        self._recent: list[Revocation] = []

    def add(self, at: float, matches: Matches, why: str, about: Hashable = None) -> None:
        """Hold this against everybody authenticated up to now, in place of what was held ``about`` the same."""
        self._recent = [one for one in self._recent if about is None or one.about != about]
        self._recent.append(Revocation(at, matches, why, about))

    def check(self, principal: Principal, name: DocName) -> None:
        """Raise Forbidden for a principal that was authenticated before it was revoked."""
        for revocation in self._recent:
            if principal.authenticated_at <= revocation.at and revocation.matches(principal, name):
                raise Forbidden(revocation.why)

    def forget(self, before: float) -> None:
        """Drop what is older than that."""
        self._recent = [revocation for revocation in self._recent if revocation.at >= before]
