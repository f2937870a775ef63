"""How much an agent may write by one grant, over all its connections. Owns the numbers; must never wait.

Far above what an agent that streams its answer needs: who is over it is no writer any more, but a loop.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from crdt_docs.ids import TokenId
from server.domain.access import Principal
from server.domain.allowance import Allowance
from server.domain.clock import Clock

MIB: Final = 1024 * 1024
UPDATES: Final = (12_000.0, 100.0)
"""At once, and a second from then on: 6,000 a minute."""
BYTES: Final = (32.0 * MIB, 0.25 * MIB)
"""The same; 15 MiB a minute."""
WHY: Final = "this agent writes more than its grant allows"
_KEPT: Final = 10_000


class Quota:
    """What one grant has written, against what it may."""

    __slots__ = ("_updates", "_bytes")

    def __init__(self, clock: Clock) -> None:
        self._updates = Allowance(*UPDATES, clock)
        self._bytes = Allowance(*BYTES, clock)

    def spend(self, size: int) -> bool:
        """Count one update; whether it is within the quota."""
        return self._updates.spend() and self._bytes.spend(size)


class Quotas:
    """The quotas of the grants that are in use."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_grant: OrderedDict[TokenId, Quota] = OrderedDict()

    def of(self, principal: Principal) -> Quota | None:
        """The quota that this principal writes under; None for people."""
        if principal.kind != "agent" or principal.token is None:
            return None
        quota = self._by_grant.get(principal.token)
        if quota is None:
            quota = self._by_grant[principal.token] = Quota(self._clock)
            if len(self._by_grant) > _KEPT:
                self._by_grant.popitem(last=False)
        return quota
