"""The API, put together: which nouns there are, and what each is given. Must never decide anything."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.routing import BaseRoute

from server.domain.clock import Clock
from server.doors.authentication import Authentication
from server.doors.authority import Authority
from server.doors.bound import Bound
from server.doors.cookie import Cookies
from server.doors.erasure import Erasure
from server.doors.handoffs import Handover
from server.doors.links import OneTimeLinks
from server.doors.proofs import Proofs
from server.doors.revocation import Revocation
from server.doors.sharing import Sharing
from server.doors.ways import Ways
from server.http import (
    account,
    agents,
    authors,
    device_grant,
    devices,
    entrance,
    export,
    handoffs,
    invitations,
    me,
    members,
    messages,
    oidc,
    openapi,
    passkeys,
    policy,
    proxy,
    resume,
    sessions,
    shares,
    tasks,
    tickets,
    tokens,
    turns,
    updates,
    working_set,
)
from server.http.documents import Documents
from server.http.endpoint import Row, mount
from server.http.reader import Reader
from server.http.reception import Reception
from server.http.resumptions import Resumptions
from server.http.sightings import Sightings
from server.http.turns import Desk
from server.rooms.authors import Authors
from server.rooms.looking import Looking
from server.store.nouns import Nouns
from server.store.portability import Portability


@dataclass(frozen=True, slots=True)
class Doors:
    """Who comes in and what they may do."""

    authentication: Authentication
    authority: Authority
    revocation: Revocation
    links: OneTimeLinks
    cookies: Cookies
    proofs: Proofs
    bound: Bound
    handover: Handover
    ways: Ways


@dataclass(frozen=True, slots=True)
class Parts:
    """What the API shows and moves, besides the nouns."""

    documents: Documents
    reader: Reader
    resumptions: Resumptions
    looking: Looking
    desk: Desk
    authors: Authors
    erasure: Erasure


def table(nouns: Nouns, doors: Doors, parts: Parts, clock: Clock, version: str) -> list[Row]:
    """Every row of the API."""
    documents, reader, desk, looking = parts.documents, parts.reader, parts.desk, parts.looking
    authority, revocation, ways = doors.authority, doors.revocation, doors.ways
    reception = Reception(doors.authentication, doors.cookies, revocation, nouns.logins, doors.proofs, doors.bound)
    sharing = Sharing(nouns.shares, nouns.policies, ways.threshold, authority, clock)
    rows = [
        *sessions.routes(
            nouns.sessions, nouns.devices, nouns.places, nouns.accounts, reader, looking, authority, revocation, clock
        ),
        *tasks.routes(nouns.tasks, authority, documents, reader, looking, revocation, clock),
        *turns.routes(desk, nouns.tasks, documents, nouns.audit, authority, clock),
        *agents.routes(desk, nouns.audit, authority, clock),
        *members.routes(nouns.tasks, nouns.users, nouns.audit, authority, revocation, clock),
        *policy.routes(nouns.policies, authority, revocation, clock),
        *shares.routes(nouns.shares, sharing, reception, authority, revocation, clock),
        *messages.routes(documents, nouns.sessions, looking, authority, clock),
        *updates.routes(documents, authority),
        *working_set.routes(reader, authority),
        *authors.routes(parts.authors, nouns.names, authority),
        *resume.routes(nouns.tasks, nouns.places, nouns.accounts, parts.resumptions, authority),
        *export.routes(nouns.tasks, reader, authority),
        *tickets.routes(nouns.tickets, nouns.sessions, documents, authority, clock),
        *tokens.routes(nouns.tokens, nouns.audit, authority, revocation, clock),
        *devices.routes(nouns.devices, nouns.sessions, nouns.logins, revocation, clock),
        *entrance.routes(doors.links, reception, nouns.accounts),
        *passkeys.routes(ways.passkeys, nouns.passkeys, reception),
        *oidc.routes(ways.organisation, ways.passkeys, ways.trust.user_header is not None, reception),
        *proxy.routes(ways.trust.user_header, nouns.identities, ways.threshold, reception, clock),
        *invitations.routes(nouns.invitations, ways.threshold, reception, clock),
        *device_grant.routes(ways.grants, clock),
        *account.routes(nouns.accounts, nouns.users, nouns.identities, nouns.audit, documents.rename, clock),
        *me.routes(
            Portability(nouns.database),
            nouns.passkeys,
            parts.erasure,
            (reader, parts.authors),
            doors.cookies,
            nouns.audit,
            authority,
            clock,
        ),
        *handoffs.routes(doors.handover, authority, reception, nouns.tasks, nouns.devices, clock),
    ]
    return [*rows, *openapi.routes(rows, version)]


def api(nouns: Nouns, doors: Doors, parts: Parts, clock: Clock, version: str) -> list[BaseRoute]:
    """The API's routes, for the composition root."""
    door = Sightings(doors.authentication, nouns.devices, clock)
    return mount(table(nouns, doors, parts, clock, version), door)
