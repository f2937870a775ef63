"""Writing on behalf of somebody who has no replica: HTTP, the CLI, a run.

Owns how such a write becomes an update: the principal's own client id in this document, its clock taken from the gate,
and from there the same road as a phone's keystroke. Must never use an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from crdt_docs.ids import ClientId, new_client_id
from crdt_docs.updates.compose import Composer, last_entries
from crdt_docs.updates.parse import Id, parse
from server.domain.access import Principal
from server.domain.errors import Invalid, TooMany
from server.domain.log import Actor, Claim
from server.rooms.quota import WHY, Quota
from server.rooms.room import Room
from server.rooms.verdict import Admit, Refuse

TRIES: Final = 5
"""How often a look-up may be overtaken before it is given up."""

Build = Callable[[Composer], None]
Entries = Mapping[tuple[str | Id, str], Id]


def compose(
    room: Room, principal: Principal, last: Entries, build: Build, via: str, quota: Quota | None = None
) -> None:
    """Build an update and submit it, in one step: so the clock that it was built with is still right."""
    client, fresh = _client_id(room, principal)
    composer = Composer(client, room.gate.state_vector.get(client, 0), lambda parent, key: last.get((parent, key)))
    build(composer)
    verdict = room.gate.admit(parse(composer.finish()), principal.key, "update")
    if not isinstance(verdict, Admit):
        why = verdict.why if isinstance(verdict, Refuse) else "it refers to what is not there"
        raise Invalid(f"the document does not take this: {why}")
    if not verdict.update:
        return
    if quota is not None and not quota.spend(len(verdict.update)):
        raise TooMany(WHY)
    if fresh:
        claims = (Claim(client, principal.key, False, composed=True),)
        verdict = verdict._replace(delta=verdict.delta._replace(claims=claims))
    room.submit(verdict, Actor.of(principal, via))


def _client_id(room: Room, principal: Principal) -> tuple[ClientId, bool]:
    for claim in room.gate.claims.values():
        if claim.composed and claim.principal == principal.key:
            return ClientId(claim.client), False
    client = new_client_id()
    while client in room.gate.claims or client in room.gate.state_vector:
        client = new_client_id()
    return client, True


class Before(NamedTuple):
    """What a composer would overwrite, and when that was looked up: how often each root's keys had been set."""

    entries: Entries
    versions: Mapping[str, int]

    def holds(self, room: Room) -> bool:
        """Whether nobody has set a key of these roots since."""
        return all(room.keyed[root] == version for root, version in self.versions.items())


NOTHING: Final = Before({}, {})


async def look_up(room: Room, build: Build) -> Before:
    """What the composer would overwrite: asked for by a dry run, since a whole document is read for the answer.

    Without the room's lock, for it may take long: ask ``holds`` once you have it.
    """
    roots: set[str] = set()

    def note(parent: str | Id, key: str) -> None:
        if isinstance(parent, str):
            roots.add(parent)

    build(Composer(0, 0, note))
    versions = {root: room.keyed[root] for root in (*roots, "")}
    if not any(run.parent in roots for _, runs in room.gate.runs.values() for run in runs):
        return Before({}, versions)
    return Before(last_entries(await room.parse(room.admitted())), versions)
