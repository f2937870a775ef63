"""Who did what to whom, in ids. Owns the events' shape and how they are chained; must never hold content or secrets.

The chain covers *digests* of who is named, each under a salt of its own. Erasing a person takes salt and ids away and
leaves the digest: the chain still holds, and nobody can be found in it any more.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from crdt_docs.ids import AgentId, DeviceId, SessionId, TaskId, TokenId, UserId

GENESIS: Final = bytes(32)
"""What stands before the first event in the chain."""
RETENTION_DAYS: Final = 400
"""For how long events are kept unless the operator says otherwise."""
_EVENT: Final = re.compile(r"[a-z_]{1,32}(\.[a-z_]{1,32}){1,2}")
_SUBJECT: Final = re.compile(r"[A-Za-z0-9_.:-]{1,80}")


@dataclass(frozen=True, slots=True)
class Deed:
    """Who acted and through what, as far as it is known. With an ``agent``, it acted on behalf of the ``user``, by the
    grant that ``token`` names: ``act`` in the words of RFC 8693."""

    user: UserId | None = None
    agent: AgentId | None = None
    device: DeviceId | None = None
    session: SessionId | None = None
    token: TokenId | None = None

    @property
    def ids(self) -> list[str | None]:
        """As they are hashed."""
        return [self.user, self.agent, self.device, self.session, self.token]


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One event, for example ``token.revoked``, done by ``by`` to the things that ``subjects`` names by id."""

    event: str
    at: float
    by: Deed
    task: TaskId | None
    subjects: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raises ValueError for what is no name of an event, or no id: words have no place in the trail."""
        if not _EVENT.fullmatch(self.event) or not all(map(_SUBJECT.fullmatch, self.subjects)):
            raise ValueError("an audit event is a noun and a verb, and names ids")

    def chained(self, before: bytes) -> bytes:
        """The hash of an event of before there were digests: over the hash before it, and all of it."""
        text = json.dumps([self.event, self.at, self.by.ids, self.task, self.subjects], separators=(",", ":"))
        return hashlib.sha256(before + text.encode()).digest()


def digest(salt: bytes, ids: Sequence[str | None]) -> bytes:
    """What stands in the chain for the ids."""
    return hashlib.sha256(salt + json.dumps(list(ids), separators=(",", ":")).encode()).digest()


def link(before: bytes, event: str, at: float, task: str | None, by: bytes, subjects: bytes) -> bytes:
    """The hash of an event: over the hash of the one before it, and what it is; ``by`` and ``subjects`` are digests."""
    text = json.dumps([event, at, task, by.hex(), subjects.hex()], separators=(",", ":"))
    return hashlib.sha256(before + text.encode()).digest()


def ranges(numbers: Iterable[int]) -> tuple[str, ...]:
    """Numbers as ``3-7`` and ``9``, in order: how the trail names events of its own."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return tuple(f"{first}-{last}" if first != last else str(first) for first, last in found)


def numbers(told: Iterable[str]) -> set[int]:
    """What ``ranges`` has told."""
    found: set[int] = set()
    for one in told:
        first, _, last = one.partition("-")
        if first.isdigit() and (last or first).isdigit():
            found.update(range(int(first), int(last or first) + 1))
    return found
