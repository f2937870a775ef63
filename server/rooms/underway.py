"""What one document has admitted and not shown yet. Owns its order, and who waits for how much of it.

An update is *pending*, then in *flight* to the log, then has *landed* there, and is shown to everybody at the next
release. Must never let any of it overtake another, nor answer who waits before what they wait for was shown (I2).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from server.domain.log import Append, Claim, DocKey, LogFailed
from server.rooms.attribution import Pending

_new = tuple.__new__  # a NamedTuple's own __new__ is Python, and twice as slow
Waiter = Callable[[LogFailed | None], None]


class Underway:
    """The updates between one document's gate and its readers. ``committed`` is the log's head with all that landed."""

    __slots__ = (
        "committed",
        "_pending",
        "_claims",
        "_flight",
        "_flight_claims",
        "_landed",
        "_admitted",
        "_released",
        "_waiters",
    )

    def __init__(self, head: int) -> None:
        self.committed = head
        self._pending: list[Pending] = []
        self._claims: Sequence[Claim] = ()
        self._flight: Sequence[Pending] = ()
        self._flight_claims: Sequence[Claim] = ()
        self._landed: Sequence[Pending] = ()
        self._admitted = 0
        self._released = 0
        self._waiters: deque[tuple[int, Waiter]] | None = None  # an empty one is a tenth of a room at rest

    def add(self, pending: Pending, claims: Sequence[Claim]) -> None:
        """One more was admitted."""
        self._admitted += 1
        self._pending.append(pending)
        if claims:
            self._claims = (*self._claims, *claims)

    # -- to the log

    def take(self, doc: DocKey) -> Append | None:
        """The next flight; None if nothing is pending."""
        if not self._pending:
            return None
        flight, claims = self._pending, self._claims
        self._flight, self._flight_claims = flight, claims
        self._pending, self._claims = [], ()
        entries = (flight[0].entry,) if len(flight) == 1 else tuple([pending.entry for pending in flight])
        return _new(Append, (doc, self.committed, entries, tuple(claims)))

    def moved(self, head: int) -> None:
        """The flight has landed."""
        self.committed = head
        if self._landed:
            self._landed = (*self._landed, *self._flight)
        else:
            self._landed = self._flight
        self._flight = ()

    def turn_back(self) -> None:
        """The flight was not let in: it is pending again."""
        self._pending[:0] = self._flight
        self._claims = (*self._flight_claims, *self._claims)
        self._flight = ()

    def withdraw(self) -> tuple[list[Pending], set[int]]:
        """Take out what is pending, and the client ids that it claims, to be admitted anew and ``put_back``."""
        pending, self._pending = self._pending, []
        claims, self._claims = self._claims, ()
        return pending, {claim.client for claim in claims}

    def put_back(self, pending: Pending, claims: Iterable[Claim]) -> None:
        """It is admitted still."""
        self._pending.append(pending)
        self._claims = (*self._claims, *claims)

    def drop(self) -> None:
        """Forget what is not in the log."""
        self._pending, self._claims, self._flight = [], (), ()

    # -- to the readers

    def land(self) -> Sequence[Pending]:
        """Take out what has landed, to be shown."""
        landed, self._landed = self._landed, ()
        return landed

    def released(self, number: int) -> bool:
        """So many more were shown, or turned out to be known. Whether anybody waits: then ``answer`` follows."""
        self._released += number
        return bool(self._waiters)

    def answer(self, error: LogFailed | None = None) -> None:
        """Answer who waited for what was shown; everybody, if there is an error."""
        waiters = self._waiters
        while waiters and (error is not None or waiters[0][0] <= self._released):
            waiters.popleft()[1](error)
        if not self._waiters:
            self._waiters = None

    def when_released(self, then: Callable[[], None]) -> None:
        """Call ``then`` once all that was admitted before is shown, at once if it is; never if the commit fails."""
        if self.settled:
            then()
        else:
            self._wait(lambda error: None if error else then())

    async def wait(self) -> None:
        """Wait until all that was admitted so far is shown. Raises LogFailed if it failed."""
        if self.settled:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def then(error: LogFailed | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

        self._wait(then)
        await future

    def _wait(self, then: Waiter) -> None:
        if self._waiters is None:
            self._waiters = deque()
        self._waiters.append((self._admitted, then))

    # -- what there is

    @property
    def settled(self) -> bool:
        """Whether all that was admitted is shown."""
        return self._released >= self._admitted

    @property
    def flying(self) -> bool:
        """Whether the log has not answered yet."""
        return bool(self._flight)

    @property
    def pending(self) -> bool:
        """Whether something waits for the log."""
        return bool(self._pending)

    def updates(self) -> list[bytes]:
        """All of it, in order."""
        return [bytes(pending.entry.update) for pending in (*self._landed, *self._flight, *self._pending)]
