"""One's own: to take along, and to erase. Owns that both take a person who showed a moment ago that it is them.

The secret of a download stands in a header, like every other: in an address it would be in histories and logs.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, Literal

from pydantic import Field
from starlette.responses import Response

from crdt_docs.ids import DocName, TaskId
from crdt_docs.updates.parse import parse
from server.domain.access import Principal
from server.domain.clock import Clock, iso
from server.domain.erasure import Wish
from server.domain.errors import Forbidden, Invalid, NotFound, Unauthenticated, Unavailable
from server.domain.passkey import is_fresh
from server.domain.policy import Allow, Denied, Deny
from server.doors.authority import Authority, require_login
from server.doors.cookie import Cookies
from server.doors.erasure import Erasure
from server.doors.revocation import deed
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.reader import Reader
from server.rooms.authors import Authors
from server.rooms.own_words import own_words, without_others
from server.store.audit import Audit
from server.store.passkeys import Passkeys
from server.store.portability import Portability

HEADER: Final = "clew-export"
EVERYBODY: Final = 2**53
PARTS: Final[tuple[Literal["main", "margin"], ...]] = ("main", "margin")


class ExportMade(Answer):
    """A ticket for one download within minutes, on this device: ``GET /me/export`` with it as ``Clew-Export``."""

    ticket: str
    expires_at: str


class ErasureWanted(Input):
    """``confirm`` is your name as shown; ``texts``: also what you wrote in others' tasks; ``dry_run``: only tell."""

    confirm: str = Field(max_length=200)
    texts: bool = False
    owned: Literal["transfer", "refuse"] = "transfer"
    dry_run: bool = False


class PlaceAnswer(Answer):
    """Somewhere that is touched, what there, and what happens to it."""

    where: str
    what: str
    then: str


class ErasureAnswer(Answer):
    """What was erased, or with ``dry_run`` would be. ``left`` are sentences on what can't be reached from here."""

    done: bool
    private: int
    shared: int
    places: list[PlaceAnswer]
    left: list[str]


def routes(
    portability: Portability,
    passkeys: Passkeys,
    erasure: Erasure,
    documents: tuple[Reader, Authors],
    cookies: Cookies,
    audit: Audit,
    authority: Authority,
    clock: Clock,
) -> list[Row]:
    """The endpoints of what is one's own."""

    async def begin(call: Call, _: Nothing) -> ExportMade:
        who, now = call.principal, clock.now()
        await require_proof(passkeys, who, now)
        secret, expires_at = await portability.issue(who.user, who.device, now)
        await audit.append("export.asked", now, by=deed(who), subjects=[who.user])
        return ExportMade(ticket=secret, expires_at=iso(expires_at))

    async def export(call: Call, _: Nothing) -> Response:
        who, now = call.principal, clock.now()
        require_login(who)
        given = call.request.headers.get(HEADER, "")
        if len(given) > 200 or not await portability.redeem(given, who.user, who.device, now):
            raise Unauthenticated("This download was fetched, has expired, or never was one. Ask for another.")
        told = {"exported_at": iso(now), **await portability.of(who.user), "tasks": await _tasks(who)}
        await audit.append("export.fetched", now, by=deed(who), subjects=[who.user])
        content = json.dumps(told, ensure_ascii=False, indent=1).encode()
        headers = {"Content-Disposition": 'attachment; filename="clew-export.json"', "Cache-Control": "no-store"}
        return Response(content, media_type="application/json", headers=headers)

    async def _tasks(who: Principal) -> list[dict[str, Any]]:
        reader, authors = documents
        found = []
        for task, alone in await portability.tasks(who.user):
            name = TaskId(task["id"])
            verdict = await authority.judge(who, name)
            if not isinstance(verdict, Allow):  # what does not open here is not to be carried off from here either
                found.append({"id": name, "withheld": verdict.reason if verdict is not None else "not_found"})
                continue
            task["words"] = {part: await _words(authors, DocName(name, part), who) for part in PARTS}
            if alone:
                task["working_set"] = await _working_set(reader, authors, DocName(name), who)
            found.append(task)
        return found

    async def erase(call: Call, wanted: ErasureWanted) -> Response:
        who = call.principal
        await require_proof(passkeys, who, clock.now())
        if wanted.confirm.strip() != who.name:
            raise Invalid("To confirm, give your name as it is shown.")
        wish = Wish(wanted.texts, wanted.owned)
        what, places = await erasure.plan(who.user, wish)
        await require_opens(authority, who, what.private)
        left: tuple[str, ...] = ()
        if not wanted.dry_run:
            left = (await erasure.erase(who.user, wish)).left
        told = ErasureAnswer(
            done=not wanted.dry_run,
            private=len(what.private),
            shared=len(what.shared),
            places=[PlaceAnswer(where=one.where, what=one.what, then=one.then) for one in places],
            left=list(left),
        )
        response = Response(told.model_dump_json(), media_type="application/json")
        if not wanted.dry_run:
            response.headers["set-cookie"] = cookies.clear(call.request.headers)
            response.headers["clear-site-data"] = '"cache", "cookies", "storage"'
        return response

    return _rows(begin, export, erase)


Handler = Callable[[Call, Any], Awaitable[Answer | Response | None]]


def _rows(begin: Handler, export: Handler, erase: Handler) -> list[Row]:
    return [
        Endpoint("POST", "/me/export", begin, Nothing, ExportMade, "Ask for all that is yours.", 201, ("forbidden",)),
        Endpoint(
            "GET",
            "/me/export",
            export,
            Nothing,
            None,
            "All that is yours, once, by the ticket in the header Clew-Export.",
            errors=("forbidden", "unavailable"),
            media=("application/json",),
        ),
        Endpoint(
            "POST",
            "/me/erase",
            erase,
            ErasureWanted,
            ErasureAnswer,
            "Erase yourself, for good; or tell what that would touch.",
            errors=("forbidden", "conflict", "unavailable"),
        ),
    ]


async def require_proof(passkeys: Passkeys, who: Principal, now: float) -> None:
    """Raise Forbidden for bearers, for visitors, and for who has a passkey and did not show it a moment ago."""
    require_login(who)
    if await passkeys.of_user(who.user) and not is_fresh(who, now):
        raise Forbidden("Show first that it is you, by your passkey.", "unproven")


async def require_opens(authority: Authority, who: Principal, tasks: Iterable[TaskId]) -> None:
    """Raise Denied where a rule of a task shuts this device out: what it may not open it does not delete either."""
    for task in tasks:
        verdict = await authority.judge(who, task)
        if isinstance(verdict, Deny) and verdict.reason != "delegation_over":
            raise Denied(verdict.reason)


async def _words(authors: Authors, name: DocName, who: Principal) -> list[dict[str, str]]:
    _, written, _ = await authors.page(name, -1, EVERYBODY)
    mine = [one for one in written if one.author.actor.user == who.user]
    if not mine:
        return []
    update = (await authors.rooms.read(name)).update
    return [{"text": words.text, "since": iso(words.at)} for words in own_words(parse(update), mine)]


async def _working_set(reader: Reader, authors: Authors, name: DocName, who: Principal) -> Any:
    """What stands in a task of their own, without what others once wrote there."""
    try:
        found = await authors.rooms.read(name)
        if found.quarantined is not None:
            return None
        _, written, _ = await authors.page(name, -1, EVERYBODY)
        own = await asyncio.to_thread(without_others, found.update, written, who.user)
        return {"seq": found.seq, **await reader.project_copy(own)}
    except (Unavailable, NotFound):
        return None
