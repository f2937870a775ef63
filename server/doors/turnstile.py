"""How many may be connected: in all, from one address before it is known who they are, and as one party.

Owns the counts and what is said to whoever is one too many. Must never look into a credential, nor turn away somebody
because of who else stands behind the same proxy: addresses are only counted where they are the peers' own.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

from server.domain.access import Principal, PrincipalKey
from server.domain.allowance import Allowance
from server.domain.clock import Clock
from server.domain.errors import TooMany

DESCRIPTORS_RESERVED: Final = 256
"""File descriptors that no connection gets: databases, workers, commands, and a few to say no with."""
DESCRIPTORS_WANTED: Final = 65_536
FROM_ONE_ADDRESS: Final = 1_000
HOLD: Final = 1.0
"""Seconds that a refusal is held back where they come thick and fast: some clients are back at once."""
HELD: Final = 256
"""Refusals held back at a time; more are given at once, since waiting costs a descriptor."""
REASONS: Final = ("connections", "address", "party", "credential", "too_fast")
"""Why somebody was turned away; what they were too fast with is the socket's to say."""
PROMPT: Final = 40
PROMPT_RATE: Final = 10.0
"""Refusals that are given at once, and how many more a second."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Connections in all, HTTP's among them; of strangers from one address, if they count; open documents."""

    connections: int = 10_000
    address: int | None = None
    party: int = 1_000
    credential: int = 500


def caps(address: int | None, party: int, local: bool) -> Caps:
    """By what the operator said. On a ``local`` server an address may be a proxy's: none is counted unasked."""
    if address is None and not local:
        address = FROM_ONE_ADDRESS
    return Caps(connections_possible(), address or None, party, max(1, party // 2))


class Turnstile:
    """Counts who comes and goes."""

    def __init__(self, caps: Caps, clock: Clock) -> None:
        self.caps = caps
        self.clock = clock
        self.connections = 0
        self.refused: Counter[str] = Counter()
        self.held = 0
        self._strangers: Counter[str] = Counter()
        self._parties: Counter[Hashable] = Counter()
        self._inside: dict[object, tuple[Hashable, Hashable]] = {}
        self._prompt = Allowance(PROMPT, PROMPT_RATE, clock)

    def arrive(self, address: str | None) -> Passage:
        """Somebody connects. Raises TooMany; then answer as little as can be, and hang up."""
        if self.connections >= self.caps.connections:
            self._refuse("connections", "the server has as many connections as it can")
        place = _place(address) if address is not None and self.caps.address is not None else None
        if place is not None and self._strangers[place] >= (self.caps.address or 0):
            self._refuse("address", "too many connections from your address")
        return Passage(self, place)

    def enter(self, who: Principal, by: object) -> None:
        """A party enters a document, by that transport. Raises TooMany; else ``depart`` follows."""
        caps = self.caps
        party, credential = keys = _keys(who.key, who.token or who.device)
        if self._parties[party] >= caps.party:
            self._refuse("party", f"over {caps.party} open documents of one user")
        if self._parties[credential] >= caps.credential:
            self._refuse("credential", f"over {caps.credential} open documents by one credential")
        self._parties[party] += 1
        self._parties[credential] += 1
        self._inside[by] = keys  # it may show another credential while it is in

    def depart(self, by: object) -> None:
        """It has left the document again."""
        for key in self._inside.pop(by, ()):
            _take_one(self._parties, key)

    async def hold(self) -> None:
        """Wait a little before a refusal is told, if there were many lately."""
        if self._prompt.spend() or self.held >= HELD:
            return
        self.held += 1
        try:
            await asyncio.sleep(HOLD)
        finally:
            self.held -= 1

    def _refuse(self, what: str, why: str) -> None:
        self.refused[what] += 1
        raise TooMany(why)


class Passage:
    """One connection, from its opening to its end. A stranger until it is ``known``."""

    __slots__ = ("_turnstile", "_place", "_over")

    def __init__(self, turnstile: Turnstile, place: str | None) -> None:
        self._turnstile = turnstile
        self._place = place
        self._over = False
        turnstile.connections += 1
        if place is not None:
            turnstile._strangers[place] += 1

    def known(self) -> None:
        """It has shown who it is, and counts for its party from here on."""
        if self._place is not None:
            _take_one(self._turnstile._strangers, self._place)
            self._place = None

    def leave(self) -> None:
        """It is gone."""
        if not self._over:
            self._over = True
            self._turnstile.connections -= 1
            self.known()


def connections_possible() -> int:
    """How many connections the process has file descriptors for; raises its soft limit towards the hard one first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_WANTED if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (ValueError, OSError):
            pass  # not allowed here: what there is must do
    if soft == resource.RLIM_INFINITY:
        soft = DESCRIPTORS_WANTED
    return max(soft // 2, soft - DESCRIPTORS_RESERVED)


@lru_cache(maxsize=4096)
def _keys(party: PrincipalKey, credential: str | None) -> tuple[Hashable, Hashable]:
    """The same for all that one credential opens."""
    return ("party", party), ("credential", party, credential)


def _place(address: str) -> str:
    """The address, of IPv6 the network: one machine has all of it."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, IPv6Address):
        return str(ip.ipv4_mapped) if ip.ipv4_mapped else ip.exploded[:19]
    return address


def _take_one(counts: Counter[Any], key: Hashable) -> None:
    counts[key] -= 1
    if counts[key] <= 0:
        del counts[key]
