"""What an operator asks of the audit trail. Owns how it is shown: by names where there still are any, in ids else."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from server.domain.audit import AuditEvent
from server.domain.clock import Clock, iso
from server.domain.errors import Invalid
from server.store.nouns import Nouns

Arguments = Mapping[str, Any]
Commands = Mapping[str, Callable[[Arguments], Awaitable[Any]]]
DAY: Final = 86400.0
MOST: Final = 100_000
_HEAD: Final = re.compile(r"(\d{1,15}):([0-9a-f]{64})")


class Trail:
    """Answers ``audit.*``."""

    def __init__(self, nouns: Nouns, clock: Clock) -> None:
        self._nouns = nouns
        self._clock = clock

    @property
    def commands(self) -> Commands:
        """By name."""
        return {"audit.list": self._list, "audit.verify": self._verify, "audit.prune": self._prune}

    async def _list(self, arguments: Arguments) -> Any:
        limit = _whole(arguments, "limit", 100, MOST)
        days = _whole(arguments, "days", 0, 36_500)
        user = str(arguments.get("user") or "")
        if user and (known := await self._nouns.users.named(user)) is not None:
            user = known.id
        since = self._clock.now() - days * DAY if days else 0.0
        found = await self._nouns.audit.listed(limit, event=str(arguments.get("event") or ""), user=user, since=since)
        names = await self._names([event for _, event, _ in found])
        return {"events": [_shown(number, event, hash_, names) for number, event, hash_ in found]}

    async def _verify(self, arguments: Arguments) -> Any:
        number, known = None, None
        if arguments.get("head"):
            noted = _HEAD.fullmatch(str(arguments["head"]))
            if noted is None:
                raise Invalid("A head is written 12:9f86d0…, as `clew audit verify` prints it.")
            number, known = int(noted[1]), bytes.fromhex(noted[2])
        findings = await self._nouns.audit.findings(number, known)
        last, head = await self._nouns.audit.head()
        told = [{"event": number, "why": why} for number, why in findings]
        return {"sound": not findings, "findings": told, "events": last, "head": f"{last}:{head.hex()}"}

    async def _prune(self, arguments: Arguments) -> Any:
        now = self._clock.now()
        days = _whole(arguments, "days", 0, 36_500)
        if not days:
            raise Invalid("For how many days events are kept is wanted.")
        return {"gone": await self._nouns.audit.prune(now - days * DAY, now)}

    async def _names(self, events: list[AuditEvent]) -> Mapping[str, str]:
        users = {event.by.user for event in events if event.by.user}
        devices = {event.by.device for event in events if event.by.device}
        agents = {event.by.agent for event in events if event.by.agent}
        return await self._nouns.names.of(users, devices, agents)


def _shown(number: int, event: AuditEvent, hash_: bytes, names: Mapping[str, str]) -> dict[str, Any]:
    by = event.by
    return {
        "number": number,
        "at": iso(event.at),
        "event": event.event,
        "sub": by.user,
        "name": names.get(by.user or ""),
        "act": {"sub": f"agent:{by.agent}", "name": names.get(by.agent)} if by.agent else None,
        "device": by.device,
        "session": by.session,
        "grant" if by.agent else "token": by.token,
        "task": event.task,
        "subjects": list(event.subjects),
        "hash": hash_.hex(),
    }


def _whole(arguments: Arguments, name: str, default: int, most: int) -> int:
    value = arguments.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
        raise Invalid(f"{name} is a number from 1 to {most}.")
    return value
