"""The ways in beside links and handoffs, put together. Owns which of them there are on this server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from server.domain.clock import Clock
from server.domain.errors import Invalid
from server.doors.authority import Authority
from server.doors.device_grants import DeviceGrantDoor, Grantable
from server.doors.links import Threshold
from server.doors.oidc import OidcDoor
from server.doors.passkeys import PasskeyDoor
from server.doors.provider import Organisation, Provider
from server.doors.proxy import Trust
from server.doors.revocation import Revocation
from server.store.nouns import Nouns


@dataclass(frozen=True, slots=True)
class Ways:
    """``organisation`` is None where the operator has named none; ``trust`` says whose word of a request is taken."""

    passkeys: PasskeyDoor
    grants: DeviceGrantDoor
    organisation: OidcDoor | None
    trust: Trust
    threshold: Threshold


def open_ways(
    nouns: Nouns,
    threshold: Threshold,
    authority: Authority,
    revocation: Revocation,
    clock: Clock,
    trust: Trust,
    provider: Provider | None,
) -> Ways:
    """All that this server has."""
    grantable = Grantable(nouns.device_grants, nouns.tokens, nouns.devices, nouns.agents, nouns.audit)
    organisation = None
    if provider is not None:
        organisation = OidcDoor(provider, nouns.identities, nouns.invitations, threshold, revocation, clock)
    return Ways(
        PasskeyDoor(nouns.passkeys, threshold, clock),
        DeviceGrantDoor(grantable, authority, clock),
        organisation,
        trust,
        threshold,
    )


@asynccontextmanager
async def reach(organisation: Organisation | None, clock: Clock) -> AsyncIterator[Provider | None]:
    """The provider of an organisation, for as long as the block lasts."""
    if organisation is None:
        yield None
        return
    async with httpx2.AsyncClient(follow_redirects=False) as http:
        yield Provider(organisation, http, clock)


def read_secret(given: str | None, file: Path | None) -> str | None:
    """A client's secret as it was given or lies in a file. Raises Invalid."""
    if file is None:
        return given
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{file} cannot be read: {error}.") from None
