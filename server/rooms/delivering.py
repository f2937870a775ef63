"""What somebody wrote while nobody heard them, brought later and without a socket.

Owns that it is taken as an answer to our SyncStep1 would be, but whole or not at all, and that nobody's fill the way
for all others. Must never use an engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from crdt_docs.errors import Malformed
from crdt_docs.errors import TooLarge as OverBound
from crdt_docs.updates.parse import Parsed
from server.domain.access import Principal, PrincipalKey
from server.domain.errors import ClewError, Conflict, Forbidden, Invalid, TooLarge, TooMany, Unavailable
from server.domain.log import Actor
from server.rooms.room import Room
from server.rooms.verdict import Admit, Refuse

_REFUSALS: Final = {error().close: error for error in (Forbidden, Conflict, Invalid, TooLarge)}

MOST: Final = 2
"""At a time, of one party: two of its devices come back at once. One worker parses all long updates there are, and a
socket's come one after another, too."""


class Deliveries:
    """How many each party has under way."""

    def __init__(self) -> None:
        self._of: Counter[PrincipalKey] = Counter()

    @contextmanager
    def begin(self, principal: Principal) -> Iterator[None]:
        """One more for the block. Raises TooMany."""
        if self._of[principal.key] >= MOST:
            raise TooMany("You are bringing something else; please try again in a moment.")
        self._of[principal.key] += 1
        try:
            yield
        finally:
            self._of[principal.key] -= 1
            if not self._of[principal.key]:
                del self._of[principal.key]


async def read(room: Room, update: bytes) -> Parsed:
    """The update, parsed. Raises Invalid and TooLarge."""
    try:
        return await room.parse(update)
    except OverBound as error:
        raise TooLarge(str(error)) from None
    except Malformed as error:
        raise Invalid(str(error)) from None


async def judge(room: Room, principal: Principal, parsed: Parsed, generation: int) -> Admit:
    """What the gate says to it; the caller holds ``lock``. Raises what refuses it, Unavailable if it came too late.

    All long updates wait for one worker, so it may have taken longer than revocations are remembered.
    """
    if room.clock.monotonic() - principal.authenticated_at >= room.limits.revocation_memory:
        raise Unavailable
    if generation != room.generation:
        raise Conflict("This is of another generation of the document.", "generation")
    verdict = await room.resolve(parsed, principal.key, "step2")
    if isinstance(verdict, Refuse):
        refusal: type[ClewError] = _REFUSALS.get(verdict.code, Invalid)
        raise refusal(verdict.why)
    if not isinstance(verdict, Admit) or verdict.lacking:
        raise Conflict("It builds on what is not here, or is under somebody else's client id.", "gap")
    # where one is present under an id, a SyncStep2 claims it for good, and others can't go on under it; so here
    claims = tuple([claim._replace(provisional=False) for claim in verdict.delta.claims])
    return verdict._replace(delta=verdict.delta._replace(claims=claims))


def submit(room: Room, principal: Principal, admit: Admit) -> None:
    """Send it on its way to the log; nothing if all of it was known."""
    if admit.update:
        room.submit(admit, Actor.of(principal, "sync"))
