"""Who wrote what: spans of clocks per client id, as the log attributes them. Never on the word of a document.

What a browser shows beside a text, it finds by the id of each item in its replica: (client, clock) lies in one span.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from crdt_docs.ids import DocName, TaskId
from server.domain.access import Principal, Role
from server.domain.clock import iso
from server.doors.authority import Authority
from server.http.endpoint import Answer, Call, Endpoint, Input, Row
from server.rooms.authors import Authors, Written
from server.store.names import Names

MOST: Final = 1000


class AuthorsWanted(Input):
    """Which document, and from which client id on: give the ``next`` of the last answer as ``after``."""

    document: Literal["main", "margin"] = "main"
    after: Annotated[int, Field(ge=-1, lt=2**53)] = -1
    limit: Annotated[int, Field(ge=1, le=MOST)] = MOST


class Party(Answer):
    """Somebody or something, by id; ``name`` is null where there is none of that id any more."""

    id: str
    name: str | None


class SpanAnswer(Answer):
    """The clocks from ``first`` to before ``end`` under ``client``, and who wrote them, since when.

    ``user`` is the person; with an ``agent``, it acted on their behalf (``act`` in RFC 8693), by the ``grant``.
    ``session`` and ``grant`` are told to owners, and of one's own spans. ``via``: ``socket`` for what was typed,
    ``sync`` for what a device had kept, ``http`` for the API, ``erasure`` for what is left of somebody.
    """

    client: int
    first: int
    end: int
    user: Party
    agent: Party | None
    device: Party | None
    session: str | None
    grant: str | None
    via: str
    since: str


class AuthorsAnswer(Answer):
    """Spans in the order of client ids and clocks, as of ``seq`` of that ``generation``."""

    generation: int
    seq: int
    spans: list[SpanAnswer]
    next: int | None


def routes(authors: Authors, names: Names, authority: Authority) -> list[Row]:
    """The endpoint of authors."""

    async def show(call: Call, wanted: AuthorsWanted) -> AuthorsAnswer:
        task = TaskId(call.ids["id"])
        role = await authority.role(call.principal, task)
        name = DocName(task, wanted.document)
        position, written, after = await authors.page(name, wanted.after, wanted.limit)
        called = await _names(names, written)
        spans = [_span(one, called, _sees_all(call.principal, role, one)) for one in written]
        return AuthorsAnswer(generation=position.moment[0], seq=position.seq, spans=spans, next=after)

    return [
        Endpoint(
            "GET",
            "/tasks/{id}/authors",
            show,
            AuthorsWanted,
            AuthorsAnswer,
            "Who wrote which span of a document, by what device and, for agents, on whose behalf.",
            errors=("not_found", "unavailable"),
        )
    ]


def _sees_all(who: Principal, role: Role, one: Written) -> bool:
    return role == Role.OWNER or one.author.actor.user == who.user


async def _names(names: Names, written: Sequence[Written]) -> Mapping[str, str]:
    actors = {one.author.actor for one in written}
    return await names.of(
        {actor.user for actor in actors},
        {actor.device for actor in actors if actor.device},
        {actor.agent for actor in actors if actor.agent},
    )


def _span(one: Written, names: Mapping[str, str], whole: bool) -> SpanAnswer:
    actor = one.author.actor

    def party(id_: str | None) -> Party | None:
        return Party(id=id_, name=names.get(id_)) if id_ else None

    return SpanAnswer(
        client=one.client,
        first=one.first,
        end=one.end,
        user=Party(id=actor.user, name=names.get(actor.user)),
        agent=party(actor.agent),
        device=party(actor.device),
        session=actor.session if whole else None,
        grant=actor.token if whole else None,
        via=actor.via,
        since=iso(one.author.at),
    )
