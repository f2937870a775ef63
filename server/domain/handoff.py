"""Handing a task to a new device: what is offered, how it is shown, what has to match. Owns the bounds and the codes.

Two devices are brought together by a person who sees both: the new one presents a code, once, and shows a number; the
one that offered is asked for that number, once. Pure; must never let a code live longer, or be tried more often, than
stands here.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final, Literal, NewType

from crdt_docs.ids import DeviceId, SessionId, TaskId, UserId
from server.domain.access import LoginId, Role
from server.domain.clock import Clock
from server.domain.errors import TooOften

HandoffId = NewType("HandoffId", str)
How = Literal["qr", "code"]
"""A ``qr`` code carries a secret of 128 bits; a ``code`` is typed, for a device without a camera."""
State = Literal["offered", "claimed", "approved", "collected", "ended"]
Why = Literal["withdrawn", "declined", "mismatched", "elsewhere", "expired", "reused", "guessed", "known"]
"""How it ended: taken back; refused; by a wrong number; answered or collected by who may not; by time; its code was
presented twice; guessed at too often; by a device that needed none."""

LIVES: Final[dict[How, float]] = {"qr": 120.0, "code": 300.0}
COLLECTING: Final = 30.0
"""Seconds from the approval in which the new device has to fetch its login."""
VISIT: Final = 12 * 3600
LONGEST_VISIT: Final = 7 * 86400
OFTEN: Final = 5
WINDOW: Final = 600.0
"""So many may be offered by one person in so many seconds."""
PAUSE: Final = 3600.0
REMEMBERED: Final = 86400.0
"""Seconds for which a used code is known again."""
MISSES: Final = 5
"""Wrong codes that may be tried while a typed one lives: 5 in 20^8 is under 2^-32 (RFC 8628, 5.1)."""
ALPHABET: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""Consonants that no other letter or figure is taken for (RFC 8628, 6.1)."""
_LENGTH: Final = 8


@dataclass(frozen=True, slots=True)
class Claim:
    """What a device that presented the code showed of itself. ``near`` is whether it came from the same network, None
    where nobody can tell; ``number`` is on its screen, and ``numbers`` are to choose from."""

    name: str
    kind: str
    near: bool | None
    thumbprint: str | None
    number: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Handoff:
    """A task that is offered to a device which is not known yet, by a login on a device, in a session if it named one.

    ``ttl`` are the seconds that the new device stays; ``made`` is that device, once it is in.
    """

    id: HandoffId
    how: How
    user: UserId
    task: TaskId
    device: DeviceId
    login: LoginId
    session: SessionId | None
    place: str | None
    role: Role
    ttl: float
    state: State
    why: Why | None
    created_at: float
    expires_at: float
    claim: Claim | None = None
    made: DeviceId | None = None


def new_qr_secret() -> str:
    """128 random bits, unpadded base64url: a QR code that a camera reads at arm's length."""
    return secrets.token_urlsafe(16)


def new_code() -> str:
    """Eight letters, 34 random bits."""
    return "".join(secrets.choice(ALPHABET) for _ in range(_LENGTH))


def read_code(typed: str) -> str | None:
    """The code that somebody typed, whatever their case, spaces and hyphens; None if it can't be one."""
    code = "".join(char for char in typed.upper() if char.isalnum())
    return code if len(code) == _LENGTH and set(code) <= set(ALPHABET) else None


def spell(code: str) -> str:
    """The code as it is easy to read off."""
    return f"{code[:4]}-{code[4:]}"


def new_numbers() -> tuple[int, tuple[int, ...]]:
    """A number of two digits, and three to pick it from, in any order."""
    numbers = secrets.SystemRandom().sample(range(10, 100), 3)
    return secrets.choice(numbers), tuple(numbers)


def network_of(address: str | None) -> str | None:
    """The address, of IPv6 the /64; None for what is none."""
    try:
        ip = ip_address((address or "").partition("%")[0])
    except ValueError:
        return None
    if isinstance(ip, IPv6Address):
        return str(ip.ipv4_mapped) if ip.ipv4_mapped else ip.exploded[:19]
    return str(ip)


class Guesses:
    """The wrong codes of each network within the life of one. Must never forget one that is younger."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()

    def check(self, place: str) -> None:
        """Raise TooOften for who has guessed enough: also the right code is then refused."""
        wrong = self._recent(place)
        if len(wrong) >= MISSES:
            raise TooOften(wrong[0] + LIVES["code"] - self._clock.monotonic())

    def miss(self, place: str) -> None:
        """It was wrong."""
        self._wrong[place] = [*self._recent(place), self._clock.monotonic()]
        self._wrong.move_to_end(place)
        before = self._clock.monotonic() - LIVES["code"]
        while self._wrong and next(iter(self._wrong.values()))[-1] < before:
            self._wrong.popitem(last=False)

    def _recent(self, place: str) -> list[float]:
        before = self._clock.monotonic() - LIVES["code"]
        return [at for at in self._wrong.get(place, []) if at > before]
